"""Chunkers, one module each: ways to cut documents, and adapters to packages that do."""
