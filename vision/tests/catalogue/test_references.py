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
    "bucket": 'BUCKET = Bucket("b")\ndata_registry["X"] = BUCKET.assembly("X", version_id="v", sha1="5")',
    "bucket with keywords": 'data_registry["X"] = Bucket(path="b").assembly(sha1="5", identifier="X", version_id="v")',
    "bucket of another file": (
        'from .other import SHARED\ndata_registry["X"] = SHARED.assembly("X", version_id="v", sha1="5", prepare=f)'
    ),
    "bucket in a function": (
        'BUCKET = Bucket("b", Class)\ndef of(part):\n    return BUCKET.assembly(part, sha1="5", version_id="v")\n'
        'data_registry["X"] = of("X")'
    ),
    "table": (
        'BUCKET = Bucket("b")\nTABLE = (("W", "4"), ("X", "5"))\nfor name, sha1 in TABLE:\n'
        '    data_registry[f"{name}"] = BUCKET.assembly(f"{name}", sha1=sha1, version_id="v")'
    ),
    "chained": f'data_registry["X"] = lambda: {CALL}.sel(region="V1").squeeze()',
}
OTHER = (
    "from brainscore_vision.data_helpers import Bucket\nSHARED = Bucket(BUCKET)\n"
    'BUCKET = "b"\ndef load(name):\n    assembly = load_assembly_from_s3(name, "v", "5", BUCKET)\n    return assembly'
)


def references_of_x(directory):
    return find_references(read_plugin(directory, "brainscore_vision.data.x"), "data_registry", "X")


@pytest.mark.parametrize(
    ("loader", "expected"),
    {
        'lambda: load_stimulus_set("Shown")': "Shown",
        "lambda: load_stimulus_set(name)": "X",
        'lambda: load_stimulus_set(f"{name}-shown")': "X-shown",
        "lambda: load_stimulus_set(compute())": None,
        "load_shown": None,
    }.items(),
)
def test_stimuli_of_an_assembly_are_found(plugins, loader, expected):
    text = f"""
def load(name):
    return load_assembly_from_s3(name, "v", "5", "b", stimulus_set_loader={loader})
data_registry["X"] = lambda: load("X")
"""
    (reference,) = references_of_x(plugins("x", __init__=text))
    assert reference.stimulus_set == expected


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_all_styles_of_registration_are_read(plugins, text):
    expected = Reference(identifier="X", file_type="nc", bucket="b", version_id="v", sha1="5", filename_prefix=None)
    assert references_of_x(plugins("x", __init__=text, other=OTHER)) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        'data_registry["X"] = lambda: load_assembly_from_s3(identifier=compute(), bucket="b")',
        'def load():\n    return load()\ndata_registry["X"] = load',
        'A = B\nB = A\ndata_registry["X"] = lambda: load_assembly_from_s3(A, "v", "5", A)',
        'BUCKET = Bucket("a")\nBUCKET = Bucket("b")\ndata_registry["X"] = BUCKET.assembly("X", sha1="5")',
        'for name in find():\n    data_registry["X"] = Bucket("b").assembly(name, sha1="5")',
        'BUCKET = find()\ndata_registry["X"] = BUCKET.assembly("X", sha1="5")',
        'data_registry["X"] = lambda: 1 +',
        "",
    ],
)
def test_unreadable_references_are_not_guessed(plugins, text):
    assert references_of_x(plugins("x", __init__=text)) == []


def test_files_of_a_bucket_are_found(plugins):
    text = """
BUCKET = Bucket("storage/folder")
data_registry["X"] = BUCKET.assembly("lab.X", sha1="5", stimuli="X-shown")
stimulus_set_registry["X"] = BUCKET.stimuli("X", csv_sha1="6", zip_sha1="7", zip_version_id="z", filename_prefix="p_")
"""
    plugin = read_plugin(plugins("x", __init__=text), "brainscore_vision.data.x")
    (assembly,) = find_references(plugin, "data_registry", "X")
    assert (assembly.identifier, assembly.bucket, assembly.version_id) == ("lab.X", "storage/folder", "null")
    assert assembly.stimulus_set == "X-shown"
    table, archive = find_references(plugin, "stimulus_set_registry", "X")
    assert (table.file_type, table.sha1, table.version_id, table.filename_prefix) == ("csv", "6", "null", "p_")
    assert (archive.file_type, archive.sha1, archive.version_id, archive.filename_prefix) == ("zip", "7", "z", "p_")
