"""Check stimuli and measurements; every check returns a list of problems.

`brainscore_core.supported_data_standards` checks its data by them, so they know plain xarray and pandas only. Files and
plugins are checked by `brainscore_core.inspection`.
"""
