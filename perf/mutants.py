"""Measure the share of random faults that the tests notice: `nox -s mutants [-- --number 300 --seed 0]`, an hour.

Each fault changes one place of core, of the metrics' kernels or of planning by an operator of cosmic-ray; the tests
that mirror the module run with it. Files are changed in place and put back: run it in a scratch clone.
"""

import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

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


def tests_of(module: Path) -> Path:
    """Return the test file that mirrors a module; the nearest folder of tests above where there is none."""
    room, tests = next(
        (ROOT / room, ROOT / tests) for room, tests in MUTATED.items() if (ROOT / room) in module.parents
    )
    mirror = tests / module.relative_to(room).parent / f"test_{module.stem.strip('_')}.py"
    return mirror if mirror.is_file() else next(folder for folder in mirror.parents if folder.is_dir())


@cache
def faults_in(module: Path) -> list[list[tuple[str, int]]]:
    """Return, for each place of a module, the faults (operator, occurrence) that can be made there."""
    nodes = list(ast.ast_nodes(ast.get_ast_from_path(module)))
    places: dict[tuple[object, ...], list[tuple[str, int]]] = {}
    for name in OPERATORS:
        positions = [place for node in nodes for place in plugins.get_operator(name)().mutation_positions(node)]
        for occurrence, place in enumerate(positions):
            places.setdefault(place, []).append((name, occurrence))
    return list(places.values())


def is_noticed(module: Path, operator: str, occurrence: int) -> bool:
    """Run the tests of a module with one fault in it, and put the module back."""
    source = module.read_text(encoding="utf-8")
    try:
        module.write_text(mutate_code(source, plugins.get_operator(operator)(), occurrence), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-m", MARKED, str(tests_of(module))]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=180).returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        module.write_text(source, encoding="utf-8")


if __name__ == "__main__":
    options = options_of(__doc__, number=size(300, 1), seed=0)
    generator, n_noticed = random.Random(options.seed), 0  # noqa: S311 - a draw, no secret
    modules = [path for room in MUTATED for path in sorted((ROOT / room).rglob("*.py")) if path.name[:2] != "__"]
    lines = [module.read_text(encoding="utf-8").count("\n") for module in modules]
    for number in range(1, options.number + 1):
        while not (places := faults_in(module := generator.choices(modules, lines)[0])):
            pass
        operator, occurrence = generator.choice(generator.choice(places))
        noticed = is_noticed(module, operator, occurrence)
        n_noticed += noticed
        fault = f"{module.relative_to(ROOT)} {operator} {occurrence}"
        print(f"{number:4d} {n_noticed / number:.3f} {'noticed' if noticed else 'SURVIVED'} {fault}", flush=True)
