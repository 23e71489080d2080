"""Registered data: found without running plugins, verified and managed in the cache.

============ ===============================================================
`references` the files in S3 that registrations name, read from their source
`entries`    registered data with their files; verify and remove these
`needs`      the data that a benchmark loads
`fetching`   the size of absent files; fetch them
`facts`      region, kind, access and data of benchmarks, cached
`describe`   descriptions of anything registered
`board`      models and benchmarks for the leaderboard
`completion` identifiers for the command line
`commands`   ``brainscore data ...``
============ ===============================================================
"""
