"""Help to test plugins, for everybody who writes one and for the command that runs their tests.

=============== ============================================================
`contracts`     tests that a plugin inherits
`synthetic`     stimuli and recordings made by code
`pytest_plugin` markers, options, and what is loaded with every run of tests
`machine`       which tests cannot run here or shall not run now, and why
`outcomes`      what tests gave, as a file
=============== ============================================================
"""
