"""Compute errors, averages, tests and correlations of scores, on plain arrays."""

FEW_CLUSTERS = 8
"""Least number of clusters of stimuli from which an interval over them is stated by itself."""

FEW_STIMULI = 20
"""Least number of stimuli from which a score is not marked ``few_stimuli``."""
