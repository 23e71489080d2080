"""Time benchmarks here and in the published system, each measurement in a process of its own on one processor.

    python perf/benchmarks.py --peer /path/to/peer/bin/python      # all, results/benchmarks.json and RESULTS.md
    python perf/benchmarks.py --only load                          # one measurement anew

``score``: a benchmark of the size of MajajHong2015 (3,200 stimuli, 168 neuroids, 28 repetitions, ten folds of PLS with
25 components, ceiling included) and a model of 1,000 features that are in the cache. ``readout``: labels
learned from more features than stimuli, as from pixels (600 x 60,000, 24 labels). ``load``: the benchmark of a name,
in a process that has imported xarray and pandas already, from an empty home and without data. CPU time counts, because
other work on the machine disturbs the clock on the wall; the least of some calls.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from harness import compare, keep, markdown, options_of, ratio_of, read, say, seconds, timed, verdict

# What is measured, by whom, and what it shall be: how many times faster, or at most how many seconds of CPU time.
MEASURES = {
    "score": ("score on 3,200 x 168, ten folds, ceiling included, features cached", ("here", "peer"), {"times": 10.0}),
    "readout": ("labels from 600 x 60,000 features, learned and told for 100 others", ("here", "peer"), {}),
    "load": ("benchmark by name without its data, the slowest of five families", ("here",), {"seconds": 0.1}),
}
STIMULI, NEUROIDS, REPETITIONS, FEATURES, SIDE_PX = 3200, 168, 28, 1000, 32
LOADED = (
    "MajajHong2015public.IT-pls",
    "FreemanZiemba2013.V1-pls",
    "Kar2019-ost",
    "Rajalingham2018-i2n",
    "Geirhos2021edge-top1",
)


# -- one measurement, in a process of its own; with either system ------------------------------------------------------


def measure_score(folder):
    """Score a model whose features are in the cache; the benchmark is new, its recordings are in memory."""
    from brainscore_vision import load_metric
    from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, average_repetition

    stimuli = write_stimuli(folder)
    repetitions = recordings(stimuli)
    assembly = average_repetition(repetitions)
    benchmark = NeuralBenchmark(
        identifier="perf.IT-pls", version=1, assembly=assembly, visual_degrees=8, number_of_trials=50, parent="IT",
        similarity_metric=load_metric("pls", crossvalidation_kwargs={"stratification_coord": "object_name"}),
        ceiling_func=lambda: load_metric("internal_consistency")(repetitions), bibtex="",
    )  # fmt: skip
    candidate = model()
    candidate.start_recording("IT", time_bins=[(70, 170)])
    candidate.look_at(stimuli)
    with timed() as spent:
        score = benchmark(candidate)
    return {**spent, "score": float(score)}


def write_stimuli(folder):
    import numpy as np
    from PIL import Image

    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

    rng, paths = np.random.default_rng(0), {}
    for number in range(STIMULI):
        paths[f"s{number:04d}"] = Path(folder) / f"s{number:04d}.png"
        Image.fromarray(rng.integers(0, 256, (SIDE_PX, SIDE_PX, 3), dtype=np.uint8)).save(paths[f"s{number:04d}"])
    stimuli = StimulusSet({"stimulus_id": list(paths), "object_name": [f"o{number % 64}" for number in range(STIMULI)]})
    stimuli.stimulus_paths, stimuli.identifier = paths, "perf-benchmarks"
    return stimuli


def recordings(stimuli):
    import numpy as np

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

    rng = np.random.default_rng(1)
    signal = rng.normal(size=(STIMULI, 20)) @ rng.normal(size=(20, NEUROIDS))
    values = np.tile(signal, (REPETITIONS, 1)) + 10 * rng.normal(size=(REPETITIONS * STIMULI, NEUROIDS))
    along = {name: ("presentation", np.tile(stimuli[name], REPETITIONS)) for name in ("stimulus_id", "object_name")}
    coords = {
        **along,
        "repetition": ("presentation", np.repeat(np.arange(REPETITIONS), STIMULI)),
        "neuroid_id": ("neuroid", np.arange(NEUROIDS)),
        "region": ("neuroid", ["IT"] * NEUROIDS),
        "time_bin_start": ("time_bin", [70]),
        "time_bin_end": ("time_bin", [170]),
    }
    made = NeuroidAssembly(values[:, :, None], coords=coords, dims=["presentation", "neuroid", "time_bin"])
    made.attrs["stimulus_set"], made.attrs["stimulus_set_identifier"] = stimuli, stimuli.identifier
    return made.squeeze("time_bin")


def model():
    """Make a network of one layer, with a region for it."""
    from functools import partial

    import torch

    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
    from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * SIDE_PX**2, FEATURES)).eval()
    wrapper = PytorchWrapper(network, partial(load_preprocess_images, image_size=SIDE_PX), "perf-linear")
    return ModelCommitment("perf-linear", wrapper, layers=["1"], region_layer_map={"IT": "1"}, visual_degrees=8)


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
    features = latent @ rng.normal(size=(30, 60_000)) + rng.normal(size=(700, 60_000))
    shown = {"stimulus_id": ("presentation", [f"s{n}" for n in range(700)]), "label": ("presentation", names)}
    coords = {**shown, "neuroid_id": ("neuroid", np.arange(60_000)), "layer": ("neuroid", ["x"] * 60_000)}
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
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        times[identifier] = [float(each) for each in done.stdout.split()]
    slowest = max(times, key=times.get)
    return {"cpu_s": times[slowest][0], "wall_s": times[slowest][1], "slowest": slowest}


def table(results):
    """Return the results as Markdown."""
    rows = []
    for what, (title, _systems, target) in MEASURES.items():
        if what in results:
            here, ratio = results[what]["here"], ratio_of(results[what])
            reached = verdict(ratio, target.get("times"))
            if "seconds" in target:
                reached = verdict(here["cpu_s"], target["seconds"], at_most=True, unit=" s")
            cells = [title, seconds(results[what].get("peer")), seconds(here)]
            rows.append([*cells, f"{ratio:.1f}" if ratio else "-", reached])
    return markdown(["what", "peer, s CPU / wall", "here, s CPU / wall", "times faster", "target"], rows)


def main():
    """Measure and write the table."""
    options = options_of(__doc__, MEASURES)
    if options.measure:
        with tempfile.TemporaryDirectory() as folder:
            say(globals()[f"measure_{options.measure[0]}"](folder))
        return
    systems = {what: systems for what, (_title, systems, _target) in MEASURES.items()}
    results = {**(read("benchmarks") if options.only else {}), **compare(__file__, systems, options)}
    how = "`python perf/benchmarks.py --peer PYTHON`, one thread."
    keep("benchmarks", results, title="Benchmarks", text=f"{how}\n\n{table(results)}")
    print(table(results))


if __name__ == "__main__":
    main()
