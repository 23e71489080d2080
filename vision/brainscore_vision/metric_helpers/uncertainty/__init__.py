"""Estimate the uncertainty of scores: standard errors, resampling and intervals."""
