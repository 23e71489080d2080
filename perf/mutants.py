"""Measure the share of random faults that the tests notice: `nox -s mutants [-- --number 300 --seed 0]`, two hours.

Each fault changes one place of core, of the metrics' kernels or of planning by an operator of cosmic-ray; the tests
that mirror the module run with it. Files are changed in place and put back: run it in a scratch clone. With
`--again FILE` the faults are those that FILE, an earlier answer (`--answer FILE`), lists and whose lines still exist.
"""

import json
import multiprocessing
import os
import random
import signal
import sys
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from cosmic_ray import ast, plugins
from cosmic_ray.mutating import mutate_code
from harness import options_of, size

ROOT = Path(__file__).resolve().parents[1]
MUTATED = {
    "core/brainscore_core": "core/tests",
    "vision/brainscore_vision/metric_helpers/arrays": "vision/tests/metric_helpers/arrays",
    "scripts/brainscore_ci/planning": "scripts/tests/planning",
}
NEED_NAMES = ("core/VariableReplacer", "core/VariableInserter")  # operators that ask which variables to change
OPERATORS = sorted(set(plugins.operator_names()).difference(NEED_NAMES))
MARKED = "not (private_access or network or gpu or slow or memory_intense)"
LOADED = ("scipy.stats", "sklearn.cross_decomposition", "torch", "xarray", "hypothesis")  # once, for all runs of tests
Fault = tuple[str, str, str, int]  # module, operator, line, and which of the same faults in equal lines


def tests_of(module: Path) -> list[str]:
    """Return the test file that mirrors a module, and those that name it; without any, those of the nearest folder."""
    room, tests = next(rooms for rooms in MUTATED.items() if (ROOT / rooms[0]) in module.parents)
    mirror = ROOT / tests / module.relative_to(ROOT / room).parent / f"test_{module.stem.strip('_')}.py"
    name = ".".join(module.relative_to(ROOT).with_suffix("").parts[1:])
    forms = (name, f"from {name.rpartition('.')[0]} import {module.stem}\n")
    files = [str(path) for path in sorted((ROOT / tests).rglob("test_*.py")) if path == mirror or contains(path, forms)]
    folder = next(folder for folder in mirror.parents if folder.is_dir())
    return files or [str(path) for path in sorted(folder.glob("test_*.py"))]


def contains(path: Path, forms: tuple[str, ...]) -> bool:
    text = path.read_text(encoding="utf-8")
    return any(form in text for form in forms)


@cache
def faults_in(module: Path) -> dict[tuple[object, ...], dict[Fault, int]]:
    """Return, for each place of a module, the faults that can be made there, with their number for cosmic-ray."""
    nodes, lines = list(ast.ast_nodes(ast.get_ast_from_path(module))), module.read_text(encoding="utf-8").splitlines()
    places: dict[tuple[object, ...], dict[Fault, int]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for name in OPERATORS:
        positions = [place for node in nodes for place in plugins.get_operator(name)().mutation_positions(node)]
        for occurrence, place in enumerate(positions):
            line = lines[place[0][0] - 1].strip()
            fault = (str(module.relative_to(ROOT)), name, line, seen[name, line])
            seen[name, line] += 1
            places.setdefault(place, {})[fault] = occurrence
    return places


def draw(number: int, seed: int) -> list[Fault]:
    """Draw faults: a module by its lines, one of its places, one of the operators that change it."""
    generator = random.Random(seed)  # noqa: S311 - a draw, no secret
    modules = [path for room in MUTATED for path in sorted((ROOT / room).rglob("*.py")) if path.name[:2] != "__"]
    lines = [module.read_text(encoding="utf-8").count("\n") for module in modules]
    faults: dict[Fault, None] = {}
    while len(faults) < number:
        if places := list(faults_in(generator.choices(modules, lines)[0]).values()):
            faults[generator.choice(list(generator.choice(places)))] = None
    return list(faults)


def run_tests(tests: list[str]) -> None:
    os.setsid()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1), os.dup2(nowhere, 2)
    sys.exit(pytest.main(["-qx", "-p", "no:cacheprovider", "--hypothesis-seed", "0", "-m", MARKED, *tests]))


def outcome_of(fault: Fault, limit_s: float = 300) -> str:
    """Run the tests of a module with one fault in it, and put the module back."""
    module = ROOT / fault[0]
    places = faults_in(module).values() if module.is_file() else ()
    occurrence = next((faults[fault] for faults in places if fault in faults), None)
    if occurrence is None:
        return "gone"
    source = module.read_text(encoding="utf-8")
    try:
        mutant = mutate_code(source, plugins.get_operator(fault[1])(), occurrence)
    except AttributeError:  # cosmic-ray replaces exceptions that are plain names, no others
        return "impossible"
    run = multiprocessing.get_context("fork").Process(target=run_tests, args=(tests_of(module),))
    try:
        module.write_text(mutant, encoding="utf-8")
        run.start()
        run.join(limit_s)
        if run.exitcode is None:
            os.killpg(run.pid, signal.SIGKILL)
            return "timeout"
        return "survived" if run.exitcode == 0 else "noticed"
    finally:
        module.write_text(source, encoding="utf-8")


if __name__ == "__main__":
    options = options_of(__doc__, number=size(300, 1), seed=0, again=None, answer=None)
    os.environ |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    for name in LOADED:
        import_module(name)
    if options.again:
        chosen = [tuple(fault) for fault, _ in map(json.loads, Path(options.again).read_text().splitlines())]
    else:
        chosen = draw(options.number, options.seed)
    counts: Counter[str] = Counter()
    for number, fault in enumerate(chosen, 1):
        outcome = outcome_of(fault)
        counts[outcome] += 1
        print(f"{number:4d} {dict(counts)} {outcome}: {' | '.join(map(str, fault))}", flush=True)
        if options.answer:
            with Path(options.answer).open("a") as file:
                file.write(json.dumps([fault, outcome]) + "\n")
