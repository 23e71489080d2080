"""The catalogue knows what is registered without running plugins, and never touches what is not its own."""

import argparse
import hashlib
import io
import textwrap
import zipfile
from pathlib import Path

import pytest

from brainscore_core.errors import UnknownIdentifierError
from brainscore_core.plugin_management.index import PluginRoot
from brainscore_vision import _references, catalogue


def sha1_of(content):
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def make_zip(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


CSV = b"stimulus_id,filename\na,a.png\n"
ZIP = make_zip({"a.png": b"A"})
NC = b"values"

PLUGIN = f'''
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_core.supported_data_standards.brainio.s3 import load_assembly_from_s3, load_stimulus_set_from_s3

raise RuntimeError("the catalogue must not run this")

BIBTEX = """@article{{made2024, title={{Made up}}}}"""
LICENSE = "CC-BY-4.0"

stimulus_set_registry["Made2024"] = lambda: load_stimulus_set_from_s3(
    identifier="Made2024",
    bucket="brainscore-storage/folder",
    csv_sha1="{sha1_of(CSV)}",
    zip_sha1="{sha1_of(ZIP)}",
    csv_version_id="csv-version",
    zip_version_id="zip-version",
)
data_registry["Made2024.public"] = lambda: load_assembly_from_s3(
    identifier="lab.Made2024",
    version_id="null",
    sha1="{sha1_of(NC)}",
    bucket="brainscore-storage/folder",
    cls=NeuroidAssembly,
    stimulus_set_loader=lambda: load_stimulus_set("Made2024"),
)
data_registry["Made2024"] = make_up
'''


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """Return a function that writes a plugin; the catalogue sees these plugins only."""
    root = PluginRoot(folder="data", path=tmp_path / "data", package="brainscore_vision.data")

    def write(name, **files):
        (root.path / name).mkdir(parents=True)
        for stem, text in files.items():
            (root.path / name / f"{stem}.py").write_text(textwrap.dedent(text))
        return root.path / name

    monkeypatch.setattr(catalogue, "library_roots", lambda library: [root])
    return write


@pytest.fixture
def made(plugins):
    return plugins("made2024", __init__=PLUGIN)


@pytest.fixture
def home(own_homes, made):
    """Return the data home with everything of the plugin cached, the archive extracted."""
    base = own_homes / "brainio"
    for name, content in {
        "stimulus_Made2024.csv": CSV,
        "stimulus_Made2024.zip": ZIP,
        "assy_lab_Made2024.nc": NC,
    }.items():
        folder = base / sha1_of(content)
        folder.mkdir(parents=True)
        (folder / name).write_bytes(content)
    extracted = base / sha1_of(ZIP) / "stimulus_Made2024"
    extracted.mkdir()
    (extracted / "a.png").write_bytes(b"A")
    return base


def run(*arguments):
    parser = argparse.ArgumentParser()
    catalogue.add_commands(parser.add_subparsers(required=True))
    options = parser.parse_args(["data", *arguments])
    return options.command(options)


# --- what is registered -----------------------------------------------------------------------------------------------


def test_entries_without_running_the_plugin(made):
    found = {(entry.identifier, entry.kind): entry for entry in catalogue.entries()}
    assert set(found) == {("Made2024", "data"), ("Made2024", "stimulus_set"), ("Made2024.public", "data")}
    assert [str(file.source) for file in found["Made2024", "stimulus_set"].files] == [
        "s3://brainscore-storage/folder/stimulus_Made2024.csv (version csv-version)",
        "s3://brainscore-storage/folder/stimulus_Made2024.zip (version zip-version)",
    ]
    (file,) = found["Made2024.public", "data"].files
    assert (file.source.key, file.source.version_id) == ("folder/assy_lab_Made2024.nc", "null")
    assert file.source.sha1 == sha1_of(NC)
    assert found["Made2024", "data"].files == ()
    assert {entry.cached for entry in found.values()} == {"no", "-"}


def test_entries_of_the_library_itself():
    """Oracle: what the plugin states in two files (a literal digest in one, bucket and version in the other)."""
    found = {entry.kind: entry for entry in catalogue.entries("Geirhos2021_edge")}
    (file,) = found["data"].files
    assert file.source.sha1 == "ab1dc9e188e248da07215b375eb3dbcc58fde7fb"
    assert str(file.source) == (
        "s3://brainscore-storage/brainio-brainscore/assy_brendel_Geirhos2021_edge.nc (version null)"
    )
    assert [Path(file.source.key).name for file in found["stimulus_set"].files] == [
        "stimulus_Geirhos2021_edge.csv",
        "stimulus_Geirhos2021_edge.zip",
    ]


def test_unknown_identifier(made):
    with pytest.raises(UnknownIdentifierError, match="Made2024"):
        catalogue.entries("Mad2024")


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


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_styles_of_registration(plugins, text):
    directory = plugins("x", __init__=text, other=OTHER)
    expected = _references.Reference(
        identifier="X", file_type="nc", bucket="b", version_id="v", sha1="5", filename_prefix=None
    )
    assert _references.find_references(directory, "data_registry", "X") == [expected]


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
    assert _references.find_references(plugins("x", __init__=text), "data_registry", "X") == []


def test_wrong_digest_does_not_hide_the_other_data(made, plugins, capsys):
    plugins("x", __init__='data_registry["X"] = lambda: load_assembly_from_s3("X", "v", "5", "b")')
    assert run("list") == 0
    printed = capsys.readouterr()
    assert "Made2024.public" in printed.out
    assert "'5' given for 'X' is no SHA-1" in printed.err


# --- commands ---------------------------------------------------------------------------------------------------------


def test_list(home, capsys):
    assert run("list") == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    size = len(CSV) + len(ZIP) + 1
    assert rows == [
        ["IDENTIFIER", "KIND", "CACHED", "SIZE", "PLUGIN"],
        ["Made2024", "data", "-", "0", "B", "made2024"],
        ["Made2024", "stimulus_set", "yes", str(size), "B", "made2024"],
        ["Made2024.public", "data", "yes", "6", "B", "made2024"],
    ]
    (home / sha1_of(CSV) / "stimulus_Made2024.csv").unlink()
    assert run("list", "--cached") == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()] == ["CACHED", "partly", "yes"]


