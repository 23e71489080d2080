"""Time the metrics of this project and of the published system on the same arrays, one thread each, and write a table.

Every measurement runs in a process of its own, in turn with the other system's: a call on small arrays first, which
loads libraries, then the one that counts; the best of ``--calls`` such processes.
"""

import os
import sys
import time

import made_up_data
from harness import (
    QUICK,
    Case,
    ask,
    cpu_of_tree,
    markdown,
    measure_cases,
    memory_mib,
    ratio_of,
    reset_peak,
    seconds,
    times_of,
    verdict,
)

THREADED = {  # with one thread and with two: sizes, title and how many times faster two are to be
    "gram": ((3200, 25088), "Gram step 3200x25088", 1.7),
    "predictions": ((1000, 5000), "ten splits of PLS 1000x5000x168", None),
}


def of_metric(name, data, times, *, by="cpu_s", most_mib=None):
    """Return a case by its name, metric and sizes: its data, targets, and the number that counts."""
    sizes = tuple(map(int, name.rpartition("-")[2].split("x")))
    return {name: Case("", times, data=(name.rpartition("-")[0], data, sizes, by, most_mib))}


CASES = {
    **of_metric("pls-200x1000x50", "pair", 10),
    **of_metric("pls-1000x5000x150", "pair", 20),
    **of_metric("pls-3200x1000x168", "pair", 35),
    **of_metric("pls-3200x5000x168", "pair", 35),
    **of_metric("pls-3200x25088x168", "pair", 40, most_mib=1.5e9 / 2**20),
    **of_metric("ridge-200x1000x50", "pair", 25),
    **of_metric("ridge-1000x5000x150", "pair", 8),
    **of_metric("ridge-3200x1000x168", "pair", 8),
    **of_metric("ridge-3200x5000x168", "pair", 4),
    **of_metric("linear_predictivity-1000x5000x150", "pair", 10),
    **of_metric("neuron_to_neuron-1000x5000x150", "pair", 150),
    **of_metric("ridgecv_split-900x5000x5000", "fixed_split", 6),
    **of_metric("internal_consistency-2560x28x168", "trials", 50),
    **of_metric("i2n-160x12x10000", "matching", 20),
    **of_metric("cka-3200x1000x168", "pair", 4),
    **of_metric("cka_biased-3200x1000x168", "pair", 30),
    **of_metric("rdm-3200x1000x168", "pair", 1.5),
    **of_metric("spantime_pls-200x500x50x5", "over_time", 10, by="wall_s"),
    **of_metric("spantime_ridge-200x500x50x5", "over_time", 10, by="wall_s"),
    **of_metric("benchmark-400x4096x50x10", "benchmark", 15),
    **{f"{step}-{threads}": Case("", peer=False) for step in THREADED for threads in (1, 2)},
}
SMALL = {  # parts of nine test stimuli hold all eight objects, which the published system needs
    "pair": (90, 40, 5),
    "fixed_split": (90, 40, 5),
    "trials": (90, 4, 5),
    "matching": (20, 4, 400),
    "over_time": (90, 40, 3, 2),
    "benchmark": (90, 40, 5, 4),
}


def measure(name, _folder):
    kind, _, case = name.partition("-")
    return measure_threads(kind, case) if kind in THREADED else measure_metric(name)


def prepare(case, sizes):
    """Return a function that computes the score of a case on data of some sizes."""
    metric, data, *_ = CASES[case].data
    arguments = getattr(made_up_data, data)(*sizes)
    if metric == "benchmark":
        scored, candidate = arguments
        return lambda: scored(candidate)
    from brainscore_vision import load_metric

    return lambda: load_metric(metric)(*arguments)


def measure_metric(case):
    import numpy as np

    _, data, sizes, *_ = CASES[case].data
    prepare(case, SMALL[data])()  # loads libraries
    compute = prepare(case, SMALL[data] if QUICK else sizes)
    before = memory_mib("VmRSS")
    reset_peak()
    wall, cpu = time.perf_counter(), cpu_of_tree()
    score = compute()
    times = {"wall_s": time.perf_counter() - wall, "cpu_s": cpu_of_tree() - cpu}
    values = np.asarray(score, dtype=float).tolist()
    return {**times, "score": values, "before_mib": before, "peak_mib": memory_mib("VmHWM")}


def measure_threads(kind, threads):
    """Return the time of a step, and some of its values, in another process with a number of threads."""
    if threads != "step":
        os.sched_setaffinity(0, range(os.cpu_count()))
        return ask(sys.executable, __file__, "--measure", f"{kind}-step", ".", threads=int(threads))
    import numpy as np

    from brainscore_vision.metric_helpers.arrays.regression.linear_maps import centred_gram
    from brainscore_vision.metric_helpers.arrays.regression.pls import pls_predict_splits

    n, p = (100, 100) if QUICK else THREADED[kind][0]
    rng = np.random.default_rng(0)
    source = rng.normal(size=(n, p))
    target = source[:, :50] @ rng.normal(size=(50, 168)) + rng.normal(size=(n, 168))
    splits = [(np.delete(np.arange(n), part), part) for part in np.array_split(np.arange(n), 10)]
    steps = {
        "gram": lambda: centred_gram(source),
        "predictions": lambda: np.concatenate(pls_predict_splits(source, target, splits)),
    }
    values = steps[kind]()[:: n // 10, 0].tolist()
    return {"cpu_s": min(times_of(steps[kind], by="wall_s")), "values": values}


def row(name, result):
    import numpy as np

    here, peer = result["here"], result.get("peer")
    *_, by, most_mib = CASES[name].data
    ratio, compared = ratio_of(result, by), ["-", "-", "-"]
    if peer:
        difference = np.max(np.abs(np.asarray(peer["score"]) - np.asarray(here["score"])))
        compared = [f"{ratio:.1f}", f"{difference:.0e}", f"{peer['peak_mib']:.0f}"]
    verdicts = [verdict(ratio, CASES[name].times)]
    if most_mib:
        verdicts.append(f"peak {verdict(here['peak_mib'], most_mib, at_most=True)}")
    title = name if by == "cpu_s" else f"{name} (by wall clock)"
    peak = f"{here['peak_mib']:.0f} ({here['before_mib']:.0f} before)"
    return [title, seconds(peer), seconds(here), *compared, peak, ", ".join(verdicts)]


def table(results):
    import numpy as np

    head = ["case", "peer, s CPU / wall", "here, s CPU / wall", "times faster", "difference of scores"]
    head += ["peak peer, MiB", "peak here, MiB", "target"]
    tables = [markdown(head, [row(name, results[name]) for name in CASES if CASES[name].data and name in results])]
    rows = []
    for step, (_, title, target) in THREADED.items():
        one, two = (results.get(f"{step}-{threads}", {}).get("here") for threads in (1, 2))
        if one and two:
            ratio, cell = one["cpu_s"] / two["cpu_s"], ""
            if "values" in one:
                values = [np.array(answer["values"]) for answer in (one, two)]
                cell = f", values differ by {np.abs(values[0] - values[1]).max() / np.abs(values[0]).max():.1e}"
            row_of = [f"{title}, two threads against one", f"{ratio:.2f} x{cell}", verdict(ratio, target, unit=" x")]
            rows.append(row_of)
    if rows:
        tables.append(markdown(["beside the kernel", "measured", "target"], rows))
    return "\n\n".join(tables)


if __name__ == "__main__":
    measure_cases(__doc__, CASES, measure, table=table, title="Metrics", how="one thread, best of 2 processes.")
