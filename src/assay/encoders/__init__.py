"""One file an encoder: what turns texts into vectors."""
