"""The files that a data plugin registers."""

from brainscore_core.errors import PluginError, did_you_mean
from brainscore_core.plugin_management.source import read_plugin
from brainscore_vision.catalogue.entries import DATA_KINDS, plugin_index
from brainscore_vision.catalogue.references import find_references

__all__ = ["registered_files"]


def registered_files(plugin: str) -> list[str]:
    """Return a sorted line for each S3 file of a data plugin, without running it.

    Lines are ``<kind> <registered identifier> <packaged identifier> <type> <bucket> <version> <sha1>``.
    """
    plugins = {entry.directory.name: entry for entry in plugin_index().plugins("data")}
    if plugin not in plugins:
        hint = did_you_mean(plugin, plugins)
        raise PluginError(f"No data plugin has the folder {plugin!r}.{hint} They lie below brainscore_vision/data.")
    match = plugins[plugin]
    source = read_plugin(match.directory, match.module)
    lines = []
    for kind in DATA_KINDS:
        for name in match.identifiers(kind):
            for file in find_references(source, kind.registry, name):
                facts = (kind.name, name, file.identifier, file.file_type, file.bucket, file.version_id, file.sha1)
                lines.append(" ".join(map(str, facts)))
    return sorted(lines)
