"""Compare representational geometries: dissimilarities, kernel alignment, rotations, dimensionality."""
