"""Compare how populations arrange stimuli: dissimilarities, kernels and dimensionality."""
