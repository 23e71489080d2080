"""Fit regressions and decoders, and predict the held-out stimuli of many splits at once.

Fits centre source and target, so the intercept is free. Functions called ``*_predict_splits`` return a list with the
predictions for each split, shape (n_test, n_neuroids), in the order of its test indices. Functions called ``*_iterate``
yield these in parts, for predictions larger than memory: number of the split, slice of neuroids, and prediction of
shape (n_test, width).
"""
