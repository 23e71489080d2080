"""Turn assemblies into arrays and results into scores: alignment, splits, slices, dissimilarities, judgements."""
