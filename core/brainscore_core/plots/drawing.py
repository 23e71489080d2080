"""The class of all figures; needs matplotlib."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Drawing(Figure):
    """A figure that notebooks show without pyplot."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=144)
        return content.getvalue()
