"""One file an encoder of pairs: what turns a query and a passage into one score."""
