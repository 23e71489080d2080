"""Predict responses by regressions and score the predictions.

Metrics compare a source with a target: assemblies (presentation, neuroid), read as float, of the same stimuli in any
order. The source may be `StreamedFeatures`. Target neuroids that are constant or NaN throughout do not count. Other
stimuli or dimensions, and any other NaN, raise AssemblyError.
"""
