"""Make the atlas of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import ConfigurationError, UnknownIdentifierError
from brainscore_vision.loading import load_benchmark
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.atlas import make_atlas
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.declared import DeclaredBenchmarks, available
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.scores import region_recorded

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark
    from brainscore_vision.model_helpers.brain_transformation.layer_atlas.records import LayerAtlas
    from brainscore_vision.model_interface import BrainModel

__all__ = ["layer_atlas"]


def layer_atlas(
    model: BrainModel,
    benchmarks: Sequence[str] | Mapping[str, Benchmark] | None = None,
    *,
    layers: Sequence[str] | None = None,
    seed: int = 0,
) -> LayerAtlas:
    """See `make_atlas`.

    Parameters
    ----------
    model
        With `layers` and `activations_model`, such as a `ModelCommitment`.
    benchmarks
        Identifiers, or benchmarks by region. None: the available ones of `declared.REGION_BENCHMARKS`.
    layers
        From early to late. None: those of the model.

    Raises
    ------
    ConfigurationError
        The model has no layers or activations_model.
    UnknownIdentifierError
        There is no such benchmark, or none is available.
    """
    activations_model: Callable[..., Any] | None = getattr(model, "activations_model", None)
    names = layers or getattr(model, "layers", None)
    if activations_model is None or not names:
        raise ConfigurationError(
            f"A {type(model).__qualname__} does not give the activations of its layers; expected a model with layers "
            "and activations_model, such as a ModelCommitment."
        )
    return make_atlas(
        model.identifier, activations_model, list(names), model.visual_degrees(), _benchmarks(benchmarks), seed=seed
    )


def _benchmarks(benchmarks: Sequence[str] | Mapping[str, Benchmark] | None) -> Mapping[str, Benchmark]:
    if isinstance(benchmarks, Mapping):
        return benchmarks
    if benchmarks is None:
        declared = available(DeclaredBenchmarks())
        if not declared:
            raise UnknownIdentifierError(
                "None of the benchmarks that are declared for choosing layers is available. Name others: "
                "benchmarks=['<identifier>', ...]."
            )
        return declared
    loaded = [load_benchmark(identifier) for identifier in benchmarks]
    regions = [region_recorded(benchmark) for benchmark in loaded]
    times = Counter(regions)
    # The identifiers distinguish two benchmarks of one region.
    names = [
        region if times[region] == 1 else str(benchmark.identifier)
        for region, benchmark in zip(regions, loaded, strict=True)
    ]
    return dict(zip(names, loaded, strict=True))
