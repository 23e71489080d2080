"""Compare representational geometries: dissimilarities, kernel alignment, rotations, dimensionality.

The two sides of a comparison, `first` and `second`, are of the same stimuli in the same order: finite responses of
shape (n_stimuli, n_neuroids), where numbers of neuroids may differ, or symmetric dissimilarities of shape (n_stimuli,
n_stimuli), zero on the diagonal. Functions called ``*_influences`` return None for influences that are undefined.
"""
