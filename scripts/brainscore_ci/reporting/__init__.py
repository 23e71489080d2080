"""Report the results of tests and scores.

============== ===========================================================================
`results`      results of tests and scores, passed from job to job
`outcomes`     outcomes of a plugin's tests -> its result
`verdict`      plan and results, or results of jobs -> whether a change may be merged
`report`       plan and results -> the report on GitHub
`sections`     sections of a text, shortened to a size
`listing`      a plan -> text for the terminal
`annotations`  problems -> lines that GitHub shows beside the code
`markdown`     any text -> harmless Markdown
`wording`      numbers -> words
`reconcile`    pull requests and records -> comments, labels, scores to start
============== ===========================================================================
"""
