"""Bytes to nouns and back: one module a format, and the files and tables beneath them."""
