"""Checks of recordings, answers, metrics, scores and stimulus identifiers in benchmarks."""
