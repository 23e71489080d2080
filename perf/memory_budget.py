"""Measure how much memory and time a regression metric takes with features too large for the memory.

Features are computed block by block, from a seed for each block, and never exist as a whole. Prints the score, the time
and the peak of the resident memory, the interpreter and its libraries included; with ``--limit`` it fails above so many
GiB. A metric whose name ends in ``_split`` gets a given split, 90 % training.
"""

import sys

import numpy as np
from harness import memory_mib, options_of, reset_peak, say, size, timed
from made_up_data import neuroid_assembly

RANK = 10
BLOCK = 1000  # features made at once


def make_data(n, p, q, *, split=False):
    """Make features as a stream and neuroids that depend on the same hidden variables; for a split, two of each."""
    from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
    from brainscore_vision.metric_helpers.regression.sides import StreamedFeatures

    rng = np.random.default_rng(0)
    rank = min(n, RANK)
    latent = rng.normal(size=(n, rank)) * np.arange(1, rank + 1) ** -1.0
    responses = latent @ rng.normal(size=(rank, q)) + rng.normal(size=(n, q))
    small = latent.astype(np.float32)

    def blocks():
        for first in range(0, p, BLOCK):
            own = np.random.default_rng([1, first])
            width = min(BLOCK, p - first)
            block = own.random((n, width), dtype=np.float32)  # in a third of the time of normal ones
            block -= 0.5
            block *= 0.2
            block += small @ own.standard_normal((rank, width), dtype=np.float32)
            yield block

    features, target = ColumnBlocks(blocks, (n, p)), neuroid_assembly(responses, n)

    def part(rows):
        own = target[rows]
        ids, objects = (own[name].values for name in ("stimulus_id", "object_name"))
        return StreamedFeatures(ids, features.rows(rows), coords={"object_name": objects}), own

    if not split:
        return part(np.arange(n))
    sides = zip(part(np.arange(n)[: n * 9 // 10]), part(np.arange(n)[n * 9 // 10 :]), strict=True)
    return [assembly for side in sides for assembly in side]


if __name__ == "__main__":
    options = options_of(
        __doc__,
        metric=("pls", "regression metrics, separated by commas"),
        stimuli=size(5_000, 400),
        features=size(500_000, 4_000),
        neuroids=size(300, 20),
        limit=(float("inf"), "fail above so many GiB"),
    )
    from brainscore_vision import load_metric

    shape = [options.stimuli, options.features, options.neuroids]
    for name in options.metric.split(","):
        assemblies, metric = make_data(*shape, split=name.endswith("_split")), load_metric(name)
        reset_peak()
        with timed() as spent:
            score = metric(*assemblies)
        peak, times = memory_mib("VmHWM") / 1024, {clock: round(seconds, 2) for clock, seconds in spent.items()}
        say({"metric": name, "shape": shape, "score": float(score), **times, "peak_gib": round(peak, 3)})
        if peak > options.limit:
            sys.exit(f"The peak of {peak:.2f} GiB is above the limit of {options.limit} GiB.")
