"""Define the contracts of metrics and ceilings, and check what metrics and benchmarks return."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import xarray as xr

from brainscore_core.errors import ContractError
from brainscore_core.metrics._score import Score
from brainscore_core.metrics.arrays import takes_arrays

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

Quantity = Literal[
    "correlation", "reliability", "dissimilarity_correlation", "dissimilarity_reliability", "accuracy", "kappa", "share"
]
"""Quantity that a score measures, which determines its normalisation.

- ``correlation``: between candidate and measured responses or choices, or its highest possible value; in [-1, 1].
- ``reliability``: share of the variance of measured responses that is signal; the square of that highest correlation.
- ``dissimilarity_correlation``, ``dissimilarity_reliability``: the same for dissimilarities between stimuli.
- ``accuracy``: share of correct answers, in [0, 1].
- ``kappa``: agreement beyond chance, in [-1, 1].
- ``share``: any other score whose ceiling is on the same scale, such as a similarity.
"""


class _TakesArrays:
    """Pass assemblies to the ``__call__`` of every subclass, whatever its caller passes.

    A base class does this rather than the loader: a metric is then the same whether it is made from its class or loaded
    by its identifier, and a subclass defines ``__call__`` for assemblies only.
    """

    third_axis: ClassVar[tuple[str, str]] = ("repetition", "presentation")
    registered_as: str | None = None  # the loader writes it

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__call__" in vars(cls) and cls.__module__ != __name__:
            base = Metric if issubclass(cls, Metric) else Ceiling
            call = vars(cls)["__call__"]
            setattr(cls, "__call__", takes_arrays(call, str(base.__call__.__doc__)))  # noqa: B010 - no type checker minds

    def __repr__(self) -> str:
        """Return its identifier, the names of its arguments, and the quantity of its scores."""
        takes = ", ".join([*inspect.signature(self.__call__).parameters])  # type: ignore[operator] # of a subclass
        name = f"{self.registered_as!r}: " if self.registered_as else ""
        return f"<{name}{type(self).__name__}, ({takes}) -> Score of quantity {getattr(self, 'quantity', None)!r}>"


class Metric(_TakesArrays):
    """Similarity of two assemblies. Derive from it and define `__call__`.

    Attributes
    ----------
    quantity : str or None
        Kind of the scores, also written to ``attrs['quantity']``. None: undeclared, so normalisation is not checked.
    third_axis
        Meaning of the third axis of an array: coordinate and dimension, such as ``('subject', 'presentation')``.
    is_of_geometry : bool
        Whether agreement of two halves of the repetitions, stepped up (Spearman-Brown), is the reliability of this
        metric, whatever its `quantity`, as for unbiased alignments.
    takes_all_stimuli : bool
        Whether it takes all stimuli at once, and so has no ``crossvalidation_kwargs``.
    scores_time_bins : bool
        Whether scores have the dimension time_bin.

    Examples
    --------
    >>> class SameAnswer(Metric):
    ...     quantity = 'accuracy'
    ...     def __call__(self, source, target):
    ...         equal = source.sortby('stimulus_id').values == target.sortby('stimulus_id').values
    ...         return Score(equal.mean(), attrs={'quantity': self.quantity})
    >>> from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    >>> coords = {'stimulus_id': ('presentation', ['a', 'b'])}
    >>> answers = DataAssembly(['cat', 'dog'], coords=coords, dims=['presentation'])
    >>> SameAnswer()(answers, answers[::-1]).item()
    1.0
    """

    quantity: ClassVar[Quantity | None] = None
    is_of_geometry: bool = False
    takes_all_stimuli: ClassVar[bool] = False
    scores_time_bins: ClassVar[bool] = False

    def __call__(self, assembly1: DataAssembly, assembly2: DataAssembly) -> Score:
        """Compare the responses of a candidate model (source) with measured ones (target).

        Parameters
        ----------
        assembly1, assembly2
            Assemblies, which the metric aligns by their labels; or NumPy, torch, pandas or xarray with real numbers,
            n_stimuli x n_units or n_stimuli x n_units x n_repetitions. Rows of arrays without labels belong together by
            position. The index of a table names its stimuli, the columns its units, and levels of either become
            coordinates.
        repetitions : int or sequence, optional
            For an array with a row for each presentation: number of repetitions, one below the other, or the
            repetition of each row. It applies to every array with as many rows as the last.

        Returns
        -------
        Score
            Scalar, 1 for a perfect match; ``attrs['raw']`` holds the values before aggregation, ``attrs['error']`` the
            standard error, ``attrs['interval']`` the 95 % interval, where the metric knows them.

        Raises
        ------
        AssemblyError
            If arguments do not fit together, with their names and what would fit.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, assembly1, assembly2) -> Score.")


