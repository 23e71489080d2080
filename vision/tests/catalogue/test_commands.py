import pytest

from brainscore_core import command_line
from brainscore_core.supported_data_standards.brainio.s3 import get_path
from brainscore_vision.commands.data import app


def run(*arguments):
    return command_line.run_app(app, arguments, program="data")


def test_wrong_digest_does_not_hide_other_data(made, plugins, capsys):
    plugins("x", __init__='data_registry["X"] = lambda: load_assembly_from_s3("X", "v", "5", "b")')
    assert run("list") == 0
    printed = capsys.readouterr()
    assert "Made2024.public" in printed.out
    assert "'5' given for 'X' is not a SHA-1 digest" in printed.err


def test_list_shows_cached_files_and_sizes(home, capsys, files):
    assert run("list") == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    size = len(files.CSV) + len(files.ZIP) + 1
    assert rows == [
        ["IDENTIFIER", "KIND", "CACHED", "SIZE", "PLUGIN"],
        ["Made2024", "data", "-", "0", "B", "made2024"],
        ["Made2024", "stimulus_set", "yes", str(size), "B", "made2024"],
        ["Made2024.public", "data", "yes", "6", "B", "made2024"],
    ]
    (home / files.sha1_of(files.CSV) / "stimulus_Made2024.csv").unlink()
    assert run("list", "--cached") == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()] == ["CACHED", "partly", "yes"]


def test_info_shows_files_licence_and_citation(home, made, capsys, files):
    assert run("info", "Made2024") == 0
    printed = capsys.readouterr().out
    for part in (
        str(made),
        "brainscore-storage",
        "folder/stimulus_Made2024.zip",
        "zip-version",
        files.sha1_of(files.ZIP),
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


def test_info_reads_the_metadata_file(plugins, capsys):
    directory = plugins("y", __init__='data_registry["Y"] = make')
    (directory / "metadata.yml").write_text('access: public\nlicence: CC-BY-4.0\ncitation: "Somebody (2026)."\n')
    assert run("info", "Y") == 0
    printed = capsys.readouterr().out
    for part in ("access    public", "licence   CC-BY-4.0", "citation  Somebody (2026)."):
        assert part in printed
    plugins("z", __init__='data_registry["Z"] = make')
    assert run("info", "Z") == 0
    assert "access    not public" in capsys.readouterr().out


def test_added_files_are_loaded_offline_by_digest(own_homes, tmp_path, monkeypatch, capsys, files):
    (tmp_path / "elsewhere.nc").write_bytes(files.NC)
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "assy_Mine2026.nc").symlink_to("../elsewhere.nc")
    (tmp_path / "packages" / "notes.csv").write_text("no data\n")
    path = own_homes / "brainio" / files.sha1_of(files.NC) / "assy_Mine2026.nc"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"damaged")
    assert run("add", str(tmp_path / "packages")) == 0
    assert capsys.readouterr().out == f"{path}\n"
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    for version_id in (None, "any"):
        assert get_path("Mine2026", "nc", "bucket", version_id, files.sha1_of(files.NC)) == path
    assert path.read_bytes() == files.NC
    assert not path.is_symlink()
    assert run("add", str(own_homes)) == 2
    assert "has no files stimulus_*.csv" in capsys.readouterr().err


def test_verify_accepts_intact_files(home, capsys):
    assert run("verify") == 0
    assert "3 files verified, 0 problems" in capsys.readouterr().out
    assert run("verify", "Made2024.public") == 0
    assert "1 file verified" in capsys.readouterr().out


@pytest.mark.parametrize("identifiers", [[], ["Made2024.public"]])
def test_verify_finds_a_changed_byte(home, capsys, identifiers, files):
    path = home / files.sha1_of(files.NC) / "assy_lab_Made2024.nc"
    path.write_bytes(b"VALUES")
    assert run("verify", *identifiers) == 1
    assert (
        f"{path} is damaged: expected sha1 {files.sha1_of(files.NC)}, found {files.sha1_of(b'VALUES')}"
        in capsys.readouterr().out
    )
    assert run("verify", "Made2024") == 0


def test_verify_finds_a_changed_stimulus(home, capsys, files):
    (home / files.sha1_of(files.ZIP) / "stimulus_Made2024" / "a.png").write_bytes(b"B")
    assert run("verify") == 1
    assert "a.png differs from the archive" in capsys.readouterr().out


def test_clean_removes_the_files_of_one_identifier(home, capsys, files):
    assert run("clean", "Made2024", "--dry-run") == 0
    assert capsys.readouterr().out.count("Would remove") == 2
    assert sorted(path.name for path in home.iterdir()) == sorted(map(files.sha1_of, (files.CSV, files.ZIP, files.NC)))
    assert run("clean", "Made2024") == 0
    assert [path.name for path in home.iterdir()] == [files.sha1_of(files.NC)]


def test_clean_all_leaves_files_that_are_not_in_the_cache(home, capsys):
    (home / "notes.txt").write_text("mine")
    (home / "folder").mkdir()
    (home / "folder" / "data").write_text("mine")
    (home / ("0" * 40)).write_text("a file, not a folder of the cache")
    assert run("clean", "--all") == 0
    assert sorted(path.name for path in home.iterdir()) == ["0" * 40, "folder", "notes.txt"]


def test_clean_removes_nothing_outside_the_data_home(home, tmp_path, files):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "assy_lab_Made2024.nc").write_bytes(files.NC)
    folder = home / files.sha1_of(files.NC)
    (folder / "assy_lab_Made2024.nc").unlink()
    folder.rmdir()
    folder.symlink_to(outside)
    (home / files.sha1_of(files.ZIP) / "link").symlink_to(outside)
    assert run("clean", "Made2024.public") == 0
    assert run("clean", "--all") == 0
    assert [path.name for path in outside.iterdir()] == ["assy_lab_Made2024.nc"]
    assert [path.name for path in home.iterdir()] == [files.sha1_of(files.NC)]


@pytest.mark.parametrize("arguments", [[], ["Made2024", "--all"]])
def test_clean_requires_exactly_one_target(made, capsys, arguments):
    assert run("clean", *arguments) == 2
    assert capsys.readouterr().err == "Error: Name what to remove: the files of one IDENTIFIER, or --all.\n"


@pytest.mark.slow
@pytest.mark.usefixtures("shared_caches")
def test_fetch_loads_the_data(capsys, monkeypatch):
    """Uses a real plugin that needs no network."""
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    assert run("fetch", "SimulatedCortex2026") == 0
    printed = capsys.readouterr().out
    assert "SimulatedCortex2026 (data): " in printed
    assert "stimuli" in printed


def test_fetch_rejects_unknown_identifiers(made, capsys):
    assert run("fetch", "Nobody2024") == 2
    assert "'Nobody2024'" in capsys.readouterr().err
