"""Decide what to test and score after a change.

============== ===========================================================================
`changes`      git history -> files that differ
`tracked`      git's files -> those git must not hold: byte code, links, names that differ by case alone
`areas`        path in the repository -> the plugin it belongs to, the library, ...
`facts`        files of all plugins -> loads, tests and costs
`reach`        files of a plugin -> those that can change its scores
`dependencies` facts -> which plugin uses which
`policy`       ``pyproject.toml`` -> the project's decisions
`metadata`     ``metadata.yml`` of a plugin -> checked values
`checkout`     a checkout -> its plugins, their costs and revisions
`decide`       all of these -> tests to run and pairs to score, each with reasons
`plan`         the decisions, as values and as a file
`shards`       tasks -> jobs of a matrix
`planner`      a checkout, git and the records -> a plan
`step_outputs` a plan -> outputs of a workflow step
============== ===========================================================================
"""
