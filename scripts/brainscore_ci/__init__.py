"""Plan, check, test and report around a pull request and a merge.

Decisions are pure functions on frozen values; git, files and the network stay at the edges.

============ ===================================================================
`commands`   command lines -> one call each
`planning`   a change -> tests to run and pairs to score, each with its reasons
`jobs`       a part of a plan -> results of tests and records of scores
`checks`     a plugin's files -> their problems, without importing it
`reporting`  plan and results -> the report, and whether the change may be merged
`github`     GitHub's REST interface
`scaffold`   a name -> a plugin to start from
`submission` a zip file from anybody -> a branch and a pull request
============ ===================================================================
"""
