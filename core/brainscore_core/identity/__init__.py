"""Identify the inputs of a result: stamps and digests of files, data and source, software, machine; cache results."""
