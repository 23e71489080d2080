"""One file for each version, in order."""
