"""Parts of metrics, from mathematics on arrays to metrics that several plugins share.

================ ======================================================================
`arrays`         mathematics: NumPy arrays in, NumPy arrays out
`uncertainty`    standard errors, resampling, intervals; writes them into scores
`labelled`       assemblies in, arrays out: alignment, splits, slices, RDMs, judgements
`regression`     the engine of all regression metrics
`shared_metrics` base classes of metrics and ceilings in several plugins
================ ======================================================================

Each imports only from those above it. Published plugins import from `transformations`, `temporal`, `xarray_utils` and
`bootstrap_error`.
"""

__all__ = ["Defaults"]


class Defaults:
    """Default names of dimensions and coordinates."""

    expected_dims = ("presentation", "neuroid")
    stimulus_coord = "stimulus_id"
    neuroid_dim = "neuroid"
    neuroid_coord = "neuroid_id"
