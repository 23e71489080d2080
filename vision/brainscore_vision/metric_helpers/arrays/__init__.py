"""Mathematics of the metrics: pure functions of NumPy arrays in float64, stimuli on the first axis of responses.

============= ==================================================================================================
`regression`  fits and predictions for many splits: PLS, ridge, least squares, one to one, masks, decoders
`geometry`    dissimilarities between stimuli, kernels, dimensionality
`behavior`    agreement of choices, patterns over objects, psychometric curves
`reliability` repeatability of measurements and the ceilings that follow
`properties`  tuning of neurons and distributions of their properties
============= ==================================================================================================

All use `correlation` and `ranking`, `column_blocks` (matrices larger than memory), `backend` (NumPy or torch) and
`seeds`.
"""
