"""Run the jobs of a plan, and hand on what they gave.

============== ===========================================================================
`plugin_tests` plugins -> their contract and own tests, each in the environment it requires
`boxed_tests`  what the tests of a plugin see in a job
`table`        what the tests gave, for people
`credentials`  keep them away from what plugins run or install
`publishable`  what everybody may read of jobs with private data
`boxes`        what a runner lacks to isolate plugins
`workers`      how many processes run the tests of a plugin
`run_tests`    one job of a plan -> results of the tests of its plugins
`fetch_data`   one job of a plan -> the data that it needs, before credentials are gone and plugins run
`score_shard`  one job of a plan -> records of its pairs
`plan_change`  what a change has to be tested and scored on, printed and written
`artifacts`    the records that jobs have left -> those that the plan asked them for
`collect`      records of all jobs -> the branch with the records, and what is missing
============== ===========================================================================
"""