def test_info(home, made, capsys):
    assert run("info", "Made2024") == 0
    printed = capsys.readouterr().out
    for part in (
        str(made),
        "brainscore-storage",
        "folder/stimulus_Made2024.zip",
        "zip-version",
        sha1_of(ZIP),
        "CC-BY-4.0",
        "@article{made2024, title={Made up}}",
        "public    Made2024.public",
    ):
        assert part in printed


def test_info_without_licence_and_citation(plugins, capsys):
    directory = plugins("x", __init__='data_registry["X"] = make')
    assert run("info", "X") == 0
    assert capsys.readouterr().out.count("not stated by the plugin") == 2
    (directory / "LICENSE.txt").write_text("MIT License\n\nmore")
    run("info", "X")
    assert "licence   MIT License" in capsys.readouterr().out


def test_verify(home, capsys):
    assert run("verify") == 0
    assert "3 files verified, 0 problems" in capsys.readouterr().out
    assert run("verify", "Made2024.public") == 0
    assert "1 files verified" in capsys.readouterr().out


@pytest.mark.parametrize("identifiers", [[], ["Made2024.public"]])
def test_verify_finds_a_changed_byte(home, capsys, identifiers):
    path = home / sha1_of(NC) / "assy_lab_Made2024.nc"
    path.write_bytes(b"VALUES")
    assert run("verify", *identifiers) == 1
    assert f"{path} is damaged: expected sha1 {sha1_of(NC)}, found {sha1_of(b'VALUES')}" in capsys.readouterr().out
    assert run("verify", "Made2024") == 0


def test_verify_finds_a_changed_stimulus(home, capsys):
    (home / sha1_of(ZIP) / "stimulus_Made2024" / "a.png").write_bytes(b"B")
    assert run("verify") == 1
    assert "a.png differs from the archive" in capsys.readouterr().out


def test_clean_one(home, capsys):
    assert run("clean", "Made2024", "--dry-run") == 0
    assert capsys.readouterr().out.count("Would remove") == 2
    assert sorted(path.name for path in home.iterdir()) == sorted(map(sha1_of, (CSV, ZIP, NC)))
    assert run("clean", "Made2024") == 0
    assert [path.name for path in home.iterdir()] == [sha1_of(NC)]


def test_clean_all_leaves_what_is_not_of_the_cache(home, capsys):
    (home / "notes.txt").write_text("mine")
    (home / "folder").mkdir()
    (home / "folder" / "data").write_text("mine")
    (home / ("0" * 40)).write_text("a file, not a folder of the cache")
    assert run("clean", "--all") == 0
    assert sorted(path.name for path in home.iterdir()) == ["0" * 40, "folder", "notes.txt"]


def test_clean_never_leaves_the_data_home(home, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "assy_lab_Made2024.nc").write_bytes(NC)
    folder = home / sha1_of(NC)
    (folder / "assy_lab_Made2024.nc").unlink()
    folder.rmdir()
    folder.symlink_to(outside)
    (home / sha1_of(ZIP) / "link").symlink_to(outside)
    assert run("clean", "Made2024.public") == 0
    assert run("clean", "--all") == 0
    assert [path.name for path in outside.iterdir()] == ["assy_lab_Made2024.nc"]
    assert [path.name for path in home.iterdir()] == [sha1_of(NC)]


def test_clean_needs_to_be_told_what(made):
    with pytest.raises(SystemExit) as caught:
        run("clean")
    assert caught.value.code == 2


def test_fetch_loads(capsys, monkeypatch):
    """A real plugin that needs no network."""
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    assert run("fetch", "SimulatedCortex2026") == 0
    printed = capsys.readouterr().out
    assert "SimulatedCortex2026 (data): " in printed
    assert "stimuli" in printed


def test_fetch_of_nothing_known(made):
    with pytest.raises(UnknownIdentifierError):
        run("fetch", "Nobody2024")
