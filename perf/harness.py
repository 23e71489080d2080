"""Share what measurements need: options, a process for each case, clock and memory, tables, results.

Runs in the published system's environment too, so it imports neither package. With ``--quick`` every script measures
little data and keeps no results, which tries the script.
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
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLES = HERE / "RESULTS.md"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
HOMES = ("BRAINSCORE_HOME", "BRAINIO_HOME", "RESULTCACHING_HOME", "MT_HOME")
QUICK = "--quick" in sys.argv or "PERF_QUICK" in os.environ
# A measured cell (times, errors and memory of one case) takes up to about this many characters.
_LONGEST_CELL = 400
Numbers = dict[str, object]


def size(full: int, quick: int) -> int:
    """Return `full`, or `quick` with ``--quick``."""
    return quick if QUICK else full


def options_of(doc: str | None, **defaults: object) -> argparse.Namespace:
    """Parse the command line.

    Parameters
    ----------
    doc : str
        Docstring of the script, its help.
    **defaults
        Each option with its default, which determines its type, or with a pair of default and help. A list may be
        given several times; None is text.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="measure little data, keep no results")
    for name, entry in defaults.items():
        default, text = entry if isinstance(entry, tuple) else (entry, argparse.SUPPRESS if name == "measure" else None)
        settings: dict[str, object] = {"default": default, "type": str if default is None else type(default)}
        if isinstance(default, bool):
            settings = {"action": "store_true"}
        elif isinstance(default, list):
            settings = {"action": "append", "default": default}
        elif name == "measure":
            settings = {"nargs": "+"}
        parser.add_argument("--" + name.replace("_", "-"), help=text, **settings)
    return parser.parse_args()


# -- clock and memory --------------------------------------------------------------------------------------------------


class timed(dict[str, float]):  # noqa: N801 - reads as a statement: with timed() as spent
    """Time a block: ``cpu_s`` of all threads of this process and ``wall_s``."""

    def __enter__(self) -> timed:
        self._start = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.update(cpu_s=time.process_time() - self._start[0], wall_s=time.perf_counter() - self._start[1])


def times_of(call: Callable[[], object], calls: int = 3, by: str = "cpu_s") -> list[float]:
    """Return the seconds of each of some calls, after one that loads libraries."""
    call()
    times = []
    for _ in range(size(calls, 1)):
        with timed() as spent:
            call()
        times.append(spent[by])
    return times


def memory_mib(field: str, pid: int | str = "self") -> float:
    """Return memory of a process: `VmRSS` now, `VmHWM` the most since `reset_peak`."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field + ":")).split()[1]) / 1024


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def cpu_of_tree(pid: int | str = "self") -> float:
    """Return the processor seconds of a process and all that it started, running or ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = " ".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")).split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_of_tree, children))


def medians(answers: Sequence[Mapping[str, float]], digits: int = 4) -> dict[str, float]:
    return {name: round(statistics.median(answer[name] for answer in answers), digits) for name in answers[0]}


# -- other processes ---------------------------------------------------------------------------------------------------


def with_one_thread() -> None:
    """Start this script again with one thread in numerical libraries, which read the number when they are imported."""
    main = Path(getattr(sys.modules["__main__"], "__file__", None) or "/").resolve()
    if main.parent == HERE and any(os.environ.get(name) != "1" for name in THREADS):
        os.environ.update(dict.fromkeys(THREADS, "1"))
        os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606 - this script


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> tuple[dict[str, float], str]:
    """Run a program; return its ``wall_s`` and ``cpu_s`` (children included) and what it printed."""
    started, before = time.perf_counter(), os.times()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "BS_INSTALL_DEPENDENCIES": "no", **variables}
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-500:]}{done.stderr[-3000:]}")
    wall, after = time.perf_counter() - started, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"wall_s": wall, "cpu_s": cpu}, done.stdout


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
        environment = {**dict.fromkeys(THREADS, str(threads)), **dict.fromkeys(HOMES, str(home or empty))}
        environment |= {"MT_MULTITHREAD": "0", **({"PERF_QUICK": "1"} if QUICK else {}), **variables}
        if python != sys.executable:
            environment["PYTHONPATH"] = ""  # it may lead to this project's packages, which have the same names
        processors = ",".join(map(str, sorted(os.sched_getaffinity(0))[-threads:]))
        command = ("taskset", "-c", processors, python, "-W", "ignore", script, *arguments)
        return json.loads(run(*command, **environment)[1].splitlines()[-1])


def say(answer: object) -> None:
    print(json.dumps(answer))


