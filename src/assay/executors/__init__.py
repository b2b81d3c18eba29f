"""Executors: one file each. What they must be is in `assay.executor`."""
