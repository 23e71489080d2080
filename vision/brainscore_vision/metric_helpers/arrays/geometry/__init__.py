"""Compare representational geometries: dissimilarities, kernel alignment, rotations, dimensionality.

Both sides, `first` and `second`, are of the same stimuli in the same order: finite responses of shape (n_stimuli,
n_neuroids), with any numbers of neuroids, or symmetric dissimilarities of shape (n_stimuli, n_stimuli), zero on the
diagonal. Functions called ``*_influences`` return None for influences that are undefined.
"""
