"""Measure how long a plugin look-up takes among 1,300 folders: without an index, with it, and after one change.

Each number is the median over processes of their own. `--peer PYTHON` names an interpreter that has the published
packages, to measure their search in the same folders.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PLUGINS = 1300
TARGETS_S = {"cold_s": 0.5, "indexed_s": 0.05}
LIBRARY = "generated_library"
WANTED = f"model{PLUGINS // 2}:v1"

# Of about the length and the variety of community plugins.
SOURCES = (
    '''"""Register ``model_registry['<identifier>']``."""
import functools

from {library} import model_registry
from .model import get_layers, get_model


def make(size):
    """Build the model with its layers."""
    base = functools.partial(get_model, size=size)
    return dict(identifier=f'model{number}-{{size}}', activations_model=base, layers=get_layers(size))


model_registry['model{number}:v1'] = lambda: make(1)
model_registry["model{number}:v2"] = lambda: dict(identifier='model{number}:v2', activations_model=get_model(
    'model{number}', pretrained=True), layers=get_layers('model{number}')['v2'])
''',
    """from {library} import model_registry
from .model import MODELS

# one registration for each size
for size in ('tiny', 'small', 'base'):
    model_registry[f'model{number}-{{size}}'] = lambda size=size: MODELS[size]
model_registry['model{number}:v1'] = model_registry['model{number}-base']
""",
)

LOOK_UP = """
import sys, time
sys.path.insert(0, {folder!r})
started = time.perf_counter()
from brainscore_core.plugin_management.import_plugin import find_plugin
imported = time.perf_counter()
find_plugin({library!r}, 'model', {wanted!r})
found = time.perf_counter()
find_plugin({library!r}, 'model', {wanted!r})
again = time.perf_counter()
try:
    find_plugin({library!r}, 'model', 'modle650:v1')
except KeyError as error:
    assert 'Did you mean' in str(error), error
missed = time.perf_counter()
print(imported - started, found - imported, again - found, missed - again)
"""
PEER_LOOK_UP = """
import sys, time
sys.path.insert(0, {folder!r})
from brainscore_core.plugin_management.import_plugin import ImportPlugin
started = time.perf_counter()
ImportPlugin({library!r}, 'models', {wanted!r})
print(time.perf_counter() - started)
"""


def generate(folder: Path) -> Path:
    """Write the library, an hour old, and return the folder of its models."""
    library = folder / LIBRARY
    models = library / "models"
    models.mkdir(parents=True)
    (library / "__init__.py").write_text("model_registry = {}\n")
    (models / "__init__.py").write_text("")
    for number in range(PLUGINS):
        plugin = models / f"model{number}-0.{number}"
        plugin.mkdir()
        source = SOURCES[number % len(SOURCES)].format(library=LIBRARY, number=number)
        (plugin / "__init__.py").write_text(source)
        os.utime(plugin / "__init__.py", (time.time() - 3600,) * 2)
    # The age of a file is also that of its status, which nobody can set.
    time.sleep(2.1)
    return models


def measure(folder: Path, home: Path, code: str = LOOK_UP, python: str = sys.executable) -> list[float]:
    """Run a program in a process of its own and return the seconds it printed."""
    environment = {**os.environ, "BRAINSCORE_HOME": str(home), "OMP_NUM_THREADS": "1"}
    program = code.format(folder=str(folder), library=LIBRARY, wanted=WANTED)
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return [float(seconds) for seconds in done.stdout.split()]


def cases(folder: Path, models: Path, repeats: int) -> Iterator[tuple[str, float]]:
    """Yield the name and the median seconds of each case."""
    home = folder / "home"
    measure(folder, home)  # files and byte code come from a warm disk
    cold, indexed, changed = [], [], []
    for repeat in range(repeats):
        shutil.rmtree(home)
        cold.append(measure(folder, home))
        indexed.append(measure(folder, home))
        (models / "model7-0.7" / "__init__.py").write_text(f"# {repeat}\n")
        changed.append(measure(folder, home))
    yield "import_s", statistics.median(times[0] for times in indexed)
    yield "cold_s", statistics.median(times[1] for times in cold)
    yield "indexed_s", statistics.median(times[1] for times in indexed)
    yield "one_changed_s", statistics.median(times[1] for times in changed)
    yield "same_process_s", statistics.median(times[2] for times in indexed)
    yield "unknown_identifier_s", statistics.median(times[3] for times in indexed)


def main() -> None:
    """Measure, print a table and write results/plugin_index.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--peer", metavar="PYTHON", help="interpreter with the published packages")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = generate(folder)
        result: dict[str, float] = {"plugins": PLUGINS}
        result |= {case: round(seconds, 4) for case, seconds in cases(folder, models, options.repeats)}
        if options.peer:
            times = [measure(folder, folder / "home", PEER_LOOK_UP, options.peer)[0] for _ in range(options.repeats)]
            result["peer_s"] = round(statistics.median(times), 4)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "plugin_index.json").write_text(json.dumps(result, indent=2) + "\n")
    for case, value in result.items():
        target = f"(target < {TARGETS_S[case]})" if case in TARGETS_S else ""
        print(f"{case:24} {value:<10} {target}")


if __name__ == "__main__":
    main()
