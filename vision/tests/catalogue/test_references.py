"""Registrations are read, not run."""

import pytest

from brainscore_core.plugin_management.source import read_plugin
from brainscore_vision.catalogue.references import Reference, find_references

CALL = 'load_assembly_from_s3("X", "v", "5", "b")'
STYLES = {
    "positional": f'data_registry["X"] = lambda: {CALL}',
    "constant": (
        'BUCKET = "b"\ndata_registry["X"] = lambda: load_assembly_from_s3("X", bucket=BUCKET, version_id="v", sha1="5")'
    ),
    "partial": 'data_registry["X"] = partial(s3.load_assembly_from_s3, "X", "v", "5", bucket="b")',
    "function": (
        'def load():\n    name = "X"\n    return load_assembly_from_s3(name, "v", "5", "b")\ndata_registry["X"] = load'
    ),
    "arguments": (
        'def load(part, *, version="v"):\n    return load_assembly_from_s3(f"{part}", version, sha1="5", bucket="b")\n'
        'data_registry["X"] = lambda: load("X")'
    ),
    "other file": 'from .other import load as fetch_it\ndata_registry["X"] = lambda: fetch_it("X")',
    "wrapped": f'data_registry["X"] = lambda: clean_up({CALL}, level=2)',
    "chained": f'data_registry["X"] = lambda: {CALL}.sel(region="V1").squeeze()',
}
OTHER = (
    'BUCKET = "b"\ndef load(name):\n    assembly = load_assembly_from_s3(name, "v", "5", BUCKET)\n    return assembly'
)


def references_of_x(directory):
    return find_references(read_plugin(directory, "brainscore_vision.data.x"), "data_registry", "X")


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_styles_of_registration(plugins, text):
    expected = Reference(identifier="X", file_type="nc", bucket="b", version_id="v", sha1="5", filename_prefix=None)
    assert references_of_x(plugins("x", __init__=text, other=OTHER)) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        'data_registry["X"] = lambda: load_assembly_from_s3(identifier=compute(), bucket="b")',
        'def load():\n    return load()\ndata_registry["X"] = load',
        'A = B\nB = A\ndata_registry["X"] = lambda: load_assembly_from_s3(A, "v", "5", A)',
        'data_registry["X"] = lambda: 1 +',
        "",
    ],
)
def test_what_cannot_be_known_is_not_guessed(plugins, text):
    assert references_of_x(plugins("x", __init__=text)) == []
