"""Check stimuli and measurements, plain xarray and pandas; every check returns a list of problems."""
