"""Score layers on one benchmark, each as a model of one layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from brainscore_core.metrics import Score
from brainscore_vision.metric_helpers.labelled.alignment import stack
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.one_pass import OnePass
from brainscore_vision.model_helpers.brain_transformation.mapping import LayerMappedModel
from brainscore_vision.model_helpers.brain_transformation.temporal import TemporalAligned

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

__all__ = ["LayerScores", "model_of_layer", "region_recorded"]


class LayerScores:
    """Score every layer of a model on a benchmark."""

    def __init__(
        self, model_identifier: str, activations_model: Callable[..., NeuroidAssembly], visual_degrees: float
    ) -> None:
        self.model_identifier = model_identifier
        self.activations_model = activations_model
        self.visual_degrees = visual_degrees

    def __call__(
        self, benchmark: Benchmark, layers: Sequence[str], benchmark_identifier: str | None = None, prerun: bool = False
    ) -> Score:
        """Score layers; the attribute ``raw`` of the Score (layer) lists the scores.

        Parameters
        ----------
        benchmark
            With an attribute ``region``, or a region as ``parent``.
        benchmark_identifier
            Ignored; a cache entry in the published system.
        prerun
            Whether the model runs once for all layers.
        """
        del benchmark_identifier
        model = OnePass(self.activations_model, layers) if prerun else self.activations_model
        region = region_recorded(benchmark)
        scores = [
            benchmark(model_of_layer(self.model_identifier, model, region, layer, self.visual_degrees))
            for layer in layers
        ]
        stacked = stack([Score(float(score)) for score in scores], [{"layer": layer} for layer in layers])
        stacked = stacked.sel(layer=list(layers))
        stacked.attrs["raw"] = scores
        return stacked


def model_of_layer(
    identifier: str, activations_model: Callable[..., NeuroidAssembly], region: str, layer: str, visual_degrees: float
) -> TemporalAligned:
    """Return a model with one layer for one region."""
    return TemporalAligned(
        LayerMappedModel(f"{identifier}-{layer}", activations_model, {region: layer}, visual_degrees=visual_degrees)
    )


def region_recorded(benchmark: Any) -> str:  # any benchmark of a plugin
    """Return a benchmark's ``region``, else its parent; ValueError if it has neither."""
    region = getattr(benchmark, "region", None) or getattr(benchmark, "parent", None)
    if not region:
        raise ValueError(
            f"Benchmark {getattr(benchmark, 'identifier', benchmark)!r} does not say which region it records; expected "
            "an attribute region such as 'IT'."
        )
    return str(region)
