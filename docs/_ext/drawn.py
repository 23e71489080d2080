"""Show figures that the site draws itself: each is a module in ``docs/figures`` with `measure` and `draw`.

All of them are drawn when a build starts, once in dark ink on a light page and once the other way round; the directive
``drawn`` shows the one that fits the page.
"""

from __future__ import annotations

import importlib
import time
from pathlib import Path

import matplotlib as mpl
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

__all__ = ["FOLDER", "INKS", "Drawn", "draw_all", "setup"]

FOLDER = "_drawn"
"""In the folder of the sources; not kept in the repository."""
INKS = {
    "light": {"ink": "#222832", "page": "#ffffff"},
    "dark": {"ink": "#ced6dd", "page": "#14181e"},
}
"""Colours of text and page, as the theme has them."""

_logger = logging.getLogger(__name__)


class Drawn(SphinxDirective):
    """Show a drawn figure with a caption: the directive's content."""

    required_arguments = 1
    has_content = True
    option_spec = {"alt": directives.unchanged_required}  # noqa: RUF012 - docutils reads it from the class

    def run(self):
        """Return the figure; its two pictures have the classes by which the theme shows one of them."""
        if not self.options.get("alt") or not self.content:
            raise self.error(
                "A drawn figure has a caption and an option :alt: that says what is to be seen."
            )
        figure = nodes.figure(classes=["drawn"])
        for ink in INKS:
            picture = f"/{FOLDER}/{self.arguments[0]}-{ink}.svg"
            figure += nodes.image(
                uri=picture, alt=self.options["alt"], classes=[f"only-{ink}"]
            )
        caption = nodes.caption()
        for paragraph in self.parse_content_to_nodes():
            caption += paragraph.children
        figure += caption
        return [figure]


def draw_all(folder: Path) -> list[Path]:
    """Draw every figure of ``docs/figures`` in both inks; the same library gives the same bytes.

    Parameters
    ----------
    folder : Path
        Where the pictures are written, as SVG.
    """
    mpl.use("Agg")  # draws without a screen
    folder.mkdir(exist_ok=True)
    written = []
    for file in sorted((Path(__file__).parents[1] / "figures").glob("[a-z]*.py")):
        module = importlib.import_module(f"figures.{file.stem}")
        content = module.measure()
        for ink, colours in INKS.items():
            written.append(folder / f"{file.stem}-{ink}.svg")
            with mpl.rc_context(_settings(**colours)):  # its salt makes the same bytes
                figure = module.draw(content)
                figure.savefig(written[-1], transparent=True, metadata={"Date": None})
    return written


def _settings(ink: str, page: str) -> dict[str, object]:
    return {
        "svg.hashsalt": "brain-score",
        "font.size": 11,
        "figure.constrained_layout.use": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "patch.edgecolor": ink,
        **dict.fromkeys(("figure.facecolor", "axes.facecolor"), page),
        **dict.fromkeys(
            (
                "text.color",
                "axes.edgecolor",
                "axes.labelcolor",
                "xtick.color",
                "ytick.color",
            ),
            ink,
        ),
    }


def _before_reading(app):
    start = time.perf_counter()
    pictures = draw_all(Path(app.srcdir) / FOLDER)
    _logger.info(
        "drew %d pictures in %.1f s", len(pictures), time.perf_counter() - start
    )


def setup(app):
    """Draw the figures before pages are read, and offer the directive."""
    app.connect("builder-inited", _before_reading)
    app.add_directive("drawn", Drawn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
