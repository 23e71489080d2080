"""Compare models with SIMULATED populations, people and cells, normalised by their noise ceilings.

The truth is known: what generated the data reaches 1 within the stated interval, shuffled stimuli about 0.
``docs/explanation/simulated_cortex.md`` explains the design and its limits.

Scores do NOT say how brain-like a model is.
"""

from typing import Any

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly, PropertyAssembly
from brainscore_vision import load_ceiling, load_dataset, load_metric, load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.choices import MatchToSampleBenchmark
from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.benchmark_helpers.properties import GratingSets, PropertiesBenchmark, require_gratings
from brainscore_vision.metric_helpers.arrays.tuning import calc_preferred_orientation
from brainscore_vision.utils import LazyLoad

BIBTEX = """@article{adelson1985spatiotemporal,
  title={Spatiotemporal energy models for the perception of motion},
  author={Adelson, Edward H and Bergen, James R},
  journal={Journal of the Optical Society of America A},
  volume={2}, number={2}, pages={284--299}, year={1985}, doi={10.1364/JOSAA.2.000284}
}
@article{heeger1992normalization,
  title={Normalization of cell responses in cat striate cortex},
  author={Heeger, David J},
  journal={Visual Neuroscience},
  volume={9}, number={2}, pages={181--197}, year={1992}, doi={10.1017/S0952523800009640}
}
@article{riesenhuber1999hierarchical,
  title={Hierarchical models of object recognition in cortex},
  author={Riesenhuber, Maximilian and Poggio, Tomaso},
  journal={Nature Neuroscience},
  volume={2}, number={11}, pages={1019--1025}, year={1999}, doi={10.1038/14819}
}"""

VISUAL_DEGREES = 8
NUMBER_OF_TRIALS = 20
GRATINGS = GratingSets(
    blank="SimulatedCortex2026.blank",
    receptive_field="SimulatedCortex2026.receptive_field",
    orientation="SimulatedCortex2026.orientation",
)


def load_repetitions(region: str):
    """Load the simulated spikes of one region, every repetition, dims (presentation, neuroid)."""
    assembly = load_dataset("SimulatedCortex2026")
    return assembly.sel(neuroid=assembly["region"] == region).squeeze("time_bin")


def SimulatedCortex2026(region: str, metric: str) -> NeuralBenchmark:
    """Compare with a population, by a usual metric (version 1) or the share of signal (version 2)."""
    described = {**_described(region), "version": 2 if metric.endswith("_signal") else 1}
    return benchmark_of_repetitions(
        f"SimulatedCortex2026.{region}-{metric}", lambda: load_repetitions(region), metric, **described
    )


def SimulatedCortex2026Temporal(metric: str) -> NeuralBenchmark:
    """Compare with IT over time; its pattern changes between bins."""
    return benchmark_of_repetitions(
        f"SimulatedCortex2026.IT-temporal-{metric}",
        lambda: load_dataset("SimulatedCortex2026.temporal"),
        f"spantime_{metric}",
        **_described("IT"),
    )


def SimulatedCortex2026Choices() -> MatchToSampleBenchmark:
    """Ask for a patch's photograph, and compare confusions with people's, patch by patch."""
    return MatchToSampleBenchmark(
        "SimulatedCortex2026-i2n",
        load_metric("i2n"),
        lambda: load_dataset("SimulatedCortex2026.choices"),
        lambda: load_stimulus_set("SimulatedCortex2026.fitting"),
        visual_degrees=VISUAL_DEGREES,
        parent="behavior",
        bibtex=BIBTEX,
    )


def SimulatedCortex2026Preferences() -> PropertiesBenchmark:
    """Compare distributions of preferred orientations over units and over cells of V1."""
    metric = load_metric("ks_similarity", property_name="preferred_orientation")
    return PropertiesBenchmark(
        "SimulatedCortex2026.V1-pref_or",
        assembly=LazyLoad(lambda: load_dataset("SimulatedCortex2026.preferences")),
        neuronal_property=preferred_orientation,
        similarity_metric=metric,
        timebins=[(70, 170)],
        gratings=GRATINGS,
        version=1,
        ceiling_func=load_ceiling("property_ceiling", metric),
        parent="V1-orientation",
        bibtex=BIBTEX,
    )


def preferred_orientation(responses: NeuroidAssembly, **_: object) -> PropertyAssembly:
    """Return preferred orientations by the vector sum of mean responses, degrees, 0 to 180."""
    require_gratings(responses)
    frequencies, orientations, phases = (
        sorted(set(responses[name].values)) for name in ("spatial_frequency", "orientation", "phase")
    )
    curves = responses.values.reshape(-1, len(frequencies), len(orientations), len(phases)).mean(axis=(1, 3))
    preferred = calc_preferred_orientation(curves, orientations)
    return PropertyAssembly(
        preferred[:, None],
        coords={
            "neuroid_id": ("neuroid", range(len(preferred))),
            "region": ("neuroid", ["V1"] * len(preferred)),
            "neuronal_property": ["preferred_orientation"],
        },
        dims=["neuroid", "neuronal_property"],
    )


def _described(region: str) -> dict[str, Any]:
    return {
        "version": 1,
        "visual_degrees": VISUAL_DEGREES,
        "number_of_trials": NUMBER_OF_TRIALS,
        "parent": region,
        "bibtex": BIBTEX,
    }
