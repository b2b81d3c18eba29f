"""One file an encoder of terms: what turns a text into weighted terms that a model has learned."""
