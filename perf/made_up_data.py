"""Make the seeded stimuli, recordings and benchmarks that scripts measure on; both systems run this."""

import importlib.util
import sys
from pathlib import Path

from harness import memory_mib, timed

ROOT = Path(__file__).resolve().parents[1]


def load_file(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module  # activations are only cached of code that can be found again
    specification.loader.exec_module(module)
    return module


LAYERS = ("maxpool", "layer1", "layer2", "layer3", "layer4", "fc")  # of the networks below


def resnet(name="resnet18"):
    """Make a network of our own code with seeded weights."""
    import torch

    torch.manual_seed(0)
    file = ROOT / "vision/brainscore_vision/model_helpers/architectures/resnet.py"
    return getattr(load_file(file), name)().eval()


def extract(paths, network, side_px=224, batch=50):
    """Record six layers of a network for pictures; return times, peak memory, the sum of all values and their shape."""
    from functools import partial

    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images

    prepare = partial(load_preprocess_images, image_size=side_px)
    wrapper = PytorchWrapper(network, prepare, "perf-network", batch_size=batch)
    with timed() as spent:
        activations = wrapper(stimulus_set(paths), layers=list(LAYERS))
        total = float(activations.values.sum(dtype="float64"))
    return {**spent, "peak_mib": memory_mib("VmHWM"), "sum": total, "shape": list(activations.shape)}


def pictures(folder, n, side_px, suffix=".png"):
    """Write pictures whose amplitude falls with spatial frequency, like that of photographs (Field 1987)."""
    import numpy as np
    from PIL import Image

    rng, paths = np.random.default_rng(0), []
    frequency = np.hypot(np.fft.fftfreq(side_px)[:, None], np.fft.rfftfreq(side_px)[None, :])
    fall = 1 / np.maximum(frequency, 1 / side_px)
    for number in range(n):
        field = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((3, side_px, side_px))) * fall, s=(side_px, side_px))
        pixels = np.clip(128 + 45 * field / field.std(), 0, 255).astype(np.uint8).transpose(1, 2, 0)
        paths.append(Path(folder) / f"picture{number:04d}{suffix}")
        Image.fromarray(pixels).save(paths[-1], quality=90)
    return paths


def stimulus_set(paths, identifier="measured", n_objects=8):
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

    names = [Path(path).stem for path in paths]
    stimuli = StimulusSet({"stimulus_id": names, "object_name": [f"object{i % n_objects}" for i in range(len(names))]})
    stimuli.stimulus_paths, stimuli.identifier = dict(zip(names, paths, strict=True)), identifier
    return stimuli


def neuroid_assembly(values, n, times=1, *, region="IT", stimuli=None, n_objects=8):
    """Make an assembly of responses to `n` stimuli, shown `times` times."""
    import numpy as np

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

    names = [f"stimulus{number:05d}" for number in range(n)] if stimuli is None else stimuli["stimulus_id"].values
    coords = {
        "stimulus_id": ("presentation", np.tile(names, times)),
        "object_name": ("presentation", np.tile([f"object{number % n_objects}" for number in range(n)], times)),
        "repetition": ("presentation", np.repeat(np.arange(times), n)),
        "neuroid_id": ("neuroid", np.arange(values.shape[1])),
        "region": ("neuroid", [region] * values.shape[1]),
    }
    return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])


def with_time_bin(assembly):
    """Give an assembly the time bin of its recording, as a label."""
    from brainscore_core.supported_data_standards.brainio.assemblies import walk_coords

    coords = {name: (dims, values) for name, dims, values in walk_coords(assembly)}
    coords |= {"time_bin_start": ("time_bin", [70]), "time_bin_end": ("time_bin", [170])}
    dims = ["presentation", "neuroid", "time_bin"]
    return type(assembly)(assembly.values[..., None], coords=coords, dims=dims).squeeze("time_bin")


def neural_benchmark(average, stimuli, ceiling, region="IT", **metric):
    """Make a benchmark of averaged responses, scored with PLS; `metric` sets its arguments."""
    from brainscore_vision import load_metric
    from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark

    assembly = with_time_bin(average)
    assembly.attrs["stimulus_set"], assembly.attrs["stimulus_set_identifier"] = stimuli, stimuli.identifier
    return NeuralBenchmark(
        identifier=f"measured.{region}-pls", version=1, assembly=assembly, visual_degrees=8,
        similarity_metric=load_metric("pls", **metric), number_of_trials=1,
        ceiling_func=ceiling, parent=region, bibtex=None,
    )  # fmt: skip


# -- arguments of metrics ----------------------------------------------------------------------------------------------


def pair(n, p, q):
    import numpy as np

    rng = np.random.default_rng(0)
    rank = min(n, 100)
    latent = rng.normal(size=(n, rank)) * np.arange(1, rank + 1) ** -1.0
    signal = latent @ rng.normal(size=(rank, q))
    source = rng.normal(size=(n, p))
    source *= 0.05
    source += latent @ rng.normal(size=(rank, p))
    source += 1
    return [neuroid_assembly(source, n), neuroid_assembly(signal + rng.normal(size=signal.shape), n)]


def fixed_split(n, p, q):
    """Make a pair and divide it: 90 % of the stimuli for training."""
    both, parts = pair(n + n // 9, p, q), (slice(None, n), slice(n, None))
    return [assembly.isel(presentation=part) for assembly in both for part in parts]


def trials(n, repetitions, q):
    import numpy as np

    rng = np.random.default_rng(0)
    signal = rng.normal(size=(n, 20)) @ rng.normal(size=(20, q)) / 4
    values = signal + 2 * rng.normal(size=(repetitions, n, q))
    return [neuroid_assembly(values.reshape(-1, q), n, repetitions)]


def matching(n, classes, shown):
    """Make probabilities of a model and choices of people between two objects."""
    case = {"n": n, "classes": classes, "trials": shown, "signal": 1.0, "objects": classes}
    return published("match_to_sample", case)


def over_time(n, p, q, times):
    return published("temporal", {"n": n, "p": p, "q": q, "times": times, "noise": 1.0})


def published(maker, case):
    import numpy as np

    from brainscore_core.supported_data_standards.brainio import assemblies

    module = load_file(ROOT / "vision" / "tests" / "metric_helpers" / "fixtures" / "peer_data.py")
    return [module.assemble(table, assemblies) for table in getattr(module, maker)(case, np.random.default_rng(0))]


def benchmark(n, p, q, repetitions):
    """Make a neural benchmark with its ceiling, and a candidate whose features are there: to be scored in ten folds."""
    import numpy as np

    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision import load_metric
    from brainscore_vision.benchmark_helpers import PrecomputedFeatures
    from brainscore_vision.benchmark_helpers.neural_common import average_repetition

    rng = np.random.default_rng(0)
    source, target = pair(n, p, q)
    responses = np.concatenate([target.values + rng.normal(size=target.shape) for _ in range(repetitions)])
    recorded = neuroid_assembly(responses, n, repetitions)
    stimuli = StimulusSet({"stimulus_id": source["stimulus_id"].values})
    stimuli.identifier = f"Measured{n}"
    scored = neural_benchmark(
        average_repetition(recorded),
        stimuli,
        lambda: load_metric("internal_consistency")(recorded),
        crossvalidation_kwargs={"kfold": True, "splits": 10},
    )
    return [scored, PrecomputedFeatures(source, visual_degrees=8)]
