"""Write formulas as MathML, which browsers draw themselves: nothing is fetched or run when a page is read."""

from __future__ import annotations

from html import escape

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number

__all__ = ["mathml", "setup"]


def mathml(formula: str, *, display: bool) -> str:
    """Return a formula of LaTeX as MathML.

    Parameters
    ----------
    formula : str
        Without dollars; an alignment with ``&`` or several lines may come without an environment.
    display : bool
        Whether it stands on lines of its own.

    Raises
    ------
    ExtensionError
        If it cannot be read.
    """
    aligned = "\\\\" in formula and "\\begin" not in formula
    text = rf"\begin{{align}}{formula}\end{{align}}" if aligned else formula
    try:
        written = str(convert(text, display="block" if display else "inline"))
    except Exception as error:  # whatever the converter raises, the page shall say which formula it was
        raise ExtensionError(
            f"This formula cannot be written as MathML ({error!r}): {formula}"
        ) from error
    if "\\" in written:  # a command that the converter does not know stays as it is
        raise ExtensionError(
            f"This formula has a command that cannot be written as MathML: {formula}"
        )
    return written


def inline(translator, node: nodes.math) -> None:
    translator.body.append(
        f'<span class="math-inline">{mathml(node.astext(), display=False)}</span>'
    )
    raise nodes.SkipNode


def block(translator, node: nodes.math_block) -> None:
    """Write a block that scrolls, by keyboard too, if the page is too narrow for it, with its number if it has one."""
    number = get_node_equation_number(translator, node) if node.get("number") else ""
    said = f'<span class="eqno">({escape(number)})</span>' if number else ""
    translator.body.append(
        f'<div class="math-block" tabindex="0">{said}{mathml(node.astext(), display=True)}</div>\n'
    )
    raise nodes.SkipNode


def setup(app):
    """Offer the renderer under the name ``mathml``."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(inline, None), block_renderers=(block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
