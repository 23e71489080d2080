"""Ready-made tests of benchmark plugins."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

import numpy as np

from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly, PropertyAssembly
from brainscore_vision.benchmark_helpers.stand_ins import PrecomputedFeatures
from brainscore_vision.loading import load_benchmark, load_stimulus_set

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark

__all__ = ["NumberOfTrialsTests", "PrecomputedTests", "StandardizedTests", "VisualDegreesTests"]

Assembly = TypeVar("Assembly", bound=DataAssembly)

GRAY = (128, 128, 128)
"""Padding colour of `place_on_screen`."""


class StandardizedTests:
    """Check the ceiling of a benchmark and the score of its own recordings."""

    def ceilings_test(self, benchmark: str, expected: object) -> None:
        """Compare the ceiling."""
        _require_equal(load_benchmark(benchmark).ceiling, expected, f"ceiling of {benchmark!r}")

    def self_regression_test(self, benchmark: str, visual_degrees: float, expected: object) -> None:
        """Compare the raw score of the recordings against themselves; the regression uses 10 splits."""
        self._self_test(benchmark, visual_degrees, expected, dims=("neuroid", "split"))

    def self_rdm_test(self, benchmark: str, visual_degrees: float, expected: object) -> None:
        """Compare the raw score of the recordings against themselves; dissimilarities use 10 splits."""
        self._self_test(benchmark, visual_degrees, expected, dims=("split",))

    def _self_test(self, benchmark: str, visual_degrees: float, expected: object, dims: tuple[str, ...]) -> None:
        loaded = cast("NeuralBenchmark", load_benchmark(benchmark))
        raw = loaded(PrecomputedFeatures(loaded._assembly, visual_degrees)).attrs["raw"]  # noqa: SLF001 - contract
        _require_equal(raw, expected, f"raw score of the recordings of {benchmark!r} against themselves")
        values = raw.attrs["raw"]
        missing = [dim for dim in dims if not hasattr(values, dim)]
        if missing:
            raise AssertionError(f"The raw values of {benchmark!r} lack {missing}; they have dims {values.dims}.")
        _require_equal(len(values["split"]), 10, f"number of splits of {benchmark!r}")


class PrecomputedTests:
    """Score precomputed features stored as netCDF."""

    def run_test(self, benchmark: str, precomputed_features_filepath: str | Path, expected: object) -> None:
        """Compare the raw score of features in a netCDF file, whose ``stimulus_path`` ends in file names of stimuli."""
        loaded = cast("NeuralBenchmark", load_benchmark(benchmark))
        stimulus_set = loaded._assembly.stimulus_set  # noqa: SLF001 - contract with plugins
        features = NeuroidAssembly.from_files(
            precomputed_features_filepath, stimulus_set_identifier=stimulus_set.identifier, stimulus_set=None
        )
        features = _with_stimulus_columns(features, stimulus_set)
        raw = loaded(PrecomputedFeatures(features, visual_degrees=10)).attrs["raw"]
        _require_equal(raw, expected, f"raw score of the stored features on {benchmark!r}")

    def run_test_properties(self, benchmark: str, files: Mapping[str, str | Path], expected: object) -> None:
        """Compare the raw score of features, one netCDF file per stimulus set identifier."""
        features = {}
        for identifier, path in files.items():
            stimulus_set = load_stimulus_set(identifier)
            assembly = PropertyAssembly.from_files(
                path, stimulus_set_identifier=stimulus_set.identifier, stimulus_set=stimulus_set
            )
            features[identifier] = _with_stimulus_columns(assembly, stimulus_set)
        raw = load_benchmark(benchmark)(PrecomputedFeatures(features, visual_degrees=8)).attrs["raw"]
        _require_equal(raw, expected, f"raw score of the stored features on {benchmark!r}")


class VisualDegreesTests:
    """Check that stimuli have their size in the experiment."""

    def amount_gray_test(self, benchmark: str, candidate_degrees: float, image_id: str, expected: object) -> None:
        """Compare the number of gray values (pixels times channels) of a placed image."""
        from PIL import Image  # only for this test

        stimuli = _look_at_call(load_benchmark(benchmark), candidate_degrees)[0]
        with Image.open(stimuli.get_stimulus(image_id)) as image:
            pixels = np.asarray(image)
        amount = float((pixels == np.array(GRAY)).all(axis=-1).sum() / pixels.size)
        _require_equal(amount, expected, f"share of gray in stimulus {image_id!r} of {benchmark!r}")


class NumberOfTrialsTests:
    """Check that a benchmark asks for repeated trials."""

    def repetitions_test(self, benchmark_identifier: str) -> None:
        """Require more than one presentation of each stimulus."""
        trials = _look_at_call(load_benchmark(benchmark_identifier), candidate_degrees=8)[1]
        if trials <= 1:
            raise AssertionError(
                f"Benchmark {benchmark_identifier!r} shows each stimulus {trials} time(s); expected more than one, as "
                "in the experiment."
            )


class _LookedAtError(Exception):
    """Ends a benchmark once it has shown its stimuli."""


class _Onlooker(PrecomputedFeatures):
    seen: tuple[StimulusSet, int] | None = None

    def look_at(self, stimuli: StimulusSet, number_of_trials: int = 1) -> NoReturn:
        self.seen = stimuli, number_of_trials
        raise _LookedAtError


def _look_at_call(benchmark: Benchmark, candidate_degrees: float) -> tuple[StimulusSet, int]:
    onlooker = _Onlooker({}, candidate_degrees)
    with contextlib.suppress(_LookedAtError):
        benchmark(onlooker)
    if onlooker.seen is None:
        raise AssertionError(f"Benchmark {benchmark.identifier!r} never called look_at.")
    return onlooker.seen


def _with_stimulus_columns(features: Assembly, stimulus_set: StimulusSet) -> Assembly:
    id_of = {
        Path(stimulus_set.get_stimulus(stimulus_id)).name: stimulus_id for stimulus_id in stimulus_set["stimulus_id"]
    }
    names = [Path(str(path)).name for path in features["stimulus_path"].values]
    if set(names) != set(id_of):
        raise AssertionError(
            f"The stored features and the stimulus set {stimulus_set.identifier!r} differ in "
            f"{len(set(names) ^ set(id_of))} file names, such as {sorted(set(names) ^ set(id_of))[:3]}."
        )
    rows = stimulus_set.set_index("stimulus_id", drop=False).loc[[id_of[name] for name in names]]
    existing = {str(name) for name in features.coords}
    for column in stimulus_set.columns:
        if column not in existing:
            features[column] = "presentation", rows[column].to_numpy()
    return type(features)(features)


def _require_equal(found: object, expected: object, what: str) -> None:
    if not found == expected:  # pytest.approx defines == only
        raise AssertionError(f"The {what} is {found}; expected {expected}.")
