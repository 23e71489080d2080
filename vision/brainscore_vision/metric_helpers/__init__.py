"""Hold what metrics are made of, from mathematics on arrays up to metrics that several plugins register.

================ ======================================================================
`arrays`         the mathematics: NumPy arrays in, NumPy arrays out
`labelled`       assemblies in, arrays out: alignment, splits, slices, RDMs, judgements
`regression`     the one engine of all regression metrics
`uncertainty`    standard errors, resampling, intervals, seeds
`shared_metrics` metrics and ceilings of which several plugins make theirs
================ ======================================================================

`transformations`, `temporal`, `xarray_utils` and `bootstrap_error` are doors: published plugins import from them.
"""

__all__ = ["Defaults"]


class Defaults:
    """The dimension and coordinate names that metrics assume unless told otherwise.

    Attributes
    ----------
    expected_dims : tuple of str
        Dimensions of a neural assembly.
    stimulus_coord : str
        Coordinate on `presentation` by which assemblies are aligned.
    neuroid_dim, neuroid_coord : str
        Dimension of neuroids and its key.
    """

    expected_dims = ("presentation", "neuroid")
    stimulus_coord = "stimulus_id"
    neuroid_dim = "neuroid"
    neuroid_coord = "neuroid_id"
