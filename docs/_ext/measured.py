"""Show tables of measurements: the directive ``measured`` makes them from a script of ``perf`` and its results."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

__all__ = ["PERF", "Measured", "setup", "table"]

PERF = Path(__file__).parents[2] / "perf"


def table(script: str, name: str = "") -> str:
    """Return a table of a script in ``perf`` as Markdown.

    Parameters
    ----------
    script : str
        Name of the script and of its results.
    name : str
        Which of its tables, for a script with several.
    """
    results = json.loads((PERF / "results" / f"{script}.json").read_text())
    return _load(script).SIMULATION.table(results, *filter(None, [name]))


def _load(script):
    """Import a script; ``coverage``, as one is called, stays the name of a package."""
    package = sys.modules.pop("coverage", None)
    sys.path.insert(0, str(PERF))
    try:
        return importlib.import_module(script)
    finally:
        sys.path.remove(str(PERF))
        for name, module in list(sys.modules.items()):
            if Path(getattr(module, "__file__", None) or "/").parent == PERF:
                del sys.modules[name]
        if package:
            sys.modules["coverage"] = package


class Measured(SphinxDirective):
    """Show a table: the arguments are those of `table`."""

    required_arguments = 1
    optional_arguments = 1

    def run(self):
        """Return the table; the page is written again when the results change."""
        self.env.note_dependency(str(PERF / "results" / f"{self.arguments[0]}.json"))
        return self.parse_text_to_nodes(table(*self.arguments))


def setup(app):
    """Offer the directive."""
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
