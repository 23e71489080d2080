"""Decide what a change has to be tested and scored on.

============== ===========================================================================
`changes`      git history -> the files that differ
`tracked`      what git holds -> what it must not hold: byte code, links, names that differ by case alone
`areas`        a path of the repository -> the plugin it belongs to, the library, ...
`facts`        files of all plugins -> what they use, their tests, what they cost
`reach`        files of a plugin -> which of them can change its scores
`dependencies` facts -> which plugin uses which
`policy`       ``pyproject.toml`` -> what the project has decided
`metadata`     ``metadata.yml`` of a plugin -> checked values
`checkout`     a checkout -> its plugins, what they cost, their revisions
`decide`       all of these -> tests to run and pairs to score, each with its reasons
`plan`         what was decided, as values and as a file
`shards`       tasks -> the jobs of a matrix
`planner`      a checkout, git and the records there are -> a plan
`step_outputs` a plan -> what the jobs of a workflow are told
============== ===========================================================================
"""
