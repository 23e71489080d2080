"""Measure how long a plugin look-up takes among 1,300 folders: without an index, with it, and after one change.

The tree is that of `plan.py`, or has as many ``--plugins``. Then 560 folders elsewhere, one of them broken, join the
library: all are listed, and none is imported. Each number is the median over processes of their own.
"""

import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from harness import ask, keep, medians, options_of, say, size, timed
from plan import LIBRARY, N_PLUGINS, files_of, make_tree

N_OUTSIDE = 560  # folders of models in the published repository
TARGETS_S = {"cold": 0.5, "indexed": 0.025, "outside, listed": 0.3}
NAMES = {"first": "made0", "again": "made0", "unknown": "mdae0"}


def look_up(library: str) -> dict[str, float]:
    """Return the seconds of look-ups in this process; an unknown identifier is answered by an error."""
    sys.path.insert(0, library)
    with timed() as spent:
        import brainscore_vision
        from brainscore_core.plugin_management.import_plugin import find_plugin
    if not brainscore_vision.__file__.startswith(library):
        raise SystemExit(f"{brainscore_vision.__file__} is not in {library}.")
    times = {"import": spent["wall_s"]}
    for name, identifier in NAMES.items():
        with timed() as spent:
            try:
                find_plugin("brainscore_vision", "model", identifier)
            except KeyError as error:
                if "Did you mean" not in str(error):
                    raise
        times[name] = spent["wall_s"]
    return times


def list_all() -> dict[str, float]:
    """Return the seconds of listing all models in this process; one of the made ones is broken, none is imported."""
    with timed() as spent:
        from brainscore_vision.loading import known_identifiers

        names = known_identifiers("model")
    made = [name for name in names if name.startswith("made")]
    loaded = [name for name in sys.modules if name.startswith("brainscore_vision.models.")]
    if len(made) != N_OUTSIDE - 1 or loaded:
        raise SystemExit(f"{len(made)} of {N_OUTSIDE - 1} models are listed, {loaded} imported.")
    return {"listed": spent["wall_s"]}


def measure_outside(folder: Path, repeats: int) -> dict[str, dict[str, float]]:
    """Return the seconds of listing with 560 folders outside the library."""
    for number in range(N_OUTSIDE):
        for name, text in files_of("models", number).items():
            file = folder / f"lab/models/made{number}" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    (folder / "lab/models/made7/__init__.py").write_text("from brainscore_vision import (", encoding="utf-8")
    time.sleep(2.1)  # see below
    home = folder / "other home"
    here = partial(ask, sys.executable, __file__, "--measure", "outside", home=home, BRAINSCORE_PLUGINS=f"{folder}/lab")
    cases: dict[str, list[dict[str, float]]] = {"outside, cold": [], "outside": []}
    for _ in range(repeats):
        shutil.rmtree(home, ignore_errors=True)
        for times in cases.values():
            times.append(here())
    return {case: medians(times) for case, times in cases.items()}


if __name__ == "__main__":
    options = options_of(__doc__, repeats=size(7, 1), plugins=N_PLUGINS, measure=None)
    if options.measure:
        say(list_all() if options.measure == ["outside"] else look_up(*options.measure))
        sys.exit()
    with tempfile.TemporaryDirectory() as name:
        library, home = Path(name, "tree", LIBRARY).parent, Path(name) / "home"
        plugins = make_tree(Path(name) / "tree", options.plugins)
        time.sleep(2.1)  # younger files are not believed to stay as they are
        here = partial(ask, sys.executable, __file__, "--measure", library, home=home)
        here()  # files and byte code come from a warm disk
        cases: dict[str, list[dict[str, float]]] = {"cold": [], "indexed": [], "one changed": []}
        for repeat in range(options.repeats):
            shutil.rmtree(home)
            cases["cold"].append(here())
            cases["indexed"].append(here())
            (library / "brainscore_vision/models/made1/__init__.py").write_text(f"# {repeat}\n")
            cases["one changed"].append(here())
        numbers = {case: medians(times) for case, times in cases.items()}
        numbers |= measure_outside(Path(name), options.repeats)
    keep("plugin_index", {"plugins": plugins, "targets_s": TARGETS_S, **numbers})
