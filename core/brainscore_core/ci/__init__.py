"""Decide what continuous integration does: which change affects which plugins, what to test, what to score.

Decisions are pure functions on frozen values; reading git, files and the network stands around them.

============== ===========================================================================
`changes`      git history -> the files that differ
`areas`        a path of the repository -> the plugin it belongs to, the library, ...
`sources`      Python source -> what it loads and imports
`dependencies` sources of all plugins -> which plugin uses which
`readings`     files of all plugins -> what they say, read again only where they changed
`policy`       ``pyproject.toml`` -> what the project has decided
`survey`       a checkout -> its plugins, what they cost, their revisions
`plan`         all of these -> tests to run and pairs to score, each with its reasons
`shards`       tasks -> the jobs of a matrix
`planning`     a checkout, git and the records there are -> a plan
`listing`      a plan -> what a person reads at the terminal
`outputs`      a plan -> what the jobs of a workflow are told
`score_shard`  one job of a plan -> records of its pairs
`collect`      records of all jobs -> the branch with the records, and what is missing
`metadata`     ``metadata.yml`` of a plugin -> checked values
`checks`       a plugin's files -> what is wrong with them, without importing it
`schema`       JSON from anybody -> checked values
`results`      outcomes of tests and scores, handed from job to job
`junit`        pytest's report -> a result
`markdown`     any text -> harmless Markdown
`report`       plan and results -> what people read
`github`       GitHub's REST interface
`reconcile`    everything known -> comments, labels, scores to start
`submission`   a zip file from anybody -> a branch and a pull request
`gate`         results of jobs -> whether a change may be merged
============== ===========================================================================
"""
