"""Run the jobs of a plan and pass on their results.

============== ===========================================================================
`plugin_tests` plugins -> their contract and own tests, each in its required environment
`boxed_tests`  the box for a plugin's tests
`table`        test results, for people
`credentials`  removed before plugins run or install anything
`publishable`  the public part of results of jobs with private data
`boxes`        a runner -> commands that make boxes possible
`workers`      number of processes for a plugin's tests
`run_tests`    one job of a plan -> test results
`fetch_data`   one job of a plan -> its data, fetched before credentials go and plugins run
`score_shard`  one job of a plan -> records of its pairs
`plan_change`  a change -> its plan, printed and written
`artifacts`    uploaded records -> those the plan asked that job for
`collect`      records of all jobs -> the branch of records, and missing pairs
============== ===========================================================================
"""
