"""Measure how much memory and time a regression metric takes with features too large for the memory.

    python perf/memory_budget.py --metric pls
    python perf/memory_budget.py --metric ridge --stimuli 1000 --features 50000 --neuroids 100 --limit 1

Features are computed block by block, from a seed for each block, and never exist as a whole. Prints the score, the time
and the peak of the resident memory, the interpreter and its libraries included; with ``--limit`` it fails above so many
GiB. ``--split`` measures a metric with a given split, 90 % training.
"""

import argparse
import json
import sys

import numpy as np
from harness import memory_mib, timed

RANK = 100
BLOCK = 1000  # features made at once


def make_data(n, p, q, *, split=False):
    """Make features as a stream and neuroids that depend on the same hidden variables; for a split, two of each."""
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
    from brainscore_vision.metric_helpers.regression.streamed_features import StreamedFeatures

    rng = np.random.default_rng(0)
    rank = min(n, RANK)
    latent = rng.normal(size=(n, rank)) * np.arange(1, rank + 1) ** -1.0
    responses = latent @ rng.normal(size=(rank, q)) + rng.normal(size=(n, q))
    small = latent.astype(np.float32)

    def blocks():
        for first in range(0, p, BLOCK):
            own = np.random.default_rng([1, first])
            width = min(BLOCK, p - first)
            block = own.standard_normal((n, width), dtype=np.float32)
            block *= 0.05
            block += small @ own.standard_normal((rank, width), dtype=np.float32)
            yield block

    names = np.array([f"stimulus{i:05d}" for i in range(n)])
    objects = np.array([f"object{i % 8}" for i in range(n)])
    features = ColumnBlocks(blocks, (n, p))

    def part(rows):
        coords = {
            "stimulus_id": ("presentation", names[rows]),
            "object_name": ("presentation", objects[rows]),
            "neuroid_id": ("neuroid", np.arange(q)),
            "region": ("neuroid", np.full(q, "IT")),
        }
        source = StreamedFeatures(names[rows], features.rows(rows), coords={"object_name": objects[rows]})
        return source, NeuroidAssembly(responses[rows], coords=coords, dims=["presentation", "neuroid"])

    if not split:
        return part(np.arange(n))
    (source_train, target_train), (source_test, target_test) = (
        part(np.arange(n)[: n * 9 // 10]),
        part(np.arange(n)[n * 9 // 10 :]),
    )
    return source_train, source_test, target_train, target_test


def main():
    """Parse, measure, print one line of JSON."""
    parser = argparse.ArgumentParser(description="Measure memory and time of a metric on streamed features.")
    parser.add_argument("--metric", default="pls", help="identifier of a regression metric")
    parser.add_argument("--stimuli", type=int, default=5_000)
    parser.add_argument("--features", type=int, default=500_000)
    parser.add_argument("--neuroids", type=int, default=300)
    parser.add_argument("--limit", type=float, help="fail above so many GiB")
    arguments = parser.parse_args()

    from brainscore_vision import load_metric

    assemblies = make_data(
        arguments.stimuli, arguments.features, arguments.neuroids, split=arguments.metric.endswith("_split")
    )
    metric = load_metric(arguments.metric)
    with timed() as spent:
        score = metric(*assemblies)
    peak = memory_mib("VmHWM") / 1024
    result = {
        "metric": arguments.metric,
        "shape": [arguments.stimuli, arguments.features, arguments.neuroids],
        "score": float(score),
        **{name: round(value, 2) for name, value in spent.items()},
        "peak_gib": round(peak, 3),
    }
    print(json.dumps(result))
    if arguments.limit is not None and peak > arguments.limit:
        sys.exit(f"The peak of {peak:.2f} GiB is above the limit of {arguments.limit} GiB.")


if __name__ == "__main__":
    main()
