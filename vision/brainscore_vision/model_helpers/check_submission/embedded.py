"""Make the benchmark for checks of models: gratings and SIMULATED neurons."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark
from brainscore_vision.loading import load_metric

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["IDENTIFIER", "REGION", "embedded_benchmark", "gratings"]

IDENTIFIER, REGION = "check_models-SIMULATED.IT-ridge", "IT"

N_STIMULI, N_NEUROIDS, SIZE_PX = 24, 8, 256
_SHARPNESS = 2.0  # concentration of the von Mises function of tuning


@contextmanager
def gratings() -> Iterator[StimulusSet]:
    """Provide 24 pictures, 256 x 256 pixels, of gratings inside the block.

    Orientation, frequency, phase and contrast are random (seed 0). Columns: ``orientation`` (radians, 0 to pi),
    ``contrast`` (.5 to 1) and ``image_label``, ``'steep'`` or ``'flat'``.
    """
    generator = np.random.default_rng(0)
    orientation = (np.arange(N_STIMULI) + 0.5) * np.pi / N_STIMULI
    generator.shuffle(orientation)
    contrast = generator.uniform(0.5, 1.0, N_STIMULI)
    frequency = generator.uniform(4.0, 12.0, N_STIMULI)
    phase = generator.uniform(0.0, 2 * np.pi, N_STIMULI)
    stimuli = StimulusSet(
        {
            "stimulus_id": [f"grating-{number:02d}" for number in range(N_STIMULI)],
            "orientation": orientation,
            "contrast": contrast,
            "image_label": np.where(np.abs(np.cos(orientation)) > np.sqrt(0.5), "steep", "flat"),
        }
    )
    stimuli.identifier = "check_models-gratings"
    y, x = np.mgrid[0 : 1 : SIZE_PX * 1j, 0 : 1 : SIZE_PX * 1j]
    with TemporaryDirectory(prefix="brainscore-check-") as folder:
        stimuli.stimulus_paths = {name: Path(folder) / f"{name}.png" for name in stimuli["stimulus_id"]}
        for number, stimulus_id in enumerate(stimuli["stimulus_id"]):
            along = x * np.cos(orientation[number]) + y * np.sin(orientation[number])
            wave = contrast[number] * np.sin(2 * np.pi * frequency[number] * along + phase[number])
            pixels = np.rint(127.5 * (1 + wave)).astype(np.uint8)
            Image.fromarray(pixels).convert("RGB").save(stimuli.stimulus_paths[stimulus_id])
        yield stimuli


def embedded_benchmark(stimuli: StimulusSet, visual_degrees: float) -> NeuralBenchmark:
    """Return a benchmark on `gratings`, best as wide as the model's field of view (no resizing).

    A simulated neuron with preferred orientation t responds ``contrast * exp(2 * (cos(2 * (orientation - t)) - 1))``,
    without noise, so that the ceiling is 1.
    """
    preferred = np.arange(N_NEUROIDS) * np.pi / N_NEUROIDS
    tuning = np.exp(_SHARPNESS * (np.cos(2 * (stimuli["orientation"].to_numpy()[:, np.newaxis] - preferred)) - 1))
    responses: npt.NDArray[np.float64] = stimuli["contrast"].to_numpy()[:, np.newaxis] * tuning
    assembly = NeuroidAssembly(
        responses,
        coords={
            **{name: ("presentation", stimuli[name].to_numpy()) for name in ("stimulus_id", "image_label")},
            "neuroid_id": ("neuroid", [f"simulated-{number}" for number in range(N_NEUROIDS)]),
            "region": ("neuroid", [REGION] * N_NEUROIDS),
        },
        dims=["presentation", "neuroid"],
    )
    assembly.attrs.update(stimulus_set=stimuli, simulated=True)
    return NeuralBenchmark(
        identifier=IDENTIFIER,
        version=1,
        assembly=assembly,
        similarity_metric=load_metric("ridgecv", crossvalidation_kwargs={"stratification_coord": "image_label"}),
        visual_degrees=visual_degrees,
        number_of_trials=1,
        ceiling=1.0,
        parent=REGION,
    )
