"""Check stimuli and measurements; every check returns a list of problems.

They know plain xarray and pandas only; `brainscore_core.inspection` checks files and plugins.
"""
