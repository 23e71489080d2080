"""The benchmark contract and the base class of most benchmarks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from brainscore_core.benchmarks._clusters import InSequence, clusters_of
from brainscore_core.benchmarks._normalization import as_ceiling
from brainscore_core.errors import NotApplicableError
from brainscore_core.metrics import Score, single_score
from brainscore_core.metrics.errors import over_clusters

if TYPE_CHECKING:
    import xarray as xr


class Benchmark:
    """One experiment (stimuli, measurements, metric, ceiling), called with a candidate; derive from `BenchmarkBase`."""

    def __call__(self, candidate: Any) -> Score:
        """Score a candidate that has the domain's model interface.

        Returns
        -------
        Score
            0-d, about 0 (chance) to 1 (the ceiling), with attributes ``raw`` (before normalisation) and ``ceiling``;
            NaN if the candidate cannot be scored, with the reason in ``not_applicable``, and ``not_estimable`` True if
            the data alone are the reason, whatever the candidate answers. If they apply, also ``error`` (standard
            error), ``interval`` (low, high; 95 %), ``n_stimuli``, ``n_neuroids``, ``n_trials``, ``seed``, ``layers``
            and ``simulated``.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how to score a candidate: define __call__.")

    @property
    def identifier(self) -> str:
        """Unique name, equal to the registry key: ``<AuthorYear>[public].<region>-<metric>``."""
        raise NotImplementedError(f"{type(self).__name__} has no identifier: define it or derive from BenchmarkBase.")

    @property
    def version(self) -> Any:
        """Integer that increases whenever scores change."""
        raise NotImplementedError(f"{type(self).__name__} has no version: define it or derive from BenchmarkBase.")

    @property
    def ceiling(self) -> Score:
        """Highest raw score that the noise of the measurement allows: above 0 and at most 1."""
        raise NotImplementedError(f"{type(self).__name__} has no ceiling: define it or derive from BenchmarkBase.")

    @property
    def bibtex(self) -> str | None:
        """Reference of the experiment as a BibTeX entry; None if it has none."""
        raise NotImplementedError(f"{type(self).__name__} has no bibtex: define it or derive from BenchmarkBase.")

    # Published benchmarks assign it.
    parent: str | None = None

    presentation_order: Literal["content", "experiment"] = "content"
    """Order in which a model sees the stimuli; records state ``'experiment'``.

    ``'content'`` depends on the stimuli alone, so that the order tells a model nothing about them. ``'experiment'`` is
    that of the stimulus set, for models whose answer depends on earlier stimuli.
    """

    def __repr__(self) -> str:
        try:
            parent = "" if self.parent is None else f", parent {self.parent!r}"
            return f"<{type(self).__name__} {self.identifier!r}, version {self.version}{parent}>"
        except (AttributeError, NotImplementedError):  # not fully constructed
            return f"<{type(self).__name__}, without identifier or version>"

    def preallocate_memory(self, candidate: Any) -> None:
        """Raise `MemoryError` before scoring if the candidate will not fit."""


class BenchmarkBase(Benchmark):
    """Keep identifier, version, parent and reference, see `Benchmark`, and compute the ceiling once.

    Parameters
    ----------
    ceiling_func
        Called when `ceiling` is first read; numbers become a `Score`.
    parent
        Node of the hierarchy: ``'V1'``, ``'V2'``, ``'V4'``, ``'IT'``, ``'behavior'``, or your own. None: directly below
        the root.
    ceiling : Score or number, optional
        In place of ``ceiling_func``.
    stimulus_cluster : str, optional
        Coordinate of presentation, or column of the stimuli, that another experiment would sample again, such as
        ``'object_name'``: errors are then over new objects; ``InSequence('frame')``: over new blocks of frames. None:
        over new stimuli.

    Examples
    --------
    >>> benchmark = BenchmarkBase('Mine2026-accuracy', ceiling_func=lambda: 1, version=1)
    >>> benchmark.ceiling.item()
    1.0
    """

    def __init__(
        self,
        identifier: str,
        ceiling_func: Callable[[], Any] | Score | float | None = None,
        version: Any = None,
        parent: str | None = None,
        bibtex: str | None = None,
        *,
        ceiling: Score | float | None = None,
        stimulus_cluster: str | None = None,
    ) -> None:
        if version is None:
            raise TypeError(f"Benchmark {identifier!r} has no version; pass version=1 and raise it when scores change.")
        if (ceiling_func is None) == (ceiling is None):
            raise TypeError(
                f"Benchmark {identifier!r} needs its ceiling exactly once: ceiling_func=lambda: ... (computed when "
                "first read) or ceiling=Score(...)."
            )
        self._identifier = identifier
        self._version = version
        self._bibtex = bibtex
        self.parent = parent
        self.stimulus_cluster = stimulus_cluster
        source = ceiling if ceiling_func is None else ceiling_func
        self._ceiling_func: Callable[..., Any] = source if callable(source) else lambda: source
        # Mangled, because published benchmarks have their own `_ceiling`.
        self.__ceiling: Score | None = None

    @property
    def identifier(self) -> str:
        """See `Benchmark.identifier`."""
        return self._identifier

    @property
    def version(self) -> Any:
        """See `Benchmark.version`."""
        return self._version

    @property
    def bibtex(self) -> str | None:
        """See `Benchmark.bibtex`."""
        return self._bibtex

    @property
    def ceiling(self) -> Score:
        """Ceiling, computed on the first read; `CeilingError` unless it is a number above 0 and at most 1."""
        if self.__ceiling is None:
            ceiling = as_ceiling(self._ceiling_func(), of=f"benchmark {self.identifier!r}")
            self.__ceiling = self.over_clusters(ceiling)
        return self.__ceiling

    def over_clusters(self, score: Score) -> Score:
        """Return a score with errors over ``stimulus_cluster``, see `brainscore_core.metrics.errors.over_clusters`."""
        cluster = self.stimulus_cluster
        if cluster is None:
            return score
        name = "stimulus_block" if isinstance(cluster, InSequence) else cluster
        return over_clusters(score, clusters_of(self.measurement(), cluster), name)

    def measurement(self) -> xr.DataArray:
        """Return the measurement with the clusters of the scored stimuli."""
        raise NotImplementedError(
            f"Benchmark {self.identifier!r} names stimulus_cluster={self.stimulus_cluster!r} but not where to read it: "
            "define measurement(), which returns its assembly."
        )


def not_applicable(reason: str) -> Score:
    """Return NaN as a candidate's score, with the reason in ``attrs['not_applicable']``."""
    return Score(float("nan"), attrs={"raw": Score(float("nan")), "not_applicable": reason})


def score_benchmark(benchmark: Benchmark, candidate: Any, *, name: str | None = None) -> Score:
    """Score a candidate, after `Benchmark.preallocate_memory`, and check the result.

    ``name`` replaces the identifier in messages. If the score is NaN, or `NotApplicableError` was raised, the reason is
    in ``attrs['not_applicable']``.
    """
    if hasattr(benchmark, "preallocate_memory"):  # callers may pass other objects
        benchmark.preallocate_memory(candidate)
    by = f"benchmark {(benchmark.identifier if name is None else name)!r}"
    try:
        score = single_score(benchmark(candidate), by=by)
    except NotApplicableError as error:
        return not_applicable(str(error))
    if math.isnan(float(score)) and not score.attrs.get("not_applicable"):
        score.attrs["not_applicable"] = (
            f"The {by} gives NaN and does not say why. Whoever maintains it: say so in attrs['not_applicable']."
        )
    return score
