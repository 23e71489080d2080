"""Help to test plugins, for everybody who writes one and for the command that runs their tests.

=============== ============================================================
`contracts`     tests that a plugin inherits
`synthetic`     stimuli and recordings made by code
`pytest_plugin` options, and what is loaded with every run of tests
`markers`       what tests need, and what becomes of those that cannot have it
`absent`        whether an error is about data that cannot be had
`homes`         what tests have of the caller's
`machine`       which tests cannot run here or shall not run now, and why
`outcomes`      what tests gave, as a file
=============== ============================================================
"""
