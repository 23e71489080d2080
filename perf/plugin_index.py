"""Measure how long a plugin look-up takes among 1,300 folders: without an index, with it, and after one change.

The tree is that of `plan.py`, or has as many ``--plugins``. Each number is the median over processes of their own.
"""

import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from harness import ask, keep, medians, options_of, say, size, timed
from plan import LIBRARY, N_PLUGINS, make_tree

TARGETS_S = {"cold": 0.5, "indexed": 0.025}
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


if __name__ == "__main__":
    options = options_of(__doc__, repeats=size(7, 1), plugins=N_PLUGINS, measure=None)
    if options.measure:
        say(look_up(*options.measure))
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
    keep("plugin_index", {"plugins": plugins, "targets_s": TARGETS_S, **numbers})
