"""Measure memory and speed of an extraction that is larger than the memory it may take.

A layer that costs next to nothing is recorded for many stimuli with a small budget (BRAINSCORE_MEMORY_GB), so that the
activations lie in a memory-mapped file. Prints wall time, bytes per second, the speed at which this disk takes a plain
file of the same bytes in the same run, before and after, and the peak of the resident memory, the interpreter and its
libraries included; then the same call again from the cache. With ``--metric`` the result is also scored against made-up
neuroids. Fails above ``--limit`` GiB or below half of the disk's speed, the mean of before and after.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import memory_mib, options_of, say, size, timed
from made_up_data import neuroid_assembly, stimulus_set

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


def score(identifier, activations, stimuli, neuroids):
    """Score activations on made-up responses with the same hidden variables."""
    from brainscore_vision import load_metric

    n = len(activations)
    rng = np.random.default_rng(2)
    hidden = np.sin(np.outer(np.arange(n), np.arange(1, 21)) * 0.37)
    responses = hidden @ rng.normal(size=(20, neuroids)) + rng.normal(size=(n, neuroids))
    return float(load_metric(identifier)(activations, neuroid_assembly(responses, n, stimuli=stimuli)[::-1]))


def measure(folder, options):
    from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper

    n = options.stimuli
    paths = [folder / f"stimulus{number:05d}.txt" for number in range(n)]
    for number, path in enumerate(paths):
        path.write_text(str(number))
    stimuli = stimulus_set(paths)
    extractor = ActivationsExtractorHelper(
        cheap_layer(options.features), read_numbers, "cheap", batch_size=BATCH, model_digest=lambda: "cheap"
    )
    size_bytes = n * options.features * 4
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
        "shape": [n, options.features],
        "gb": round(size_bytes / 1e9, 2),
        "cold_s": round(cold["wall_s"], 2),
        "cold_cpu_s": round(cold["cpu_s"], 2),
        "mb_per_s": round(size_bytes / cold["wall_s"] / 1e6),
        "disk_mb_per_s": [round(speed / 1e6) for speed in (before, after)],
        "of_disk_speed": round(size_bytes / cold["wall_s"] * 2 / (before + after), 3),
        "cached_s": round(cached["wall_s"], 3),
        "extraction_peak_gib": round(memory_mib("VmHWM") / 1024, 3),
    }
    if options.metric:
        with timed() as spent:
            result["score"] = round(score(options.metric, activations, stimuli, options.neuroids), 4)
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
    options = options_of(
        __doc__,
        stimuli=size(5_000, 100),
        features=size(500_000, 50_000),
        budget=("1", "BRAINSCORE_MEMORY_GB"),
        limit=(4.0, "fail above so many GiB"),
        metric=(None, "also score the result with this metric, such as pls or ridge"),
        neuroids=100,
        folder=(None, "on the disk to measure; default: that of temporary files"),
    )
    with tempfile.TemporaryDirectory(prefix="brainscore-perf-", dir=options.folder) as folder:
        os.environ.update(BRAINSCORE_HOME=folder, BRAINSCORE_MEMORY_GB=options.budget, BRAINSCORE_CACHE_GB="1000")
        result = measure(Path(folder), options)
    say(result)
    if result["peak_gib"] > options.limit:
        sys.exit(f"The peak of {result['peak_gib']} GiB is above the limit of {options.limit} GiB.")
    if result["of_disk_speed"] < size(50, 0) / 100:
        sys.exit(f"{result['of_disk_speed']:.0%} of the disk's write speed were reached; expected at least 50 %.")
