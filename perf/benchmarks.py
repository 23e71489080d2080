"""Time benchmarks here and in the published system, each measurement in a process of its own on one processor.

``score``: a benchmark of the size of MajajHong2015 (3,200 stimuli, 168 neuroids, 28 repetitions, ten folds of PLS with
25 components, ceiling included) and a model of 1,000 features that are in the cache. ``readout``: labels
learned from more features than stimuli, as from pixels (600 x 60,000, 24 labels). ``load``: the benchmark of a name,
in a process that has imported xarray and pandas already, from an empty home and without data. CPU time counts, because
other work on the machine disturbs the clock on the wall; the least of some calls.
"""

import sys

from harness import Case, measure_cases, run, size, timed
from made_up_data import neural_benchmark, neuroid_assembly, pictures, stimulus_set

CASES = {
    "score": Case("score on 3,200 x 168, ten folds, ceiling included, features cached", times=10.0),
    "readout": Case("labels from 600 x 60,000 features, learned and told for 100 others"),
    "load": Case("benchmark by name without its data, the slowest of five families", most_s=0.1, peer=False),
}
STIMULI, NEUROIDS, REPETITIONS, FEATURES, SIDE_PX = size(3200, 320), 168, size(28, 4), 1000, 32
WIDE = size(60_000, 6_000)
LOADED = (
    "MajajHong2015public.IT-pls",
    "FreemanZiemba2013.V1-pls",
    "Kar2019-ost",
    "Rajalingham2018-i2n",
    "Geirhos2021edge-top1",
)


def measure_score(folder):
    """Score a model whose features are in the cache; the benchmark is new, its recordings are in memory."""
    from functools import partial

    import numpy as np
    import torch

    from brainscore_vision import load_metric
    from brainscore_vision.benchmark_helpers.neural_common import average_repetition
    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
    from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

    n_objects = size(64, 8)
    stimuli = stimulus_set(sorted(folder.glob("*.png")), n_objects=n_objects)
    rng = np.random.default_rng(1)
    signal = rng.normal(size=(STIMULI, 20)) @ rng.normal(size=(20, NEUROIDS))
    values = np.tile(signal, (REPETITIONS, 1)) + 10 * rng.normal(size=(REPETITIONS * STIMULI, NEUROIDS))
    repetitions = neuroid_assembly(values, STIMULI, REPETITIONS, stimuli=stimuli, n_objects=n_objects)
    benchmark = neural_benchmark(
        average_repetition(repetitions),
        stimuli,
        lambda: load_metric("internal_consistency")(repetitions),
        crossvalidation_kwargs={"stratification_coord": "object_name"},
    )
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * SIDE_PX**2, FEATURES)).eval()
    wrapper = PytorchWrapper(network, partial(load_preprocess_images, image_size=SIDE_PX), "perf-linear")
    candidate = ModelCommitment("perf-linear", wrapper, layers=["1"], region_layer_map={"IT": "1"}, visual_degrees=8)
    candidate.start_recording("IT", time_bins=[(70, 170)])
    candidate.look_at(stimuli)
    with timed() as spent:
        score = benchmark(candidate)
    return {**spent, "score": float(score)}


def measure_readout(_folder):
    """Learn labels, as the task ``probabilities`` does."""
    import numpy as np
    import sklearn.linear_model  # noqa: F401 - imported here at the first fit, in the published system before

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision.model_helpers.brain_transformation.behavior import ProbabilitiesMapping

    rng = np.random.default_rng(2)
    labels = np.arange(700) % 24
    names = np.array([f"label{label}" for label in labels])
    latent = 3 * rng.normal(size=(24, 30))[labels] + rng.normal(size=(700, 30))
    features = latent @ rng.normal(size=(30, WIDE)) + rng.normal(size=(700, WIDE))
    coords = {"stimulus_id": ("presentation", [f"s{n}" for n in range(700)]), "label": ("presentation", names)}
    coords |= {"neuroid_id": ("neuroid", np.arange(WIDE)), "layer": ("neuroid", ["x"] * WIDE)}
    features = NeuroidAssembly(features, coords=coords, dims=["presentation", "neuroid"])
    classifier = ProbabilitiesMapping.ProbabilitiesClassifier()
    with timed() as spent:
        classifier.fit(features[:600], features[:600]["label"])
        answers = classifier.predict_proba(features[600:])
    chosen = answers["choice"].values[answers.values.argmax(axis=1)]
    return {**spent, "correct": float((chosen == names[600:]).mean())}


def measure_load(_folder):
    """Load each benchmark in a process of its own; the slowest counts."""
    times = {}
    for identifier in LOADED:
        code = (
            "import time, pandas, xarray, brainscore_vision\n"
            "cpu, wall = time.process_time(), time.perf_counter()\n"
            f"brainscore_vision.load_benchmark({identifier!r})\n"
            "print(time.process_time() - cpu, time.perf_counter() - wall)"
        )
        times[identifier] = [*map(float, run(sys.executable, "-c", code)[1].split())]
    slowest = max(times, key=times.get)
    return {"cpu_s": times[slowest][0], "wall_s": times[slowest][1], "slowest": slowest}


if __name__ == "__main__":
    measure_cases(
        __doc__,
        CASES,
        lambda case, folder: globals()[f"measure_{case}"](folder),
        prepare=lambda folder: pictures(folder, STIMULI, SIDE_PX),
        title="Benchmarks",
    )
