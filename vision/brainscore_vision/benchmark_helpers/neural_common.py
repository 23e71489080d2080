"""Provide the standard designs of neural benchmarks and the steps that prepare recordings for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from brainscore_core.benchmarks import (
    BenchmarkBase,
    explained_variance,
    explained_variance_ratio,
    validate_quantities,
)
from brainscore_core.errors import AssemblyError, CeilingError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision.benchmark_helpers.recordings import (
    apply_keep_attrs,
    filter_reliable_neuroids,
    flatten_timebins_into_neuroids,
    squeeze_single_timebin,
    timebins_from_assembly,
)
from brainscore_vision.benchmark_helpers.screen import place_on_screen
from brainscore_vision.metric_helpers.uncertainty.ceiled import ceiled_interval

__all__ = [
    "DEFAULT_TIMEBINS",
    "NeuralBenchmark",
    "RSABenchmark",  # noqa: F822 - `__getattr__` provides it
    "TrainTestNeuralBenchmark",
    "apply_keep_attrs",
    "average_repetition",
    "explained_variance",
    "filter_reliable_neuroids",
    "flatten_timebins_into_neuroids",
    "neuroid_wise_explained_var",
    "place_on_screen",
    "timebins_from_assembly",
]

DEFAULT_TIMEBINS = [(70, 170)]
"""Window in ms after stimulus onset that is recorded when the measurements do not say theirs."""

_OF_RAW_ONLY = {"raw", "ceiling", "error", "interval", "quantity"}


def __getattr__(name: str) -> Any:
    # Published benchmarks take it from here; it builds on this module, so it is imported when asked for.
    if name == "RSABenchmark":
        from brainscore_vision.benchmark_helpers.rsa import RSABenchmark

        return RSABenchmark
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class NeuralBenchmark(BenchmarkBase):
    """Show the stimuli of an experiment to a model, record from one region, and compare with the recordings.

    Score: ``explained_variance(metric(model, recordings), ceiling)``.

    Parameters
    ----------
    identifier : str
        Unique name, equal to the registry key: ``<AuthorYear>.<region>-<metric>``.
    assembly : NeuroidAssembly
        Dims (presentation, neuroid[, time_bin]), repetitions averaged, with the coordinate ``region`` of a single
        value and the attribute ``stimulus_set``. A `LazyLoad` is loaded when it is first needed.
    similarity_metric : Metric
        ``metric(model_assembly, assembly)`` returns a correlation.
    visual_degrees : float
        Width of the stimuli in the experiment, degrees of visual angle.
    number_of_trials : int
        How often each stimulus was shown; a stochastic model is shown it as often.
    timebins : list of (int, int), optional
        Windows to record, ms after stimulus onset. None: those of the assembly, or `DEFAULT_TIMEBINS` if it has none.
    **kwargs
        ``ceiling_func``, ``version``, ``parent``, ``bibtex`` of `BenchmarkBase`.

    Attributes
    ----------
    region : str
        Where the model is recorded.
    timebins : list of (int, int)
        When, in ms.
    """

    def __init__(
        self,
        identifier: str,
        assembly: Any,
        similarity_metric: Callable[..., Score],
        visual_degrees: float,
        number_of_trials: int,
        timebins: Sequence[tuple[int, int]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(identifier=identifier, **kwargs)
        self._assembly = assembly
        self._similarity_metric = similarity_metric
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self._given_timebins = timebins

    @cached_property
    def region(self) -> str:
        """The one region of the recordings."""
        return _single_region(self._assembly, self.identifier)

    @cached_property
    def timebins(self) -> list[tuple[Any, Any]]:
        """The windows to record, ms after stimulus onset."""
        return _timebins(self._given_timebins, self._assembly)

    def __call__(self, candidate: Any) -> Score:
        """Score a candidate.

        Parameters
        ----------
        candidate : BrainModel
            Whom to record from.

        Returns
        -------
        Score
            0-d. Attributes: ``raw``, ``ceiling``, ``error``, ``n_stimuli``, ``n_neuroids``, ``n_trials``,
            ``simulated``; ``layers`` if the model says which it used; ``interval`` (95 %, see `ceiled_interval`) if
            the metric keeps values for each split and neuroid.

        Raises
        ------
        CeilingError
            If the recordings have no usable ceiling.
        """
        target = squeeze_single_timebin(self._assembly)
        candidate.start_recording(self.region, time_bins=self.timebins)
        source = _record(
            candidate, self._assembly, self._visual_degrees, self._number_of_trials, identifier=self.identifier
        )
        raw = self._similarity_metric(source, target)
        score = explained_variance(raw, self.ceiling)
        _describe(score, candidate, self.region, [self._assembly], self._number_of_trials)
        interval = ceiled_interval(score.attrs["raw"], self.ceiling, explained_variance_ratio)
        if interval is not None:
            score.attrs["interval"] = interval
        return score


class TrainTestNeuralBenchmark(BenchmarkBase):
    """Fit the mapping from model to recordings on one set of stimuli and test it on another.

    Parameters
    ----------
    identifier : str
        Unique name, equal to the registry key.
    ceiling_func, version, parent
        See `BenchmarkBase`.
    train_assembly, test_assembly : NeuroidAssembly
        As in `NeuralBenchmark`, of the same region.
    similarity_metric : Metric
        Called with the keywords ``source_train``, ``target_train``, ``source_test``, ``target_test``.
    visual_degrees : float
        Width of the stimuli in the experiment, degrees of visual angle.
    number_of_trials : int
        How often each stimulus is shown to the model.
    alpha_coord : str, optional
        Coordinate of neuroid, such as ``'subject'``: fit and normalise apart for each of its values, then average.
        None: all neuroids together.
    per_voxel_ceilings : bool
        Normalise each neuroid by its own ceiling (see `neuroid_wise_explained_var`) instead of all by one.
    timebins : list of (int, int), optional
        See `NeuralBenchmark`; None: those of the training assembly.
    **kwargs
        ``bibtex``.
    """

    def __init__(
        self,
        identifier: str,
        ceiling_func: Callable[[], Any],
        version: int,
        train_assembly: Any,
        test_assembly: Any,
        similarity_metric: Callable[..., Score],
        visual_degrees: float,
        number_of_trials: int,
        parent: str | None,
        alpha_coord: str | None = None,
        per_voxel_ceilings: bool = False,
        timebins: Sequence[tuple[int, int]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(identifier=identifier, ceiling_func=ceiling_func, version=version, parent=parent, **kwargs)
        self._train_assembly = train_assembly
        self._test_assembly = test_assembly
        self._similarity_metric = similarity_metric
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self._given_timebins = timebins
        self.alpha_coord = alpha_coord
        self.per_voxel_ceilings = per_voxel_ceilings

    @cached_property
    def region(self) -> str:
        """The one region of the recordings.

        Raises
        ------
        AssemblyError
            If training and test recordings are of different regions.
        """
        train, test = (_single_region(each, self.identifier) for each in (self._train_assembly, self._test_assembly))
        if train != test:
            raise AssemblyError(
                f"The assemblies of {self.identifier!r} train on region {train!r} and test on {test!r}; take the same "
                "region from both assemblies."
            )
        return train

    @cached_property
    def timebins(self) -> list[tuple[Any, Any]]:
        """The windows to record, ms after stimulus onset."""
        return _timebins(self._given_timebins, self._train_assembly)

    def __call__(self, candidate: Any) -> Score:
        """Score a candidate; see `NeuralBenchmark` for what the score holds.

        Parameters
        ----------
        candidate : BrainModel
            Whom to record from.

        Returns
        -------
        Score
            0-d. With ``alpha_coord`` it also has the score of each value of that coordinate as an attribute of that
            name.
        """
        assemblies = self._train_assembly, self._test_assembly
        source_train, source_test = (self._record(candidate, assembly) for assembly in assemblies)
        train, test = (squeeze_single_timebin(assembly) for assembly in assemblies)
        compare = self._compare if self.alpha_coord is None else self._compare_by_alpha_coord
        score = compare(source_train, source_test, train, test)
        _describe(score, candidate, self.region, list(assemblies), self._number_of_trials)
        return score

    def _record(self, candidate: Any, assembly: Any) -> Any:
        candidate.start_recording(self.region, time_bins=self.timebins)
        return _record(candidate, assembly, self._visual_degrees, self._number_of_trials, identifier=self.identifier)

    def _raw(self, source_train: Any, source_test: Any, target_train: Any, target_test: Any) -> Score:
        return self._similarity_metric(
            source_train=source_train, target_train=target_train, source_test=source_test, target_test=target_test
        )

    def _compare(self, source_train: Any, source_test: Any, target_train: Any, target_test: Any) -> Score:
        raw = self._raw(source_train, source_test, target_train, target_test)
        if self.per_voxel_ceilings:
            return neuroid_wise_explained_var(raw, self.ceiling)
        return explained_variance(raw, self.ceiling)

    def _compare_by_alpha_coord(
        self, source_train: Any, source_test: Any, target_train: Any, target_test: Any
    ) -> Score:
        coord = self.alpha_coord
        scores = {}
        for value in np.unique(target_train[coord].values):
            train, test = (
                target[{"neuroid": np.flatnonzero(target[coord].values == value)}]
                for target in (target_train, target_test)
            )
            raw = self._raw(source_train, source_test, train, test)
            ceiling = self._ceiling_of(test)
            scores[value] = (
                neuroid_wise_explained_var(raw, ceiling)
                if self.per_voxel_ceilings
                else explained_variance(raw, ceiling)
            )
        score = Score(np.mean([float(each) for each in scores.values()]))
        raws = [each.attrs["raw"] for each in scores.values()]
        score.attrs["raw"] = Score(np.mean([float(each) for each in raws]))
        per_neuroid = [each.attrs["raw"] for each in raws if "raw" in each.attrs]
        if len(per_neuroid) == len(raws):
            import xarray as xr

            score.attrs["raw"].attrs["raw"] = xr.concat(per_neuroid, dim="neuroid")
        score.attrs["ceiling"] = self.ceiling
        score.attrs.update({str(value): each for value, each in scores.items()})
        return score

    def _ceiling_of(self, target: Any) -> Score:
        """Return the ceiling of some of the neuroids, from the values that the ceiling keeps for each of them."""
        per_neuroid = self.ceiling.attrs.get("raw")
        if per_neuroid is None or "neuroid" not in per_neuroid.dims:
            return self.ceiling
        chosen = np.isin(per_neuroid["neuroid_id"].values, target["neuroid_id"].values)
        values = per_neuroid[{"neuroid": np.flatnonzero(chosen)}]
        medians = np.nanmedian(np.asarray(values.values, dtype=float), axis=values.dims.index("neuroid"))
        ceiling = Score(float(np.mean(medians)))
        ceiling.attrs["raw"] = values
        return ceiling


def neuroid_wise_explained_var(score: Score, ceiling: Score, aggregate_func: Callable[..., Any] = np.mean) -> Score:
    r"""Normalise each neuroid by its own ceiling, then summarise over neuroids.

    .. math:: \operatorname{aggregate}_i \left( \operatorname{sign}(r_i) \, r_i^2 / \rho_i \right)

    Parameters
    ----------
    score : Score
        With an attribute ``raw`` of dims (neuroid[, split]): correlation of each neuroid; NaN for those left out.
    ceiling : Score
        With such an attribute: reliability of each neuroid. Splits are averaged.
    aggregate_func : callable
        From an array of shape (n_neuroids,) to a number.

    Returns
    -------
    Score
        0-d. Attributes: ``raw`` (the score given), ``ceiling``, ``ceiled_scores`` (dims (neuroid)), and the
        descriptive attributes of the raw score.

    Raises
    ------
    AssemblyError
        If score and ceiling are not about the same neuroids.
    CeilingError
        If a neuroid's ceiling is not a finite number above 0, or score and ceiling are not correlation and reliability.
    """
    validate_quantities(score, ceiling, normalization="explained_variance")
    per_neuroid = _mean_over_splits(score.attrs.get("raw"), "score")
    ceilings = _mean_over_splits(ceiling.attrs.get("raw"), "ceiling")
    ids, ceiling_ids = per_neuroid["neuroid_id"].values, ceilings["neuroid_id"].values
    if len(set(ids)) != len(ids) or set(ids) != set(ceiling_ids) or len(ids) != len(ceiling_ids):
        raise AssemblyError(
            f"The score is about {len(ids)} neuroids and the ceiling about {len(ceiling_ids)}; expected the same "
            "unique neuroid_id in both. Compute the ceiling from the neuroids that are scored."
        )
    position = {neuroid_id: index for index, neuroid_id in enumerate(ceiling_ids)}
    rho = np.asarray(ceilings.values, dtype=float)[[position[neuroid_id] for neuroid_id in ids]]
    r = np.asarray(per_neuroid.values, dtype=float)
    scored = ~np.isnan(r)  # the metric leaves out neuroids that never vary, and so may the ceiling
    wrong = scored & ~(np.isfinite(rho) & (rho > 0))
    if wrong.any():
        raise CeilingError(
            f"{int(wrong.sum())} of {len(rho)} neuroids have a ceiling that is NaN, zero "
            "or negative; expected numbers above 0. Drop unreliable neuroids first, see filter_reliable_neuroids."
        )
    ratios = np.full(len(r), np.nan)
    ratios[scored] = explained_variance_ratio(r[scored], rho[scored])
    ceiled = per_neuroid.copy(data=ratios)
    ceiled.attrs = {}
    result = Score(float(aggregate_func(ratios[scored])) if scored.any() else float("nan"))
    kept = {key: value for key, value in score.attrs.items() if key not in _OF_RAW_ONLY}
    result.attrs.update(kept, raw=score, ceiling=ceiling, ceiled_scores=ceiled)
    return result


def _mean_over_splits(raw: Any, what: str) -> Any:
    if raw is None or "neuroid" not in getattr(raw, "dims", ()):
        raise AssemblyError(
            f"The {what} keeps no values for each neuroid: expected its attribute 'raw' with dims (neuroid[, split]). "
            "Use a metric and a ceiling that keep them, or per_voxel_ceilings=False."
        )
    return raw.mean(dim="split") if "split" in raw.dims else raw


def _timebins(given: Sequence[tuple[int, int]] | None, assembly: Any) -> list[tuple[Any, Any]]:
    if given is not None:
        return [(start, end) for start, end in given]
    try:
        return timebins_from_assembly(assembly)
    except KeyError:
        return list(DEFAULT_TIMEBINS)


def _single_region(assembly: Any, benchmark: str) -> str:
    if "region" not in assembly.coords:
        raise AssemblyError(
            f"The assembly of benchmark {benchmark!r} has no coordinate 'region' on neuroid, which says where to "
            f"record the model. It has {list(assembly.coords)}. Add it: assembly['region'] = 'neuroid', ['IT'] * n."
        )
    regions = np.unique(assembly["region"].values)
    if len(regions) != 1:
        raise AssemblyError(
            f"The assembly of benchmark {benchmark!r} holds the regions {[str(region) for region in regions]}; "
            "expected exactly one. Select it: assembly.sel(neuroid=assembly['region'] == 'IT')."
        )
    return str(regions[0])


def _record(candidate: Any, assembly: Any, visual_degrees: float, number_of_trials: int, *, identifier: str) -> Any:
    stimulus_set = assembly.attrs.get("stimulus_set")
    if stimulus_set is None:
        raise AssemblyError(
            f"The assembly of benchmark {identifier!r} has no attribute 'stimulus_set', so there is nothing to show. "
            "Load it with a stimulus_set_loader; after arithmetic or a reduction set assembly.attrs['stimulus_set']."
        )
    on_screen = place_on_screen(
        stimulus_set, target_visual_degrees=candidate.visual_degrees(), source_visual_degrees=visual_degrees
    )
    return squeeze_single_timebin(candidate.look_at(on_screen, number_of_trials=number_of_trials))


def _describe(score: Score, candidate: Any, region: str, assemblies: list[Any], number_of_trials: int) -> None:
    """Attach what the summary of a score shows."""
    stimulus_ids: set[Any] = set()
    for assembly in assemblies:
        stimulus_ids.update(assembly["stimulus_id"].values.tolist())
    score.attrs.update(
        n_stimuli=len(stimulus_ids),
        n_neuroids=int(assemblies[-1].sizes["neuroid"]),
        n_trials=int(number_of_trials),
        simulated=any(bool(assembly.attrs.get("simulated", False)) for assembly in assemblies),
    )
    seed = assemblies[0].attrs.get("seed")
    if seed is not None:
        score.attrs["seed"] = int(seed)
    layer_map = getattr(getattr(candidate, "layer_model", None), "region_layer_map", None)
    if isinstance(layer_map, Mapping) and region in layer_map:
        score.attrs["layers"] = {region: layer_map[region]}
