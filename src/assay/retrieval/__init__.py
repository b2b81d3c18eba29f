"""Retrieval: the systems that come with Assay, one file each. None can reach the judgements."""
