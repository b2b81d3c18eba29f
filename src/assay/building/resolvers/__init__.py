"""Resolvers of coreference: one file each. What one must be is said in `assay.building.coref`."""
