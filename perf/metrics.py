"""Time the metrics of this project and of the published system on the same arrays, one thread each, and write a table.

    python perf/metrics.py --peer /path/to/peer/bin/python                      # everything, results/metrics.json
    python perf/metrics.py --peer PYTHON --only pls-200x1000x50 --only cka-3200 # some; the others stay as stored
    python perf/metrics.py --gpu                                               # on CUDA, results/metrics_gpu.json

Every measurement runs in a process of its own, in turn with the other system's: a call on small arrays first, which
loads libraries, then the one that counts; the best of ``--calls`` such processes.
"""

import os
import sys
import time
from pathlib import Path

import metric_cases
from harness import (
    ask,
    compare,
    keep,
    markdown,
    memory_mib,
    options_of,
    ratio_of,
    read,
    reset_peak,
    say,
    seconds,
    verdict,
)

# case: what is measured (metric, maker of the data, its sizes) and what is aimed at (times faster, peak in MiB)
CASES = {
    "pls-200x1000x50": {"metric": "pls", "data": "pair", "sizes": (200, 1000, 50), "target": 10},
    "pls-1000x5000x150": {"metric": "pls", "data": "pair", "sizes": (1000, 5000, 150), "target": 20},
    "pls-3200x1000x168": {"metric": "pls", "data": "pair", "sizes": (3200, 1000, 168), "target": 35},
    "pls-3200x5000x168": {"metric": "pls", "data": "pair", "sizes": (3200, 5000, 168), "target": 35},
    "pls-3200x25088x168": {
        "metric": "pls", "data": "pair", "sizes": (3200, 25088, 168), "target": 40, "peak_mib": 1.5e9 / 2**20,
    },
    "ridge-200x1000x50": {"metric": "ridge", "data": "pair", "sizes": (200, 1000, 50), "target": 25},
    "ridge-1000x5000x150": {"metric": "ridge", "data": "pair", "sizes": (1000, 5000, 150), "target": 8},
    "ridge-3200x1000x168": {"metric": "ridge", "data": "pair", "sizes": (3200, 1000, 168), "target": 8},
    "ridge-3200x5000x168": {"metric": "ridge", "data": "pair", "sizes": (3200, 5000, 168), "target": 4},
    "linear_predictivity-1000x5000x150": {
        "metric": "linear_predictivity", "data": "pair", "sizes": (1000, 5000, 150), "target": 10,
    },
    "neuron_to_neuron-1000x5000x150": {
        "metric": "neuron_to_neuron", "data": "pair", "sizes": (1000, 5000, 150), "target": 150,
    },
    "ridgecv_split-900x5000x5000": {
        "metric": "ridgecv_split", "data": "fixed_split", "sizes": (900, 5000, 5000), "target": 6,
    },
    "internal_consistency-2560x28x168": {
        "metric": "internal_consistency", "data": "trials", "sizes": (2560, 28, 168), "target": 50,
    },
    "i2n-160x12": {"metric": "i2n", "data": "matching", "sizes": (160, 12, 10_000), "target": 20},
    "cka-3200": {"metric": "cka", "data": "pair", "sizes": (3200, 1000, 168), "target": 4},
    "cka_biased-3200": {"metric": "cka_biased", "data": "pair", "sizes": (3200, 1000, 168), "target": 30},
    "rdm-3200": {"metric": "rdm", "data": "pair", "sizes": (3200, 1000, 168), "target": 1.5},
    "spantime_pls-200x500x50x5": {
        "metric": "spantime_pls", "data": "over_time", "sizes": (200, 500, 50, 5), "target": 10, "by": "wall_s",
    },
    "spantime_ridge-200x500x50x5": {
        "metric": "spantime_ridge", "data": "over_time", "sizes": (200, 500, 50, 5), "target": 10, "by": "wall_s",
    },
    "benchmark-400x4096x50": {"metric": None, "data": "benchmark", "sizes": (400, 4096, 50, 10), "target": 15},
}  # fmt: skip
SMALL = {  # parts of nine test stimuli hold all eight objects, which the published system needs
    "pair": (90, 40, 5),
    "fixed_split": (90, 40, 5),
    "trials": (90, 4, 5),
    "matching": (20, 4, 400),
    "over_time": (90, 40, 3, 2),
    "benchmark": (90, 40, 5, 4),
}
OVERHEAD = {"pls-200x1000x50": ("ms", 20), "pls-1000x5000x150": ("%", 5)}  # around the kernel, at most
GRAM = (3200, 25088)
GRAM_TARGET = 1.7
GPU_CASE, GPU_TARGET_S, GPU_DIFFERENCE = "pls-3200x25088x168", 1.5, 1e-6


