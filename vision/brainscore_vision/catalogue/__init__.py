"""Know what data plugins register without running them, which of it is cached and sound, and manage the cache.

============ =======================================================================
`references` source of a plugin -> the files in S3 that its registrations name
`entries`    what is registered, with its files; verify and remove cached files
`needs`      a benchmark -> the data that it loads
`fetching`   how much is not here yet; fetch it
`facts`      a benchmark -> region, kind, access, data; remembered
`completion` identifiers that start with what was typed
`commands`   ``brainscore data ...``
============ =======================================================================
"""