# -- cases -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A measurement in a process of its own.

    Attributes
    ----------
    title : str
        First cell of its row.
    times : float, optional
        Target: how many times faster than the published system.
    most_s : float, optional
        Target: at most so many seconds.
    peer : bool
        Whether the published system measures it too.
    data : object
        Details for the script.
    """

    title: str
    times: float | None = None
    most_s: float | None = None
    peer: bool = True
    data: object = None


def measure_cases(
    doc: str | None,
    cases: Mapping[str, Case],
    measure: Callable[[str, Path], Numbers],
    *,
    table: Callable[[Mapping[str, Mapping[str, Numbers]]], str] | None = None,
    title: str = "",
    how: str = "one thread.",
    remark: str = "",
    prepare: Callable[[Path], object] | None = None,
    by: str = "cpu_s",
    calls: int = 2,
    threads: int = 1,
    keep_homes: bool = False,
    **variables: str,
) -> None:
    """Be the script that measures cases here and, with ``--peer``, in the published system, in turn.

    The call with the least seconds of each case counts. Results of other cases stay as they are stored.

    Parameters
    ----------
    measure : callable
        ``measure(case, folder)``, run in a process for each call and system.
    table : callable
        Return results, case -> system -> numbers, as Markdown; `comparison_table` if None.
    title, how, remark : str
        Section of RESULTS.md, its first line after the command, and its end; no title: no section.
    prepare : callable
        Write the data that all cases share to a folder.
    by : str
        The number to minimise.
    keep_homes : bool
        Whether cases of a call share a home; else each has an empty one.
    **variables
        Environment of the processes.
    """
    script, name = sys.argv[0], Path(sys.argv[0]).stem
    options = options_of(
        doc,
        peer=(None, "interpreter with the published packages"),
        only=([], f"one of {', '.join(cases)}; may be repeated"),
        calls=(calls, "number of calls; the best counts"),
        threads=(threads, "of each process, and processors it may use; results of another number are not kept"),
        measure=None,
    )
    if options.measure:
        say(measure(options.measure[0], Path(options.measure[1])))
        return
    if unknown := set(options.only).difference(cases):
        raise SystemExit(f"{sorted(unknown)} are no cases of {script}: {', '.join(cases)}.")
    chosen = options.only or list(cases)[:: size(1, max(1, len(cases) // 6))]
    results: dict[str, dict[str, Numbers]] = {}
    draw = comparison_table(cases, by) if table is None else table
    systems = {"here": sys.executable, **({"peer": options.peer} if options.peer else {})}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as homes:
        if prepare:
            prepare(Path(folder))
        for call in range(size(options.calls, 1)):
            for case, who in ((case, who) for case in chosen for who in systems):
                if who == "peer" and not cases[case].peer:
                    continue
                home = Path(homes, f"{who}-{call}") if keep_homes else None
                own = {"home": home, "threads": options.threads, "PERF_SYSTEM": who, **variables}
                answer = ask(systems[who], script, "--measure", case, folder, **own)
                best = results.setdefault(case, {}).get(who)
                results[case][who] = answer if best is None or answer[by] < best[by] else best
                print(f"{who} {case}: {json.dumps(answer)}", flush=True)
    results = {**(read(name) if options.only else {}), **results}
    text = f"`python perf/{name}.py{' --peer PYTHON' if options.peer else ''}`, {how}\n\n{draw(results)}\n{remark}"
    if options.threads == threads:
        keep(name, results, title=title, text=text)
    else:
        print(text)


def comparison_table(cases: Mapping[str, Case], by: str = "cpu_s", digits: int = 1) -> Callable[..., str]:
    """Return what draws the times of cases beside those of the published system."""

    def draw(results: Mapping[str, Mapping[str, Numbers]]) -> str:
        rows = []
        for name, case in cases.items():
            if name in results:
                here, ratio = results[name]["here"], ratio_of(results[name], by)
                reached = verdict(ratio, case.times)
                if case.most_s is not None:
                    reached = verdict(here[by], case.most_s, at_most=True, unit=" s")
                times = [seconds(results[name].get("peer")), seconds(here)]
                rows.append([case.title, *times, f"{ratio:.{digits}f}" if ratio else "-", reached])
        return markdown(["what", "peer, s CPU / wall", "here, s CPU / wall", "times faster", "target"], rows)

    return draw


# -- results and tables ------------------------------------------------------------------------------------------------


def read(name: str) -> Numbers:
    """Return the stored results of a measurement; empty if there are none."""
    path = HERE / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def one_cell_a_line(value: object, indent: str = "") -> str:
    """Return JSON whose innermost tables take one line each, so that a diff shows one line per changed measurement."""
    line = json.dumps(value)
    if not value or not isinstance(value, dict | list) or len(line) <= _LONGEST_CELL:
        return line
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(key)}: {one_cell_a_line(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + one_cell_a_line(item, inner) for item in value) + f"\n{indent}]"


def keep(name: str, results: object, *, title: str = "", text: str = "") -> None:
    """Print the results; unless ``--quick``, write results/<name>.json and, with a title, the section of RESULTS.md."""
    print(text or one_cell_a_line(results))
    if QUICK:
        return
    path = HERE / "results" / f"{name}.json"
    written = path.with_suffix(".part")
    written.write_text(one_cell_a_line(results) + "\n", encoding="utf-8")
    written.replace(path)
    if title:
        whole = TABLES.read_text(encoding="utf-8") if TABLES.exists() else "# Measurements\n"
        before, head, after = whole.partition(f"## {title}\n")
        rest = after[after.index("\n## ") :] if head and "\n## " in after else ""
        TABLES.write_text(f"{before.rstrip()}\n\n## {title}\n\n{text.strip()}\n{rest}", encoding="utf-8")


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def seconds(answer: Mapping[str, float] | None) -> str:
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
