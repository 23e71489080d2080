"""Measure memory and speed of an extraction that is larger than the memory it may take.

    python perf/extraction_memory.py
    python perf/extraction_memory.py --stimuli 1000 --features 100000 --limit 2
    python perf/extraction_memory.py --metric ridge --stimuli 1000 --features 100000 --neuroids 50

A layer that costs next to nothing is recorded for many stimuli with a small budget (BRAINSCORE_MEMORY_GB), so that the
activations lie in a memory-mapped file. Prints wall time, bytes per second, the speed at which this disk takes a plain
file of the same bytes in the same run, before and after, and the peak of the resident memory, the interpreter and its
libraries included; then the same call again from the cache. With ``--metric`` the result is also scored against made-up
neuroids. Fails above ``--limit`` GiB or below half of the disk's speed, the mean of before and after.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import memory_mib, timed

BATCH = 50


def disk_speed(folder, size_bytes):
    """Write a plain file of so many bytes, in pieces as large as a batch, and see it on the disk; return bytes/s."""
    piece = np.random.default_rng(0).standard_normal(2**22, dtype=np.float32).tobytes()  # 16 MiB
    path = Path(folder) / "plain.bin"
    with timed() as spent, path.open("wb", buffering=0) as stream:
        for _ in range(size_bytes // len(piece)):
            stream.write(piece)
        os.fsync(stream.fileno())
    path.unlink()
    return size_bytes // len(piece) * len(piece) / spent["wall_s"]


def cheap_layer(features):
    """Return a model of one layer whose activations differ from stimulus to stimulus and cost one product each."""
    basis = np.random.default_rng(1).standard_normal(features, dtype=np.float32)

    def get_activations(numbers, layer_names):
        # A product of two bounded functions, of rank 20, so that a metric has something to find.
        rows = np.sin(np.outer(numbers, np.arange(1, 21)) * 0.37).astype(np.float32)
        values = np.empty((len(rows), features), np.float32)
        width = -(-features // 20)
        for index in range(20):
            here = slice(index * width, (index + 1) * width)
            np.multiply.outer(rows[:, index], basis[here], out=values[:, here])
        return dict.fromkeys(layer_names, values)

    return get_activations


def score(metric, activations, neuroids):
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision import load_metric

    n = activations.shape[0]
    rng = np.random.default_rng(2)
    hidden = np.sin(np.outer(np.arange(n), np.arange(1, 21)) * 0.37)
    responses = hidden @ rng.normal(size=(20, neuroids)) + rng.normal(size=(n, neuroids))
    coords = {
        "stimulus_id": ("presentation", activations["stimulus_id"].values),
        "object_name": ("presentation", activations["object_name"].values),
        "neuroid_id": ("neuroid", np.arange(neuroids)),
        "region": ("neuroid", np.full(neuroids, "IT")),
    }
    target = NeuroidAssembly(responses, coords=coords, dims=["presentation", "neuroid"])
    return float(load_metric(metric)(activations, target[::-1]))


def main():
    """Parse, measure, print one line of JSON."""
    parser = argparse.ArgumentParser(description="Measure memory and speed of an extraction larger than the memory.")
    parser.add_argument("--stimuli", type=int, default=5_000)
    parser.add_argument("--features", type=int, default=500_000)
    parser.add_argument("--budget", default="1", help="BRAINSCORE_MEMORY_GB")
    parser.add_argument("--limit", type=float, default=4, help="fail above so many GiB")
    parser.add_argument("--metric", help="also score the result with this metric, such as pls or ridge")
    parser.add_argument("--neuroids", type=int, default=100)
    parser.add_argument("--folder", help="on the disk to measure; default: that of temporary files")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="brainscore-perf-", dir=arguments.folder) as folder:
        os.environ.update(BRAINSCORE_HOME=folder, BRAINSCORE_MEMORY_GB=arguments.budget, BRAINSCORE_CACHE_GB="1000")
        result = measure(Path(folder), arguments)
    print(json.dumps(result))
    if result["peak_gib"] > arguments.limit:
        sys.exit(f"The peak of {result['peak_gib']} GiB is above the limit of {arguments.limit} GiB.")
    if result["of_disk_speed"] < 0.5:
        sys.exit(f"{result['of_disk_speed']:.0%} of the disk's write speed were reached; expected at least 50 %.")


def measure(folder, arguments):
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper

    n = arguments.stimuli
    names = [f"stimulus{number:05d}" for number in range(n)]
    stimuli = StimulusSet({"stimulus_id": names, "object_name": [f"object{number % 8}" for number in range(n)]})
    stimuli.stimulus_paths = {name: folder / f"{name}.txt" for name in names}
    for number, path in enumerate(stimuli.stimulus_paths.values()):
        path.write_text(str(number))

    extractor = ActivationsExtractorHelper(
        cheap_layer(arguments.features), read_numbers, "cheap", batch_size=BATCH, model_digest=lambda: "cheap"
    )
    size_bytes = n * arguments.features * 4
    before = disk_speed(folder, size_bytes)
    with timed() as cold:
        extractor(stimuli, ["layer"])
        for path in folder.glob("cache/activations/**/values.npy"):
            with path.open("rb") as stream:
                os.fsync(stream.fileno())  # all of it on the disk, as with the plain file
    after = disk_speed(folder, size_bytes)
    with timed() as cached:
        activations = extractor(stimuli, ["layer"])
    result = {
        "shape": [n, arguments.features],
        "gb": round(size_bytes / 1e9, 2),
        "cold_s": round(cold["wall_s"], 2),
        "cold_cpu_s": round(cold["cpu_s"], 2),
        "mb_per_s": round(size_bytes / cold["wall_s"] / 1e6),
        "disk_mb_per_s": [round(speed / 1e6) for speed in (before, after)],
        "of_disk_speed": round(size_bytes / cold["wall_s"] * 2 / (before + after), 3),
        "cached_s": round(cached["wall_s"], 3),
        "extraction_peak_gib": round(memory_mib("VmHWM") / 1024, 3),
    }
    if arguments.metric:
        with timed() as spent:
            result["score"] = round(score(arguments.metric, activations, arguments.neuroids), 4)
        result["metric_s"] = round(spent["wall_s"], 1)
    return {**result, "peak_gib": round(memory_mib("VmHWM") / 1024, 3)}


def read_numbers(paths):
    """Read the number that stands in each file; an image, such as the one that a digest is made with, is number 0."""
    numbers = []
    for path in paths:
        text = Path(path).read_bytes()
        numbers.append(int(text) if text.isdigit() else 0)
    return np.asarray(numbers)


if __name__ == "__main__":
    main()
