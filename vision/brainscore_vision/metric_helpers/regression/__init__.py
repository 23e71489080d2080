"""Predict responses by regressions on training stimuli and score the predictions for test stimuli.

Metrics compare a source with a target, assemblies with the dimensions (presentation, neuroid) read as float, of the
same stimuli in any order. Usually the source holds the features of a model, as an assembly or as `StreamedFeatures`,
and the target the measurements. Target neuroids that are constant or NaN throughout do not count. Other stimuli or
dimensions, and any other NaN, raise AssemblyError. Arrays follow the conventions of `arrays`.
"""
