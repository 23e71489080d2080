"""Measure how long a plugin look-up takes among 1,300 folders: without an index, with it, and after one change.

Each number is the median over processes of their own. `--peer PYTHON` names an interpreter that has the published
packages, to measure their search in the same folders.
"""

import os
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from harness import ask, keep, medians, options_of, say, size

PLUGINS = size(1300, 40)
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


def look_up(folder: str, *, published: bool) -> dict[str, float]:
    """Return the seconds of look-ups in this process."""
    sys.path.insert(0, folder)
    started = time.perf_counter()
    from brainscore_core.plugin_management import import_plugin

    times = {"import": time.perf_counter() - started}
    if published:
        return {**times, "first": seconds_of(import_plugin.ImportPlugin, "models", IDENTIFIER)}
    names = {"first": IDENTIFIER, "again": IDENTIFIER, "unknown": MISSPELLED}
    return times | {name: seconds_of(import_plugin.find_plugin, "model", each) for name, each in names.items()}


if __name__ == "__main__":
    options = options_of(
        __doc__, repeats=size(7, 1), peer=(None, "interpreter with the published packages"), measure=None
    )
    if options.measure:
        system, folder = options.measure
        say(look_up(folder, published=system == "peer"))
        sys.exit()
    with tempfile.TemporaryDirectory() as name:
        models, home = generate(Path(name)), Path(name) / "home"
        here = partial(ask, sys.executable, __file__, "--measure", "here", name, home=home)
        here()  # files and byte code come from a warm disk
        cases: dict[str, list[dict[str, float]]] = {"cold": [], "indexed": [], "one changed": []}
        for repeat in range(options.repeats):
            shutil.rmtree(home)
            cases["cold"].append(here())
            cases["indexed"].append(here())
            (models / "model7-0.7" / "__init__.py").write_text(f"# {repeat}\n")
            cases["one changed"].append(here())
        if options.peer:
            cases["peer"] = [ask(options.peer, __file__, "--measure", "peer", name) for _ in range(options.repeats)]
    seconds = {case: medians(times) for case, times in cases.items()}
    keep("plugin_index", {"plugins": PLUGINS, "targets_s": TARGETS_S, **seconds})
