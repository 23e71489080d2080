"""Test plugins: help for plugin authors and for the command that runs their tests.

================ ==========================================================
`contracts`      tests that a plugin inherits
`synthetic`      stimuli and recordings made by code
`pytest_plugin`  pytest options and hooks, loaded with every test run
`plugin_session` collection and reports of the tests of one plugin
`recorder`       results of the tests of a run
`markers`        requirements of tests, and skips where they are unmet
`absent`         recognises errors about unavailable data
`homes`          files that tests share with the caller
`machine`        tests that this machine cannot or should not run
`outcomes`       results of tests, as a file
================ ==========================================================
"""
