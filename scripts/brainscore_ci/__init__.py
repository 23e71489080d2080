"""Plan, check, test and report around a pull request and a merge.

Decisions are pure functions on frozen values; git, files and the network stay at the edges.
"""
