"""Make the seeded data that `metrics.py` measures on; both systems run this."""

import importlib.util
from pathlib import Path

MAKERS = Path(__file__).parents[1] / "vision" / "tests" / "metric_helpers" / "fixtures" / "peer_data.py"


def neuroid_assembly(values, n, times=1):
    """Make an assembly of responses to `n` stimuli, shown `times` times."""
    import numpy as np

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

    coords = {
        "stimulus_id": ("presentation", np.tile([f"stimulus{i:05d}" for i in range(n)], times)),
        "object_name": ("presentation", np.tile([f"object{i % 8}" for i in range(n)], times)),
        "repetition": ("presentation", np.repeat(np.arange(times), n)),
        "neuroid_id": ("neuroid", np.arange(values.shape[1])),
        "region": ("neuroid", ["IT"] * values.shape[1]),
    }
    return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])


def pair(n, p, q):
    """Make features with a decaying spectrum and neuroids that depend on them."""
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
    source, target = pair(n + n // 9, p, q)
    return [
        assembly.isel(presentation=part) for assembly in (source, target) for part in (slice(None, n), slice(n, None))
    ]


def trials(n, repetitions, q):
    """Make repeated responses."""
    import numpy as np

    rng = np.random.default_rng(0)
    signal = rng.normal(size=(n, 20)) @ rng.normal(size=(20, q)) / 4
    values = signal + 2 * rng.normal(size=(repetitions, n, q))
    return [neuroid_assembly(values.reshape(-1, q), n, repetitions)]


def matching(n, classes, shown):
    """Make probabilities of a model and choices of people between two objects."""
    return published(
        "match_to_sample", {"n": n, "classes": classes, "trials": shown, "signal": 1.0, "objects": classes}
    )


def over_time(n, p, q, times):
    """Make features and responses in several time bins."""
    return published("temporal", {"n": n, "p": p, "q": q, "times": times, "noise": 1.0})


def published(maker, case):
    """Make assemblies as the comparison of scores does."""
    import numpy as np

    from brainscore_core.supported_data_standards.brainio import assemblies

    specification = importlib.util.spec_from_file_location("peer_data", MAKERS)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return [module.assemble(table, assemblies) for table in getattr(module, maker)(case, np.random.default_rng(0))]


def with_time_bin(assembly):
    """Give an assembly the time bin of its recording, as a label."""
    from brainscore_core.supported_data_standards.brainio.assemblies import walk_coords

    coords = {name: (dims, values) for name, dims, values in walk_coords(assembly)}
    coords |= {"time_bin_start": ("time_bin", [70]), "time_bin_end": ("time_bin", [170])}
    dims = ["presentation", "neuroid", "time_bin"]
    return type(assembly)(assembly.values[..., None], coords=coords, dims=dims).squeeze("time_bin")


def benchmark(n, p, q, repetitions):
    """Make a neural benchmark with its ceiling, and a candidate whose features are there: to be scored in ten folds."""
    import numpy as np

    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision import load_metric
    from brainscore_vision.benchmark_helpers import PrecomputedFeatures
    from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, average_repetition

    rng = np.random.default_rng(0)
    source, target = pair(n, p, q)
    shown = np.concatenate([target.values + rng.normal(size=target.shape) for _ in range(repetitions)])
    recorded = neuroid_assembly(shown, n, repetitions)
    averaged = with_time_bin(average_repetition(recorded))
    stimuli = StimulusSet({"stimulus_id": source["stimulus_id"].values})
    stimuli.identifier = f"Measured{n}"
    averaged.attrs["stimulus_set"] = stimuli
    folds = {"kfold": True, "splits": 10}
    scored = NeuralBenchmark(
        identifier=f"Measured{n}.IT-pls",
        version=1,
        assembly=averaged,
        similarity_metric=load_metric("pls", crossvalidation_kwargs=folds),
        visual_degrees=8,
        number_of_trials=1,
        ceiling_func=lambda: load_metric("internal_consistency")(recorded),
        parent="IT",
        bibtex=None,
    )
    return [scored, PrecomputedFeatures(source, visual_degrees=8)]
