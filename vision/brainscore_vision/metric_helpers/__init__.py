"""Hold what metrics are made of: array kernels, cross-validation, and regression and correlation on assemblies."""

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
