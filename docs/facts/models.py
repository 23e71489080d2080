"""Tell what each published name of a model means: a table for each plugin, a line for each row of its models."""

from urllib.parse import urlsplit

from brainscore_core.plugin_management.registrations import table_of
from brainscore_vision.catalogue.model_tables import read_table
from facts.plugins import own_plugins

COLUMNS = (
    "identifier",
    "network",
    "pictures",
    "layers",
    "readout",
    "degrees",
    "weights",
)


def table() -> str:
    """Return the tables of all plugins, with headings of the third level."""
    parts = []
    for plugin in own_plugins("models"):
        if not table_of(plugin.directory).is_file():
            continue
        rows = read_table(table_of(plugin.directory)).values()
        loaded = [_cells(row) for row in rows if not row.reason]
        absent = [(f"`{row.identifier}`", row.reason) for row in rows if row.reason]
        parts.append(f"### `{plugin.name}`")
        parts += [markdown(COLUMNS, loaded)] if loaded else []
        parts += (
            [markdown(("identifier", "why it is not loaded"), absent)] if absent else []
        )
    return "\n\n".join(parts)


def markdown(columns, rows) -> str:
    """Return a table of Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(row):
    in_steps = row.source == "cornet_s" and not row.region_layer_map
    return (
        f"`{row.identifier}`",
        _network(row),
        row.pictures or ("library" if row.library else "square 224, imagenet"),
        "those of each step" if in_steps else _layers(row),
        "`decoder.avgpool-t0`" if in_steps else f"`{row.readout}`",
        row.degrees or "8",
        _weights(row),
    )


def _network(row):
    outputs = {"": "", "0": ", without the last layer"}
    network = f"`{row.source}`" + outputs.get(row.classes, f", {row.classes} outputs")
    network += ", without that of the background" if row.background else ""
    return network + (f", padded for {row.padding} pixels" if row.padding else "")


def _layers(row):
    """Return the layer of each region, or the ends of the list to choose among."""
    if row.region_layer_map:
        return ", ".join(
            f"{region} `{layer}`" for region, layer in row.region_layer_map.items()
        )
    layers = row.layers.split()
    ends = list(dict.fromkeys((layers[0], layers[-1])))
    return f"of {len(layers)}: " + " to ".join(f"`{layer}`" for layer in ends)


def _weights(row):
    """Return where the checkpoint is, the first digits of its digest, and whether its published plugin unpickles it."""
    if not row.weights:
        return row.library
    if row.weights == "random":
        return "random, seed 0"
    address = urlsplit(row.weights)
    repository = address.path.partition("@")[0]
    places = {
        "s3": f"S3, `{address.netloc}`",
        "hub": f"huggingface.co, `{repository}`",
    }
    place = places.get(address.scheme, address.netloc)
    digest = f", `{row.digest[:8]}`" if row.digest else ""
    return place + digest + (", published as a pickle" if row.pickle else "")
