"""Time the metrics of this project and of the published system on the same arrays, one thread each.

    python perf/metrics.py --peer /path/to/peer/bin/python --case pls-200x1000x50 --output metrics.json

Every measurement runs in a process of its own: the best of some calls after a first call on small arrays that loads
libraries. Without ``--peer`` only this project is measured. The published system is brainscore_vision in an environment
of its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

# name: (metric, stimuli, features, neuroids, repetitions)
CASES = {
    "pls-200x1000x50": ("pls", 200, 1000, 50, 0),
    "pls-1000x5000x150": ("pls", 1000, 5000, 150, 0),
    "pls-3200x1000x168": ("pls", 3200, 1000, 168, 0),
    "pls-3200x5000x168": ("pls", 3200, 5000, 168, 0),
    "pls-3200x25088x168": ("pls", 3200, 25088, 168, 0),
    "ridge-200x1000x50": ("ridge", 200, 1000, 50, 0),
    "ridge-1000x5000x150": ("ridge", 1000, 5000, 150, 0),
    "ridge-3200x1000x168": ("ridge", 3200, 1000, 168, 0),
    "ridge-3200x5000x168": ("ridge", 3200, 5000, 168, 0),
    "rdm-3200x1000x168": ("rdm", 3200, 1000, 168, 0),
    "internal_consistency-2560x28x168": ("internal_consistency", 2560, 0, 168, 28),
}
SMALL = (90, 40, 5)  # a test part of nine holds all eight objects, which the published system needs


def make_assemblies(n, p, q, repetitions):
    """Make features with a decaying spectrum and neuroids that depend on them, seeded."""
    import numpy as np

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

    rng = np.random.default_rng(0)
    rank = min(n, 100)
    latent = rng.normal(size=(n, rank)) * np.arange(1, rank + 1) ** -1.0

    def assemble(values, times):
        coords = {
            "stimulus_id": ("presentation", np.tile([f"stimulus{i:05d}" for i in range(n)], times)),
            "object_name": ("presentation", np.tile([f"object{i % 8}" for i in range(n)], times)),
            "repetition": ("presentation", np.repeat(np.arange(times), n)),
            "neuroid_id": ("neuroid", np.arange(values.shape[1])),
            "region": ("neuroid", ["IT"] * values.shape[1]),
        }
        return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])

    signal = latent @ rng.normal(size=(rank, q))
    if repetitions:
        trials = signal + 2 * rng.normal(size=(repetitions, n, q))
        return [assemble(trials.reshape(-1, q), repetitions)]
    source = latent @ rng.normal(size=(rank, p)) + 0.05 * rng.normal(size=(n, p)) + 1
    return [assemble(source, 1), assemble(signal + rng.normal(size=signal.shape), 1)]


def measure(case, calls):
    """Measure in this process and print one line of JSON."""
    from brainscore_vision import load_metric

    name, n, p, q, repetitions = CASES[case]
    load_metric(name)(*make_assemblies(*SMALL, 4 if repetitions else 0))
    assemblies = make_assemblies(n, p, q, repetitions)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(calls):
        start = time.process_time()
        score = load_metric(name)(*assemblies)
        seconds.append(time.process_time() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"cpu_s": min(seconds), "score": float(score), "peak_kib": peak, "before_kib": before}))


def run(python, case, calls):
    """Measure a case with one interpreter and one thread."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    answer = subprocess.run(
        [python, __file__, "--measure", case, "--calls", str(calls)],
        env={**os.environ, **threads, "BS_INSTALL_DEPENDENCIES": "no"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(answer.stdout.splitlines()[-1])


def table(results):
    """Write the results as a Markdown table."""
    lines = [
        "| case | peer, CPU s | here, CPU s | ratio | difference of scores | peak here, MiB |",
        "|---|---|---|---|---|---|",
    ]
    for case, result in results.items():
        here, peer = result["here"], result.get("peer")
        compared = ["-", "-", "-"]
        if peer:
            difference = abs(peer["score"] - here["score"])
            compared = [f"{peer['cpu_s']:.3g}", f"{peer['cpu_s'] / here['cpu_s']:.1f}", f"{difference:.1e}"]
        peak = f"{here['peak_kib'] / 1024:.0f}"
        lines.append(f"| {case} | {compared[0]} | {here['cpu_s']:.3g} | {compared[1]} | {compared[2]} | {peak} |")
    return "\n".join(lines)


def main():
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description="Time the metrics, beside those of the published system.")
    parser.add_argument("--case", action="append", choices=CASES, help="may be repeated; all without")
    parser.add_argument("--peer", help="interpreter of an environment that holds the published system")
    parser.add_argument("--calls", type=int, default=2, help="the best of so many counts")
    parser.add_argument("--output", type=Path, help="where to write the results as JSON")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure, arguments.calls)
        return
    results = {}
    for case in arguments.case or CASES:
        results[case] = {"here": run(sys.executable, case, arguments.calls)}
        if arguments.peer:
            results[case]["peer"] = run(arguments.peer, case, 1)
        print(table({case: results[case]}).splitlines()[-1], flush=True)
    print(table(results))
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
