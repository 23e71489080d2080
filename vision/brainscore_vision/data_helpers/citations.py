"""Read the citation that a data plugin states, so that each is written once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from brainscore_core.errors import PluginError
from brainscore_core.plugin_management.source import constants, parse

__all__ = ["cite_data"]

_DATA = Path(__file__).parents[1] / "data"


@cache
def cite_data(folder: str) -> str:
    """Return the constant ``BIBTEX`` of a data plugin, by its folder, without running it.

    Raises
    ------
    PluginError
        If the plugin does not exist or assigns no text to ``BIBTEX``.

    Examples
    --------
    >>> from brainscore_vision.data_helpers import cite_data
    >>> cite_data("majajhong2015").partition(",")[0]
    '@article{majajhong2015simple'
    """
    init = _DATA / folder / "__init__.py"
    try:
        bibtex = constants(parse(init.read_bytes())).get("BIBTEX")
    except OSError as error:
        raise PluginError(f"Cannot cite data plugin {folder!r}: {init} cannot be read ({error}).") from error
    if not isinstance(bibtex, str):
        raise PluginError(f'Data plugin {folder!r} states no citation. Add BIBTEX = """@article{{...}}""" to {init}.')
    return bibtex
