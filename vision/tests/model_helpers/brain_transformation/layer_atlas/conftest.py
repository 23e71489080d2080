import numpy as np
import pytest

from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark
from brainscore_vision.metric_helpers.regression.estimators import PLS, PearsonR
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression
from brainscore_vision.model_helpers.activations.packaging import add_presentation_coords, package_layers


class KnownLayers:
    """An activations model with given activations by stimulus, which lists its requests."""

    def __init__(self, layers):
        self.layers, self.shown = layers, []

    def __call__(self, stimuli, layers, number_of_trials=1, require_variance=False):
        ids = stimuli["stimulus_id"].tolist()
        self.shown.append((ids, list(layers)))
        rows = [int(each.removeprefix("s")) for each in ids]
        assembly = package_layers({layer: self.layers[layer][rows] for layer in layers}, ids, "known")
        return add_presentation_coords(assembly, {str(name): stimuli[name].to_numpy() for name in stimuli.columns})


def linear_metric(components=3):
    return CrossRegressedCorrelation(
        XarrayRegression(PLS(components)), XarrayCorrelation(PearsonR()), {"stratification_coord": None}
    )


def pictures_of(n):
    return {f"s{index}": np.full((2, 2, 3), index % 256) for index in range(n)}


@pytest.fixture
def make_benchmark(write_stimuli):
    stimuli = {}

    def make(responses, region="IT", rows=None, metric=None, ceiling=0.9, **options):
        rows = np.arange(len(responses)) if rows is None else np.asarray(rows)
        if max(rows) not in stimuli:
            stimuli[max(rows)] = write_stimuli(pictures_of(max(rows) + 1), f"known-{max(rows)}")
        ids = [f"s{row}" for row in rows]
        table = stimuli[max(rows)]
        assembly = assembly_of(responses, stimulus_id=ids, region=("neuroid", [region] * responses.shape[1]))
        assembly.attrs["stimulus_set"] = table[table["stimulus_id"].isin(ids)]
        return NeuralBenchmark(
            identifier=f"Known2026.{region}-pls",
            version=1,
            assembly=assembly,
            similarity_metric=metric or linear_metric(),
            visual_degrees=8,
            number_of_trials=1,
            ceiling=ceiling,
            parent=region,
            **options,
        )

    return make


@pytest.fixture
def known():
    """Return three layers for 120 stimuli, two of them wide, and responses of a region generated from the second."""
    rng = np.random.default_rng(5)
    hidden = rng.normal(size=(120, 4))
    layers = {
        "early": rng.normal(size=(120, 90)),
        "middle": hidden @ rng.normal(size=(4, 200)) + 0.3 * rng.normal(size=(120, 200)),
        "late": hidden[:, :2] @ rng.normal(size=(2, 20)) + 0.3 * rng.normal(size=(120, 20)),
    }
    responses = hidden @ rng.normal(size=(4, 12)) + 0.5 * rng.normal(size=(120, 12))
    return KnownLayers(layers), responses
