"""Hide packages that the job has not installed or that lie elsewhere; tests put this on PYTHONPATH.

INSTALLED lists the modules available in site-packages; GITHUB_WORKSPACE is the checkout.
"""

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

INSTALLED = set(os.environ.get("INSTALLED", "").split(","))


class UninstalledFinder:
    """Finds nothing; raises ModuleNotFoundError where other finders would find a package that is not installed."""

    def find_spec(self, name, path=None, target=None):
        if path is not None or name in INSTALLED:
            return
        spec = PathFinder.find_spec(name)
        places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
        if any("site-packages" in (place or "") for place in places):
            raise ModuleNotFoundError(f"No module named {name!r}: the job has not installed it", name=name)


ALLOWED_FOLDERS = [Path(each).resolve() for each in (os.environ["GITHUB_WORKSPACE"], sys.prefix, sys.base_prefix)]
sys.path[:] = [
    entry for entry in sys.path if any(Path(entry).resolve().is_relative_to(place) for place in ALLOWED_FOLDERS)
]
sys.meta_path.insert(0, UninstalledFinder())
