"""Offer the mathematics of the metrics as pure functions, NumPy arrays in and out.

Nothing here knows about assemblies; the first axis of responses is always stimuli. All computation is in float64.

============= ==================================================================================================
`regression`  fits and their predictions for many splits: PLS, ridge, least squares, one to one, masks, decoders
`geometry`    dissimilarities between stimuli, kernels, dimensionality
`behavior`    agreement of choices, patterns over objects, psychometric curves
`reliability` how well measurements repeat, and the ceilings that follow
`properties`  tuning of neurons and distributions of their properties
============= ==================================================================================================

Beside them stand what all share: `correlation` and `ranking`, `column_blocks` for matrices that do not fit into memory,
and where to compute (`backend`).
"""
