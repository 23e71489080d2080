"""Compute errors, averages, tests and correlations of scores, on plain arrays."""

FEW_CLUSTERS = 8
"""Minimum number of stimulus clusters for which an interval over clusters is stated on its own."""

FEW_STIMULI = 20
"""Minimum number of stimuli of a score that is not marked ``few_stimuli``."""
