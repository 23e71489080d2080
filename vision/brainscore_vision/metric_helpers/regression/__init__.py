"""Predict responses by regressions on training stimuli and score the predictions for test stimuli."""
