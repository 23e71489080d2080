"""Time the metrics of this project and of the published system on the same arrays, one thread each, and write a table.

    python perf/metrics.py --peer /path/to/peer/bin/python                      # everything, results/metrics.json
    python perf/metrics.py --peer PYTHON --case pls-200x1000x50 --case i2n      # some, printed only
    python perf/metrics.py --peer PYTHON --run 2026-11-21 --case cka-3200       # some, into the results of that run
    python perf/metrics.py --gpu                                               # on CUDA, results/metrics_gpu.json

Every measurement runs in a process of its own, in turn with the other system's: a call on small arrays first, which
loads libraries, then the one that counts; the best of ``--calls`` such processes. The published system is asked again
only while it takes less than a minute. Results of a run are kept together: with the name of the run that is stored,
measurements of the published system are reused; with another name everything is measured anew.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import metric_cases
from data_standards import replace_section, reset_peak

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "metrics.json"
ON_GPU = HERE / "results" / "metrics_gpu.json"
TABLE = HERE / "RESULTS.md"
TITLE = "## Metrics"
PATIENCE_S = 60  # what the published system needs longer for is measured once

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
    before = resident("VmRSS")
    reset_peak()
    wall, cpu = time.perf_counter(), cpu_seconds()
    score = compute()
    answer = {"wall_s": time.perf_counter() - wall, "cpu_s": cpu_seconds() - cpu}
    return {
        **answer,
        "score": np.asarray(score, dtype=float).tolist(),
        "before_mib": before,
        "peak_mib": resident("VmHWM"),
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
    for pid, seconds in used.items():
        above = parents.get(pid)
        while above in parents and above != own:
            above = parents[above]
        total += seconds if above == own else 0.0
    return total


def resident(field):
    """Return a figure of this process's memory in MiB: `VmRSS` now, `VmHWM` at most since `reset_peak`."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) / 1024


# -- all measurements --------------------------------------------------------------------------------------------------


