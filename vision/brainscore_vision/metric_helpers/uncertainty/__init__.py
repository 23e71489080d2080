"""Estimate the uncertainty of scores."""
