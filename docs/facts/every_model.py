"""List every model that a plugin registers by itself, with what its source says, without importing it."""

import ast

from brainscore_core.plugin_management.registrations import table_of
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.plugin_management.source import read_plugin
from facts.models import markdown
from facts.plugins import description_of, own_plugins

REGIONS = ("V1", "V2", "V4", "IT")


def table() -> str:
    """Return a table: a row for each identifier and scheme; a plugin with a table of models has its own section."""
    rows = [
        (f"`{entry.identifier}`", f"`{plugin.name}`", *facts)
        for plugin in own_plugins("models")
        if not table_of(plugin.directory).is_file()
        for facts in [(description_of(plugin), *layers_of(plugin))]
        for entry in plugin.registrations
        if entry.registry == KINDS["model"].registry
    ]
    return markdown(("identifier", "plugin", "description", *REGIONS), rows)


def layers_of(plugin) -> list[str]:
    """Return the layers of each region that the plugin states literally; empty where they are computed."""
    source = read_plugin(plugin.directory, plugin.module)
    maps = [
        ast.literal_eval(value)
        for path in source.imported
        if (found := source.assigned(path, "REGION_LAYER_MAP"))
        for value in [found[1]]
        if isinstance(value, ast.Dict) and not _computed(value)
    ]
    layers = maps[0] if maps else {}
    return [_as_shown(layers[region]) if region in layers else "" for region in REGIONS]


def _computed(value: ast.Dict) -> bool:
    plain = (ast.Dict, ast.Constant, ast.List, ast.Tuple, ast.Load)
    return not all(isinstance(node, plain) for node in ast.walk(value))


def _as_shown(layers) -> str:
    if isinstance(layers, str):
        return f"`{layers}`"
    return f"`{layers[0]}` to `{layers[-1]}`"
