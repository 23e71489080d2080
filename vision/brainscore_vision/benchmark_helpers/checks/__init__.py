"""Checks of what enters and leaves a benchmark: recordings, answers, metrics, scores and stimulus identifiers."""
