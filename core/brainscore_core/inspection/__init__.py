"""Check packaged files and registered data against the data standard."""
