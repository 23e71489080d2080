"""Read the citation that another plugin states."""

from functools import cache
from pathlib import Path

from brainscore_core.errors import PluginError
from brainscore_core.plugin_management.registrations import constants, parse

__all__ = ["cite_data", "cite_plugin"]

_PLUGINS = Path(__file__).parents[1]


def cite_data(folder: str) -> str:
    """Return the constant ``BIBTEX`` of a data plugin, see `cite_plugin`.

    Examples
    --------
    >>> from brainscore_vision.data_helpers import cite_data
    >>> cite_data("majajhong2015").partition(",")[0]
    '@article{majajhong2015simple'
    """
    return cite_plugin(f"data/{folder}")


@cache
def cite_plugin(folder: str, constant: str = "BIBTEX") -> str:
    """Return a citation of a plugin, such as ``'metrics/rsa_ceiling'``, without running it.

    Raises `PluginError` if the plugin does not exist or assigns no text to the constant.
    """
    init = _PLUGINS / folder / "__init__.py"
    try:
        bibtex = constants(parse(init.read_bytes())).get(constant)
    except OSError as error:
        raise PluginError(f"Cannot cite plugin {folder!r}: {init} cannot be read ({error}).") from error
    if not isinstance(bibtex, str):
        raise PluginError(f'Plugin {folder!r} states no citation. Add {constant} = """@article{{...}}""" to {init}.')
    return bibtex
