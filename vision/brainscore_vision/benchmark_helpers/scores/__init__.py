"""Ceilings, normalisation and standard errors of a benchmark's scores."""