# -- one measurement, in a process of its own --------------------------------------------------------------------------


def prepare(case, sizes):
    """Return a function that computes the score of a case on data of some sizes."""
    arguments = getattr(metric_cases, case["data"])(*sizes)
    if case["metric"] is None:
        scored, candidate = arguments
        return lambda: scored(candidate)
    from brainscore_vision import load_metric

    return lambda: load_metric(case["metric"])(*arguments)


def measure(name):
    """Return times, score and peak memory of one call."""
    import numpy as np

    case = CASES[name]
    prepare(case, SMALL[case["data"]])()
    compute = prepare(case, case["sizes"])
    before = memory_mib("VmRSS")
    reset_peak()
    wall, cpu = time.perf_counter(), cpu_seconds()
    score = compute()
    answer = {"wall_s": time.perf_counter() - wall, "cpu_s": cpu_seconds() - cpu}
    return {
        **answer,
        "score": np.asarray(score, dtype=float).tolist(),
        "before_mib": before,
        "peak_mib": memory_mib("VmHWM"),
    }


def measure_overhead(name):
    """Return the time of a call and what of it is not the kernel: alignment, checks, labels.

    The kernel is the regression of all splits and the correlation.
    """
    from brainscore_vision.metric_helpers.regression import estimators

    case, kernel = CASES[name], []

    def timed(function):
        def run(*arguments, **kwargs):
            start = time.process_time()
            try:
                return function(*arguments, **kwargs)
            finally:
                kernel.append(time.process_time() - start)

        return run

    estimators.PLS.predict_splits = timed(estimators.PLS.predict_splits)
    estimators.PearsonR.columns = staticmethod(timed(estimators.PearsonR.columns))
    prepare(case, SMALL[case["data"]])()
    compute, found = prepare(case, case["sizes"]), []
    for _ in range(5):
        kernel.clear()
        start = time.process_time()
        compute()
        total = time.process_time() - start
        if not kernel:
            raise SystemExit(f"{name} used another kernel than the one that is timed.")
        found.append({"total_s": total, "kernel_s": sum(kernel), "around_s": total - sum(kernel)})
    return min(found, key=lambda times: times["around_s"])


def measure_gram(name):
    """Return the wall time of the Gram step with as many threads as this process was given."""
    import numpy as np

    from brainscore_vision.metric_helpers.arrays.regression.gram import centred_gram

    n, p = map(int, name.split("x"))
    source = np.random.default_rng(0).normal(size=(n, p))
    centred_gram(source[:100])
    times = []
    for _ in range(3):
        start = time.perf_counter()
        centred_gram(source)
        times.append(time.perf_counter() - start)
    return {"wall_s": min(times)}


def cpu_seconds():
    """Return the processor time of this process, of those that it started, and of theirs."""
    ticks = os.sysconf("SC_CLK_TCK")
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        pid = int(path.parent.name)
        parents[pid], used[pid] = int(fields[1]), (int(fields[11]) + int(fields[12])) / ticks
    own = os.getpid()
    ended = os.times()
    total = time.process_time() + ended.children_user + ended.children_system
    for pid, spent in used.items():
        above = parents.get(pid)
        while above in parents and above != own:
            above = parents[above]
        total += spent if above == own else 0.0
    return total


# -- all measurements --------------------------------------------------------------------------------------------------


def measure_rest():
    """Measure the overhead around the kernel and the Gram step with one and two threads."""
    command = (sys.executable, __file__, "--measure")
    gram = (*command, "gram", "x".join(map(str, GRAM)))
    threads = {str(count): ask(*gram, threads=count)["wall_s"] for count in (1, 2)}
    return {"overhead": {name: ask(*command, "overhead", name) for name in OVERHEAD}, "gram": threads}


