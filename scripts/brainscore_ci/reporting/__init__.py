"""Tell people what came out.

============== ===========================================================================
`results`      outcomes of tests and scores, handed from job to job
`outcomes`     what the tests of a plugin gave -> a result
`verdict`      plan and results, or results of jobs -> whether a change may be merged
`report`       plan and results -> what people read on GitHub
`sections`     a long text -> one that keeps to a size
`listing`      a plan -> what a person reads at the terminal
`annotations`  what is wrong -> lines that GitHub shows beside the code
`markdown`     any text -> harmless Markdown
`wording`      numbers -> words
`reconcile`    everything known -> comments, labels, scores to start
============== ===========================================================================
"""
