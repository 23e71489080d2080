"""Share what measurements need: a process of its own for each, the clock, memory, the published system, the tables.

Runs in the published system's environment too, so it imports neither package.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
TABLES = HERE / "RESULTS.md"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
HOMES = ("BRAINSCORE_HOME", "BRAINIO_HOME", "RESULTCACHING_HOME", "MT_HOME")
Numbers = dict[str, object]


class timed(dict[str, float]):  # noqa: N801 - reads as a statement: with timed() as spent
    """Time a block: ``cpu_s`` of all threads of this process and ``wall_s``."""

    def __enter__(self) -> timed:
        self._start = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.update(cpu_s=time.process_time() - self._start[0], wall_s=time.perf_counter() - self._start[1])


def cpu_s(call: Callable[[], object], calls: int = 3, choose: Callable[[list[float]], float] = min) -> float:
    """Return the least (or `choose` of the) processor time of some calls, after one that loads libraries."""
    call()
    times = []
    for _ in range(calls):
        with timed() as spent:
            call()
        times.append(spent["cpu_s"])
    return choose(times)


def median_cpu_s(call: Callable[[], object], calls: int = 5) -> float:
    """Return the median processor time of some calls, after one that loads libraries."""
    return cpu_s(call, calls, statistics.median)


def memory_mib(field: str) -> float:
    """Return memory of this process: `VmRSS` now, `RssAnon` without files, `VmHWM` the most since `reset_peak`."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) / 1024


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> tuple[dict[str, float], str]:
    """Run a program; return its ``wall_s`` and ``cpu_s`` (children included) and what it printed."""
    started, before = time.perf_counter(), os.times()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "BS_INSTALL_DEPENDENCIES": "no", **variables}
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-3000:]}")
    wall, after = time.perf_counter() - started, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"wall_s": wall, "cpu_s": cpu}, done.stdout


def medians(answers: Sequence[Mapping[str, float]], digits: int = 4) -> dict[str, float]:
    """Return the median of each number over several runs."""
    return {name: round(statistics.median(answer[name] for answer in answers), digits) for name in answers[0]}


def reset_peak() -> None:
    """Start counting the peak memory of this process anew."""
    Path("/proc/self/clear_refs").write_text("5")


def ask(
    python: str, script: str, *arguments: str | Path, home: str | Path | None = None, threads: int = 1, **variables: str
) -> Numbers:
    """Run a script in a process of its own and return the JSON of its last line.

    Parameters
    ----------
    python : str
        Interpreter, of this project or of the published system.
    home : path-like, optional
        Home and caches of both systems; None: an empty folder that is removed afterwards.
    threads : int
        Threads of numerical libraries, bound to as many processors.
    **variables
        More environment variables.
    """
    with tempfile.TemporaryDirectory() as empty:
        if home:
            Path(home).mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, **dict.fromkeys(THREADS, str(threads)), **dict.fromkeys(HOMES, str(home or empty))}
        environment |= {"BS_INSTALL_DEPENDENCIES": "no", "MT_MULTITHREAD": "0", **variables}
        if python != sys.executable:
            environment.pop("PYTHONPATH", None)  # it may lead to this project's packages, which have the same names
        processors = ",".join(map(str, sorted(os.sched_getaffinity(0))[-threads:]))
        command = ["taskset", "-c", processors, python, "-W", "ignore", script, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def options_of(
    script_doc: str, cases: Iterable[str], *, calls: int = 2, more: Sequence[tuple[str, Mapping[str, object]]] = ()
) -> argparse.Namespace:
    """Parse the options that measurements share: --peer, --only, --calls, and --measure for the child processes."""
    parser = argparse.ArgumentParser(description=script_doc.partition("\n")[0])
    parser.add_argument("--peer", metavar="PYTHON", help="interpreter with the published packages")
    parser.add_argument("--only", action="append", choices=list(cases), help="may be repeated; others stay as stored")
    parser.add_argument("--calls", type=int, default=calls, help="number of calls; the best counts")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    for name, settings in more:
        parser.add_argument(name, **settings)
    return parser.parse_args()


def compare(
    script: str,
    cases: Mapping[str, Sequence[str]],
    options: argparse.Namespace,
    *arguments: str | Path,
    by: str = "cpu_s",
    homes: str | Path | None = None,
    threads: int = 1,
    **variables: str,
) -> dict[str, dict[str, Numbers]]:
    """Measure cases here and in the published system in turn; the fastest of the calls of each counts.

    Parameters
    ----------
    script : str
        Runs with ``--measure CASE *arguments`` in a process of its own.
    cases : mapping of str to sequence of str
        Case -> systems that measure it, 'here' and 'peer'.
    by : str
        The number to minimise.
    homes : path-like, optional
        Folder of a home for each call and system, which its cases share; None: each has an empty one.
    """
    results: dict[str, dict[str, Numbers]] = {}
    for call in range(options.calls):
        for case, systems in cases.items():
            for who, python in (("here", sys.executable), ("peer", options.peer)):
                if python is None or who not in systems or (options.only and case not in options.only):
                    continue
                home = Path(homes, f"{who}-{call}") if homes else None
                answer = ask(python, script, "--measure", case, *arguments, home=home, threads=threads, **variables)
                best = results.setdefault(case, {}).get(who)
                results[case][who] = answer if best is None or answer[by] < best[by] else best
                print(f"{who} {case}: {json.dumps(answer)}", flush=True)
    return results


def say(answer: object) -> None:
    """Print the answer of a child process for `ask`."""
    print(json.dumps(answer))


def read(name: str) -> Numbers:
    """Return the stored results of a measurement; empty if there are none."""
    path = HERE / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def keep(name: str, results: object, *, title: str = "", text: str = "") -> None:
    """Print the results, write results/<name>.json and, with a title, the section of RESULTS.md; others stay."""
    print(text or json.dumps(results, indent=1))
    path = HERE / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if title:
        whole = TABLES.read_text(encoding="utf-8") if TABLES.exists() else "# Measurements\n"
        TABLES.write_text(replace_section(whole, f"## {title}", text), encoding="utf-8")


def replace_section(text: str, title: str, section: str) -> str:
    """Return a document with one section replaced, or appended if there is none of that title."""
    before, found, after = text.partition(f"{title}\n")
    rest = after[after.index("\n## ") :] if found and "\n## " in after else ""
    return f"{before.rstrip()}\n\n{title}\n\n{section.strip()}\n{rest}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def seconds(answer: Mapping[str, float] | None) -> str:
    """Return processor and wall-clock seconds as a cell of a table."""
    return f"{answer['cpu_s']:.3g} / {answer['wall_s']:.3g}" if answer else "-"


def ratio_of(result: Mapping[str, Mapping[str, float]], by: str = "cpu_s") -> float | None:
    """Return how many times faster than the published system a case is; None if that was not measured."""
    return result["peer"][by] / result["here"][by] if "peer" in result else None


def verdict(value: float | None, target: float | None, *, at_most: bool = False, unit: str = "") -> str:
    """Return a target and whether a value reaches it, as a cell of a table."""
    if target is None:
        return "-"
    reached = "?" if value is None else "yes" if (value <= target if at_most else value >= target) else "no"
    return f"{'<=' if at_most else '>='} {target:g}{unit}: {reached}"
