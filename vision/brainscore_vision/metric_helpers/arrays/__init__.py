"""Mathematics of the metrics: pure functions of NumPy arrays in float64, stimuli on the first axis of responses.

============= ==================================================================================================
`regression`  fits and predictions for many splits: PLS, ridge, least squares, one to one, masks, decoders
`geometry`    dissimilarities between stimuli, kernels, dimensionality
`behavior`    agreement of choices, patterns over objects, psychometric curves
`reliability` repeatability of measurements and the ceilings that follow
`properties`  tuning of neurons and distributions of their properties
`matching`    single neuroids of two sides, paired
============= ==================================================================================================

Docstrings describe a parameter only where it differs from these conventions:

source : array-like, memory map or ColumnBlocks, shape (n_stimuli, n_features)
    Finite features of a model, or other predictors. Read block by block.
target : array-like, shape (n_stimuli, n_neuroids)
    Finite responses.
splits : sequence of (train, test)
    Positions of stimuli. Repeated training stimuli count repeatedly; ValueError if a training set is empty.
backend : str, Backend or None
    Where to compute; see `backend.resolve`.
seed : int
    Root of the seed tree; see `seeds`.
"""
