"""Hold the class of all figures; importing this needs matplotlib."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

__all__ = ["Drawing"]


class Drawing(Figure):
    """A figure that a notebook shows, although pyplot does not know of it."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=144)
        return content.getvalue()
