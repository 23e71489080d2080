"""Tell people what came out.

============== ===========================================================================
`results`      outcomes of tests and scores, handed from job to job
`outcomes`     what the tests of a plugin gave -> a result
`markdown`     any text -> harmless Markdown
`listing`      a plan -> what a person reads at the terminal
`report`       plan and results -> what people read
`reconcile`    everything known -> comments, labels, scores to start
`gate`         results of jobs -> whether a change may be merged
============== ===========================================================================
"""
