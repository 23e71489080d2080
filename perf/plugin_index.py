"""Measure how long a plugin look-up takes among 1,300 folders: without an index, with it, and after one change.

Each number is the median over processes of their own. `--peer PYTHON` names an interpreter that has the published
packages, to measure their search in the same folders.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from harness import ask, keep, medians

PLUGINS = 1300
TARGETS_S = {"cold": 0.5, "indexed": 0.05}
LIBRARY = "generated_library"
IDENTIFIER = f"model{PLUGINS // 2}:v1"
MISSPELLED = IDENTIFIER.replace("model", "modle")
# Two plugins in turn, of about the length and the variety of those of the community.
SOURCES = (
    '''"""Register ``model_registry['<identifier>']``."""
import functools

from generated_library import model_registry
from .model import get_layers, get_model


def make(size):
    """Build the model with its layers."""
    base = functools.partial(get_model, size=size)
    return dict(identifier=f'model{number}-{{size}}', activations_model=base, layers=get_layers(size))


model_registry['model{number}:v1'] = lambda: make(1)
model_registry["model{number}:v2"] = lambda: dict(identifier='model{number}:v2', activations_model=get_model(
    'model{number}', pretrained=True), layers=get_layers('model{number}')['v2'])
''',
    """from generated_library import model_registry
from .model import MODELS

# one registration for each size
for size in ('tiny', 'small', 'base'):
    model_registry[f'model{number}-{{size}}'] = lambda size=size: MODELS[size]
model_registry['model{number}:v1'] = model_registry['model{number}-base']
""",
)


def generate(folder: Path) -> Path:
    """Write the library, an hour old, and return the folder of its models."""
    models = folder / LIBRARY / "models"
    models.mkdir(parents=True)
    (models.parent / "__init__.py").write_text("model_registry = {}\n")
    (models / "__init__.py").write_text("")
    for number in range(PLUGINS):
        source = models / f"model{number}-0.{number}" / "__init__.py"
        source.parent.mkdir()
        source.write_text(SOURCES[number % len(SOURCES)].format(number=number))
        os.utime(source, (time.time() - 3600,) * 2)
    # The age of a file is also that of its status, which nobody can set.
    time.sleep(2.1)
    return models


def seconds_of(call: object, *arguments: str) -> float:
    """Return the seconds of one call; an unknown identifier is answered by an error."""
    started = time.perf_counter()
    try:
        call(LIBRARY, *arguments)
    except KeyError as error:
        if "Did you mean" not in str(error):
            raise
    return time.perf_counter() - started


def look_up(folder: str, *, published: bool) -> None:
    """Print the seconds of look-ups in this process."""
    sys.path.insert(0, folder)
    started = time.perf_counter()
    from brainscore_core.plugin_management import import_plugin

    times = {"import": time.perf_counter() - started}
    if published:
        times["first"] = seconds_of(import_plugin.ImportPlugin, "models", IDENTIFIER)
    else:
        for name, identifier in (("first", IDENTIFIER), ("again", IDENTIFIER), ("unknown", MISSPELLED)):
            times[name] = seconds_of(import_plugin.find_plugin, "model", identifier)
    from harness import say

    say(times)


def measure(folder: Path, repeats: int, peer: str | None) -> dict[str, object]:
    """Return the median seconds of each case."""
    models, home = generate(folder), folder / "home"

    def here() -> dict[str, float]:
        return ask(sys.executable, __file__, "--look-up", folder, home=home)

    here()  # files and byte code come from a warm disk
    cold, indexed, changed = [], [], []
    for repeat in range(repeats):
        shutil.rmtree(home)
        cold.append(here())
        indexed.append(here())
        (models / "model7-0.7" / "__init__.py").write_text(f"# {repeat}\n")
        changed.append(here())
    cases = {"cold": cold, "indexed": indexed, "one changed": changed}
    if peer:
        cases["peer"] = [ask(peer, __file__, "--published", "--look-up", folder) for _ in range(repeats)]
    return {"plugins": PLUGINS, "targets_s": TARGETS_S, **{name: medians(times) for name, times in cases.items()}}


def main() -> None:
    """Measure and write results/plugin_index.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--peer", metavar="PYTHON", help="interpreter with the published packages")
    parser.add_argument("--look-up", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--published", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.look_up:
        look_up(options.look_up, published=options.published)
        return
    with tempfile.TemporaryDirectory() as folder:
        keep("plugin_index", measure(Path(folder), options.repeats, options.peer))


if __name__ == "__main__":
    main()
