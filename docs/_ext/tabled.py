"""Show tables of what plugins state: the directive ``tabled`` takes the name of a module in ``docs/facts``."""

from __future__ import annotations

import importlib

from sphinx.util.docutils import SphinxDirective

__all__ = ["Tabled", "setup"]


class Tabled(SphinxDirective):
    """Show the tables of a module, with their headings."""

    required_arguments = 1

    def run(self):
        """Return the tables; the page is written at each build, since plugins are no pages that Sphinx knows."""
        self.env.note_reread()
        module = importlib.import_module(f"facts.{self.arguments[0]}")
        return self.parse_text_to_nodes(module.table(), allow_section_headings=True)


def setup(app):
    """Offer the directive."""
    app.add_directive("tabled", Tabled)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
