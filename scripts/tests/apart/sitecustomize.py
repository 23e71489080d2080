"""Hide from a process what its job has not installed, and packages that lie elsewhere; for tests, put on PYTHONPATH.

INSTALLED lists the modules in site-packages that there are; GITHUB_WORKSPACE is the checkout.
"""

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

INSTALLED = set(os.environ.get("INSTALLED", "").split(","))


class Missing:
    """Finds nothing, and says so where others would find what is not installed."""

    def find_spec(self, name, path=None, target=None):
        if path is not None or name in INSTALLED:
            return
        spec = PathFinder.find_spec(name)
        places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
        if any("site-packages" in (place or "") for place in places):
            raise ModuleNotFoundError(f"No module named {name!r}: the job has not installed it", name=name)


PLACES = [Path(each).resolve() for each in (os.environ["GITHUB_WORKSPACE"], sys.prefix, sys.base_prefix)]
sys.path[:] = [entry for entry in sys.path if any(Path(entry).resolve().is_relative_to(place) for place in PLACES)]
sys.meta_path.insert(0, Missing())
