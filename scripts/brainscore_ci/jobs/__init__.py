"""Run the jobs of a plan, and hand on what they gave.

============== ===========================================================================
`arguments`    the command line of ``test_plugin``
`plugin_tests` plugins -> their contract and own tests, each in the environment it requires
`table`        what the tests gave, for people
`credentials`  keep them away from what plugins run or install
`workers`      how many processes run the tests of a plugin
`run_tests`    one job of a plan -> results of the tests of its plugins
`score_shard`  one job of a plan -> records of its pairs
`collect`      records of all jobs -> the branch with the records, and what is missing
============== ===========================================================================
"""