def measure_gpu(calls):
    """Measure the largest case with CUDA, and its score with NumPy, both on this machine."""
    import torch

    if not torch.cuda.is_available():
        raise SystemExit("This machine has no CUDA device that torch can use.")
    command = (sys.executable, __file__, "--measure", GPU_CASE)
    found = [ask(*command, BRAINSCORE_ARRAY_BACKEND="torch:cuda") for _ in range(calls)]
    reference = ask(*command, BRAINSCORE_ARRAY_BACKEND="numpy")
    return {
        "case": GPU_CASE,
        "device": torch.cuda.get_device_name(),
        "wall_s": min(answer["wall_s"] for answer in found),
        "score": found[0]["score"],
        "difference": max(abs(answer["score"] - reference["score"]) for answer in found),
        "numpy_wall_s": reference["wall_s"],
    }


def row(name, result):
    """Return the cells of a case: times, ratio, difference of scores, peaks, verdicts."""
    import numpy as np

    case, here, peer = CASES[name], result["here"], result.get("peer")
    by = case.get("by", "cpu_s")
    ratio, compared = ratio_of(result, by), ["-", "-", "-"]
    if peer:
        difference = np.max(np.abs(np.asarray(peer["score"]) - np.asarray(here["score"])))
        compared = [f"{ratio:.1f}", f"{difference:.0e}", f"{peer['peak_mib']:.0f}"]
    verdicts = [verdict(ratio, case["target"])]
    if "peak_mib" in case:
        verdicts.append(f"peak {verdict(here['peak_mib'], case['peak_mib'], at_most=True)}")
    title = name if by == "cpu_s" else f"{name} (by wall clock)"
    peak = f"{here['peak_mib']:.0f} ({here['before_mib']:.0f} before)"
    return [title, seconds(peer), seconds(here), *compared, peak, ", ".join(verdicts)]


def table(results):
    """Return the results as Markdown."""
    head = ["case", "peer, s CPU / wall", "here, s CPU / wall", "times faster", "difference of scores"]
    head += ["peak peer, MiB", "peak here, MiB", "target"]
    tables = [markdown(head, [row(name, results["cases"][name]) for name in CASES if name in results["cases"]])]
    if "overhead" in results:
        rows = []
        for name, (unit, limit) in OVERHEAD.items():
            answer = results["overhead"][name]
            value = answer["around_s"] * 1000 if unit == "ms" else 100 * answer["around_s"] / answer["total_s"]
            reached = verdict(value, limit, at_most=True, unit=f" {unit}")
            rows.append([f"overhead around the kernel, {name}", f"{value:.3g} {unit}", reached])
        ratio = results["gram"]["1"] / results["gram"]["2"]
        title = f"Gram step {'x'.join(map(str, GRAM))}, two threads against one"
        rows.append([title, f"{ratio:.2f} x", verdict(ratio, GRAM_TARGET, unit=" x")])
        tables.append(markdown(["beside the kernel", "measured", "target"], rows))
    if gpu := read("metrics_gpu"):
        fast = verdict(gpu["wall_s"], GPU_TARGET_S, at_most=True, unit=" s")
        same = verdict(gpu["difference"], GPU_DIFFERENCE, at_most=True)
        tables.append(
            f"On {gpu['device']}, {gpu['case']} takes {gpu['wall_s']:.2f} s wall ({fast}); with NumPy there, "
            f"{gpu['numpy_wall_s']:.1f} s; the scores differ by {gpu['difference']:.0e} ({same})."
        )
    return "\n\n".join(tables)


def main():
    """Measure and write the table."""
    more = [("--gpu", {"action": "store_true", "help": "measure the largest case on CUDA, nothing else"})]
    options = options_of(__doc__, CASES, more=more)
    if options.measure:
        kinds = {"overhead": measure_overhead, "gram": measure_gram}
        say(kinds.get(options.measure[0], measure)(options.measure[-1]))
        return
    if options.gpu:
        answer = measure_gpu(options.calls)
        keep("metrics_gpu", answer)
        say(answer)
        return
    results = read("metrics") if options.only else {"cases": {}}
    results["cases"] |= compare(__file__, dict.fromkeys(CASES, ("here", "peer")), options)
    if not options.only:
        results |= {"calls": options.calls, **measure_rest()}
    how = f"`python perf/metrics.py --peer PYTHON`, one thread, best of {options.calls} processes."
    keep("metrics", results, title="Metrics", text=f"{how}\n\n{table(results)}")
    print(table(results))


if __name__ == "__main__":
    main()
