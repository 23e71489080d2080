"""Tell whether a data plugin registers what it should: one digest of all that it says about files."""

from __future__ import annotations

import hashlib

from brainscore_core.errors import PluginError, did_you_mean
from brainscore_core.plugin_management.source import read_plugin
from brainscore_vision.catalogue.entries import DATA_KINDS, plugin_index
from brainscore_vision.catalogue.references import find_references

__all__ = ["registered_files", "registration_digest"]


def registered_files(plugin: str) -> list[str]:
    """Return one line for each file in S3 that a data plugin names, sorted; the plugin does not run.

    Parameters
    ----------
    plugin : str
        Folder below ``brainscore_vision/data``.

    Returns
    -------
    list of str
        ``<kind> <registered identifier> <packaged identifier> <type> <bucket> <version> <sha1>``.

    Raises
    ------
    PluginError
        There is no such folder.
    """
    plugins = {found.directory.name: found for found in plugin_index().plugins("data")}
    if plugin not in plugins:
        hint = did_you_mean(plugin, plugins)
        raise PluginError(f"No data plugin has the folder {plugin!r}.{hint} They lie below brainscore_vision/data.")
    found = plugins[plugin]
    source = read_plugin(found.directory, found.module)
    lines = []
    for kind in DATA_KINDS:
        for name in found.identifiers(kind):
            for file in find_references(source, kind.registry, name):
                facts = (kind.name, name, file.identifier, file.file_type, file.bucket, file.version_id, file.sha1)
                lines.append(" ".join(map(str, facts)))
    return sorted(lines)


def registration_digest(plugin: str) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 of `registered_files`, to compare with a published one."""
    return hashlib.sha256("\n".join(registered_files(plugin)).encode()).hexdigest()[:12]
