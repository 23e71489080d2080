"""Know what data plugins register without running them, which of it is cached and sound, and manage the cache.

============ =======================================================================
`references` source of a plugin -> the files in S3 that its registrations name
`entries`    what is registered, with its files; verify and remove cached files
`commands`   ``python -m brainscore_vision data ...``
============ =======================================================================
"""