def ask(python, what, name, threads=1):
    """Have an interpreter measure something with some threads."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ, **limits,
            "BS_INSTALL_DEPENDENCIES": "no", "BRAINSCORE_HOME": folder, "RESULTCACHING_HOME": folder,
        }  # fmt: skip
        command = [python, "-W", "ignore", __file__, "--measure", what, name]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(name, peer, calls, known):
    """Measure a case with both systems in turn; the fastest of the calls of each counts."""
    found = {"here": None, "peer": known}
    for _ in range(calls):
        for who, python in (("here", sys.executable), ("peer", peer)):
            last = found[who]
            if python is None or (who == "peer" and last and (known or last["wall_s"] > PATIENCE_S)):
                continue
            new = ask(python, "case", name)
            by = CASES[name].get("by", "cpu_s")
            found[who] = new if last is None or new[by] < last[by] else last
    return {who: answer for who, answer in found.items() if answer}


def measure_rest():
    """Measure the overhead around the kernel and the Gram step with one and two threads."""
    gram = "x".join(map(str, GRAM))
    threads = {str(count): ask(sys.executable, "gram", gram, count)["wall_s"] for count in (1, 2)}
    return {"overhead": {name: ask(sys.executable, "overhead", name) for name in OVERHEAD}, "gram": threads}


def measure_gpu(calls):
    """Measure the largest case with CUDA, and its score with NumPy, both on this machine."""
    import torch

    if not torch.cuda.is_available():
        raise SystemExit("This machine has no CUDA device that torch can use.")
    os.environ["BRAINSCORE_ARRAY_BACKEND"] = "torch:cuda"
    found = [ask(sys.executable, "case", GPU_CASE) for _ in range(calls)]
    os.environ["BRAINSCORE_ARRAY_BACKEND"] = "numpy"
    reference = ask(sys.executable, "case", GPU_CASE)
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
    cells = [name if by == "cpu_s" else f"{name} (by wall clock)"]
    if peer:
        ratio = peer[by] / here[by]
        difference = np.max(np.abs(np.asarray(peer["score"]) - np.asarray(here["score"])))
        cells += [f"{peer['cpu_s']:.3g} / {peer['wall_s']:.3g}", f"{here['cpu_s']:.3g} / {here['wall_s']:.3g}"]
        cells += [f"{ratio:.1f}", f"{difference:.0e}", f"{peer['peak_mib']:.0f}"]
    else:
        cells += ["-", f"{here['cpu_s']:.3g} / {here['wall_s']:.3g}", "-", "-", "-"]
    cells += [f"{here['peak_mib']:.0f} ({here['before_mib']:.0f} before)"]
    verdicts = [f">= {case['target']}: {'?' if not peer else 'yes' if ratio >= case['target'] else 'no'}"]
    if "peak_mib" in case:
        verdicts.append(f"peak <= {case['peak_mib']:.0f}: {'yes' if here['peak_mib'] <= case['peak_mib'] else 'no'}")
    return [*cells, ", ".join(verdicts)]


def table(results):
    """Write the results as Markdown."""
    head = ["case", "peer, s CPU / wall", "here, s CPU / wall", "times faster", "difference of scores"]
    head += ["peak peer, MiB", "peak here, MiB", "target"]
    rows = [head, ["---"] * len(head)]
    rows += [row(name, results["cases"][name]) for name in CASES if name in results["cases"]]
    lines = ["| " + " | ".join(cells) + " |" for cells in rows]
    if "overhead" in results:
        lines += ["", "| beside the kernel | measured | target |", "|---|---|---|"]
        for name, (unit, limit) in OVERHEAD.items():
            found = results["overhead"][name]
            value = found["around_s"] * 1000 if unit == "ms" else 100 * found["around_s"] / found["total_s"]
            verdict = "yes" if value <= limit else "no"
            lines.append(f"| overhead around the kernel, {name} | {value:.3g} {unit} | <= {limit} {unit}: {verdict} |")
        ratio = results["gram"]["1"] / results["gram"]["2"]
        verdict = "yes" if ratio >= GRAM_TARGET else "no"
        what = "x".join(map(str, GRAM))
        lines.append(f"| Gram step {what}, two threads against one | {ratio:.2f} x | >= {GRAM_TARGET} x: {verdict} |")
    if ON_GPU.exists():
        found = json.loads(ON_GPU.read_text())
        fast, same = found["wall_s"] <= GPU_TARGET_S, found["difference"] <= GPU_DIFFERENCE
        said = (
            f"On {found['device']}, {found['case']} takes {found['wall_s']:.2f} s wall (<= {GPU_TARGET_S} s: "
            f"{'yes' if fast else 'no'}); with NumPy there, {found['numpy_wall_s']:.1f} s; the scores differ by "
            f"{found['difference']:.0e} (<= {GPU_DIFFERENCE:.0e}: {'yes' if same else 'no'})."
        )
        lines += ["", said]
    return "\n".join(lines)


def main():
    """Parse, measure, write the table."""
    parser = argparse.ArgumentParser(description="Time the metrics, beside those of the published system.")
    parser.add_argument("--case", action="append", choices=CASES, help="may be repeated; all without")
    parser.add_argument("--peer", metavar="PYTHON", help="interpreter with the published packages")
    parser.add_argument("--calls", type=int, default=2, help="the best of so many counts")
    parser.add_argument("--run", help="name of the run that results belong to; they are written then")
    parser.add_argument("--gpu", action="store_true", help="measure the largest case on CUDA, nothing else")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        what, name = options.measure
        print(json.dumps({"case": measure, "overhead": measure_overhead, "gram": measure_gram}[what](name)))
        return
    if options.gpu:
        answer = measure_gpu(options.calls)
        ON_GPU.write_text(json.dumps(answer, indent=1) + "\n")
        print(json.dumps(answer))
        return
    write = bool(options.run or (options.peer and not options.case))
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    run = options.run or time.strftime("%Y-%m-%d %H:%M")
    results = stored if stored.get("run") == run else {"run": run, "cases": {}}
    results |= {"calls": options.calls, "machine": f"{platform.machine()}, Python {platform.python_version()}"}
    for name in options.case or CASES:
        known = results["cases"].get(name, {}).get("peer")
        results["cases"][name] = compare(name, options.peer, options.calls, known)
        print("| " + " | ".join(row(name, results["cases"][name])) + " |", flush=True)
        if write:
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if not options.case:
        results |= measure_rest()
    if write:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        how = f"`python perf/metrics.py --peer PYTHON`, one thread, best of {options.calls} processes; {run}."
        TABLE.write_text(replace_section(TABLE.read_text(), TITLE, f"{how}\n\n{table(results)}"))
    print(table(results))


if __name__ == "__main__":
    main()
