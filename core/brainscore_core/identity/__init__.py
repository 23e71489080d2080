"""Say what a result depends on: digests of files, data and sources, installed software, the machine; one cache."""
