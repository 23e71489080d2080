"""Do what happens around a pull request and a merge.

Decisions are pure functions on frozen values; reading git, files and the network stands around them.

============ ===================================================================
`planning`   a change -> tests to run and pairs to score, each with its reasons
`jobs`       a part of a plan -> results of tests and records of scores
`checks`     a plugin's files -> what is wrong with them, without importing it
`reporting`  plan and results -> what people read, and whether it may be merged
`github`     GitHub's REST interface
`scaffold`   a name -> a plugin to start from
`submission` a zip file from anybody -> a branch and a pull request
============ ===================================================================
"""