class Ceiling(_TakesArrays):
    """Score of the best possible model on a measurement. Derive from it and define `__call__`.

    Attributes
    ----------
    quantity : str or None
    third_axis
        As for `Metric`.
    estimator
        Method in a few words, also written to ``attrs['estimator']``. None: not stated.

    Examples
    --------
    >>> class TwoRepetitions(Ceiling):
    ...     quantity = 'reliability'
    ...     estimator = 'correlation of the first two repetitions'
    ...     def __call__(self, assembly):
    ...         halves = [assembly.sel(repetition=number).sortby('stimulus_id').values.ravel() for number in (0, 1)]
    ...         attrs = {'quantity': self.quantity, 'estimator': self.estimator}
    ...         return Score(np.corrcoef(halves)[0, 1], attrs=attrs)
    """

    quantity: ClassVar[Quantity | None] = None
    estimator: str | None = None

    def __call__(self, assembly: DataAssembly) -> Score:
        """Estimate the ceiling from a measurement with separate repetitions or subjects.

        Parameters
        ----------
        assembly
            Assembly, or numbers as for `Metric`: n_stimuli x n_units x n_repetitions (or subjects), or
            n_presentations x n_units and `repetitions`. A presentation that is NaN throughout is missing.
        repetitions : int or sequence, optional
            As for `Metric`.

        Returns
        -------
        Score
            Scalar in (0, 1]; ``attrs['raw']`` holds the values before aggregation, ``attrs['error']`` the
            standard error, ``attrs['interval']`` the 95 % interval.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, assembly) -> Score.")


_MOST = 60  # characters of a value that a message shows


def described(value: object) -> str:
    """Describe a value by its type, and its sizes, name or text.

    Examples
    --------
    >>> described(0.5), described(None), described(Score([0.1, 0.2], dims=["split"]))
    ('a float, 0.5', 'None', "a Score of sizes {'split': 2}")
    """
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    name = type(value).__name__
    what = f"{'an' if name.lower().startswith((*'aeio', 'nd')) else 'a'} {name}"
    if isinstance(value, xr.DataArray):
        return f"{what} of sizes {dict(value.sizes)}" if value.ndim else f"{what}, {value.values.item()!r}"
    if isinstance(value, np.ndarray):
        return f"{what} of shape {value.shape} and type {value.dtype}"
    if isinstance(value, (str, int, float, np.generic)):
        text = repr(value.item() if isinstance(value, np.generic) else value)
        text = text if len(text) <= _MOST else f"{text[:_MOST]}..."
        return f"the text {text}" if isinstance(value, str) else f"{what}, {text}"
    return what


def single_score(returned: object, *, by: str, remedy: str = "") -> Score:
    """Return the result of a metric or benchmark if it is one score, otherwise raise `ContractError`.

    A score is a labelled array (made a `Score`) without dimensions that holds a finite or NaN real number. ``by`` is
    its origin, such as ``"benchmark 'Mine2026-accuracy'"``; ``remedy`` a sentence to add.
    """
    if not isinstance(returned, xr.DataArray):
        hint = "Return Score(value), with the values it was computed from in attrs['raw']."
        if returned is None:
            hint = "Does it end with return?"
        raise ContractError(_message(by, described(returned), "a Score", hint, remedy))
    if returned.ndim:
        hint = (
            f"Summarise it over {' and '.join(map(repr, returned.dims))}, for example with mean(), and keep the values "
            "in attrs['raw'] of the result."
        )
        raise ContractError(_message(by, described(returned), "a Score without dimensions", hint, remedy))
    if returned.dtype.kind not in "biuf":
        hint = "Return the number itself."
        raise ContractError(_message(by, described(returned), "a Score that holds a real number", hint, remedy))
    if math.isinf(float(returned)):
        hint = (
            "Look for a division by 0, for example by a variance or a ceiling; return NaN where the score is undefined."
        )
        raise ContractError(_message(by, described(returned), "a finite number", hint, remedy))
    return returned if isinstance(returned, Score) else Score(returned)


def _message(by: str, found: str, expected: str, *sentences: str) -> str:
    return " ".join([f"The {by} returned {found}; expected {expected}.", *filter(None, sentences)])
