"""The command line finds problems of real files and plugins, explains how to fix them, and exits as documented."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import brainscore_vision
from brainscore_core.__main__ import main
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.packaging import (
    package_data_assembly_locally,
    package_stimulus_set_locally,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.validation.problem import Problem, format_table, raise_errors

LIBRARY = ["--library", "brainscore_vision"]  # core itself knows none


@pytest.fixture
def packages(tmp_path):
    """Return a folder with a valid stimulus set and a valid assembly."""
    (tmp_path / "stimuli").mkdir()
    stimulus_set = StimulusSet({"stimulus_id": ["a", "b"], "object_name": ["x", "y"]})
    stimulus_set.stimulus_paths = {name: tmp_path / "stimuli" / f"{name}.png" for name in "ab"}
    for shade, path in enumerate(stimulus_set.stimulus_paths.values()):
        Image.new("RGB", (8, 8), (shade, 0, 0)).save(path)
    package_stimulus_set_locally(stimulus_set, "A2024", tmp_path / "packages")
    package_data_assembly_locally(make_assembly(), "A2024", "A2024", downloads_path=tmp_path / "packages")
    return tmp_path / "packages"


def make_assembly(ids=("a", "b", "a", "b")):
    return NeuroidAssembly(
        np.arange(8.0).reshape(4, 2),
        coords={
            "stimulus_id": ("presentation", list(ids)),
            "repetition": ("presentation", [0, 0, 1, 1]),
            "neuroid_id": ("neuroid", ["n1", "n2"]),
        },
        dims=["presentation", "neuroid"],
        attrs={"units": "Hz"},
    )


def run_validate(capsys, *targets):
    """Return (exit code, {(kind, where): (what, fix)}) of the command."""
    code = main(["validate", "--json", *LIBRARY, *map(str, targets)])
    answer = json.loads(capsys.readouterr().out)
    problems = [problem for target in answer["targets"] for problem in target["problems"]]
    assert answer["errors"] + answer["hints"] == len(problems)
    return code, {(one["kind"], one["where"]): (one["what"], one["fix"]) for one in problems}


def test_valid_packages_pass(packages, capsys):
    files = sorted(packages.iterdir())
    assert [path.suffix for path in files] == [".nc", ".csv", ".zip"]
    for target in [packages, *files]:
        assert main(["validate", str(target)]) == 0
        assert capsys.readouterr().out == f"{target}: 0 errors, 0 hints\n"


def test_validate_runs_as_a_program(packages):
    (packages / "stimulus_A2024.zip").unlink()
    command = [sys.executable, "-m", "brainscore_core", "validate", str(packages)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "100"})
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{packages}: 2 errors, 0 hints"
    assert lines[2].split() == ["KIND", "WHERE", "WHAT", "FIX"]
    assert all(len(line) <= 100 for line in lines[2:])


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("simulatedcortx2026", "Did you mean 'simulatedcortex2026'"),
        ("Geirhos2021_color", "Did you mean 'Geirhos2021_colour'"),
        ("absent.csv", "absent.csv does not exist"),
        ("absent.nc", "absent.nc does not exist"),
    ],
)
def test_error_for_an_unknown_name_helps(target, said, capsys):
    assert main(["validate", target, *LIBRARY]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_plugin_needs_the_name_of_its_library(plugin, capsys):
    for target in ("SimulatedCortex2026", str(plugin)):
        assert main(["validate", target]) == 2
        assert "--library" in capsys.readouterr().err


def test_rejects_targets_that_cannot_be_checked(tmp_path, packages, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    for target in ("empty", "notes.txt"):
        assert main(["validate", str(tmp_path / target)]) == 2
        assert target in capsys.readouterr().err
    assert main(["validate", "x", "--library", "no_such_library"]) == 2
    assert "no_such_library" in capsys.readouterr().err
    assert main(["validate", str(packages / "assy_A2024.nc"), "--class", "NeuroidAsembly"]) == 2
    assert "Did you mean 'NeuroidAssembly'" in capsys.readouterr().err


# --- tables and archives ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "where", "what"),
    [
        (b"", "table", "is empty"),
        (b"\xef\xbb\xbfstimulus_id,filename\na,a.png\n", "table", "byte order mark"),
        (b"stimulus_id,filename\na\0,a.png\n", "table", "NUL byte"),
        (b"stimulus_id,filename\n\xff,a.png\n", "table", "not UTF-8 (byte 21)"),
        (b"stimulus_id,stimulus_id,filename\na,a,a.png\n", "column 'stimulus_id'", "'stimulus_id' 2 times"),
        (
            b"stimulus_id,filename\na,a.png,extra\n",
            "table",
            "1 row with a different number of fields from the header (2)",
        ),
        (b'stimulus_id,filename\n"a,a.png\n', "table", "is not comma-separated text"),
        (b"id,filename\na,a.png\n", "column 'stimulus_id'", "no column 'stimulus_id'"),
        (b"stimulus_id,filename\na,a.png\na,b.png\n", "column 'stimulus_id'", "'a' occurs 2 times"),
        (b"stimulus_id,filename\na,a.png\n,b.png\n", "column 'stimulus_id'", "empty text"),
        (b"stimulus_id,category\na,x\nb,y\n", "column 'filename'", "no column 'filename'"),
    ],
)
def test_problems_of_a_broken_table_are_reported(packages, capsys, content, where, what):
    (packages / "stimulus_A2024.csv").write_bytes(content)
    code, problems = run_validate(capsys, packages / "stimulus_A2024.csv")
    assert code == 1
    assert what in problems["error", where][0]
    assert all(fix for _, fix in problems.values())


def test_formulas_give_a_hint(packages, capsys):
    table = packages / "stimulus_A2024.csv"
    table.write_text(table.read_text().replace('"x"', '"=cmd()"').replace('"y"', '"-1.5"'))
    code, problems = run_validate(capsys, table)
    assert code == 0
    assert "1 cells start like a formula" in problems["hint", "column 'object_name'"][0]


def rewrite(archive, change):
    with zipfile.ZipFile(archive) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(archive, "w") as new:
        for name, content in change(members):
            new.writestr(name, content)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        (lambda m: [("a.png", m["a.png"])], "file 'b.png'", "listed in the table but not in"),
        (lambda m: [*m.items(), ("c.png", m["a.png"])], "file 'c.png'", "but not listed in the table"),
        (lambda m: [*m.items(), ("a.png", b"x")], "stimulus_A2024.zip", "'a.png' occurs 2 times"),
        (lambda m: [*m.items(), ("../c.png", b"x")], "stimulus_A2024.zip", "'../c.png' is not a plain path"),
        (lambda m: [*m.items(), ("B.PNG", b"x")], "stimulus_A2024.zip", "differ only in case"),
        (lambda m: [("a.png", m["a.png"][:40]), ("b.png", m["b.png"])], "file 'a.png'", "cannot be decoded"),
        (lambda m: [("a.png", b""), ("b.png", m["b.png"])], "file 'a.png'", "is empty"),
    ],
)
def test_problems_of_a_broken_archive_are_reported(packages, capsys, change, where, what):
    rewrite(packages / "stimulus_A2024.zip", change)
    code, problems = run_validate(capsys, packages / "stimulus_A2024.zip")
    assert code == 1
    assert what in problems["error", where][0]


def test_damaged_archives_are_reported(packages, capsys):
    archive = packages / "stimulus_A2024.zip"
    content = archive.read_bytes()
    archive.write_bytes(content[:-30])
    assert "is not an archive or is damaged" in run_validate(capsys, archive)[1]["error", archive.name][0]
    with zipfile.ZipFile(archive, "w") as new:  # one byte of a member that no decoder looks at
        new.writestr("a.png", b"x" * 100)
    damaged = bytearray(archive.read_bytes())
    damaged[60] ^= 1
    archive.write_bytes(damaged)
    assert "file 'a.png'" in {where for _, where in run_validate(capsys, archive)[1]}
    archive.with_suffix(".csv").unlink()
    assert (
        "the table stimulus_A2024.csv next to the archive is missing"
        in run_validate(capsys, archive)[1]["error", archive.name][0]
    )


def test_table_is_checked_against_its_folder(tmp_path, packages, capsys):
    table = tmp_path / "mine.csv"
    table.write_text("stimulus_id,image_filename\n1,a.png\n2,b.png\n")
    shutil.copytree(tmp_path / "stimuli", tmp_path / "mine")
    assert run_validate(capsys, table) == (0, {})
    (tmp_path / "mine" / "b.png").unlink()
    code, problems = run_validate(capsys, table)
    assert code == 1
    assert "b.png does not exist" in problems["error", "stimulus '2'"][0]
    table.write_text("stimulus_id,filename\n1,a.png\n")
    assert "'stimulus_filename'" in run_validate(capsys, table)[1]["error", "column 'filename'"][1]
    table.write_text("stimulus_id,category\n1,x\n")
    assert "no column maps stimuli" in run_validate(capsys, table)[1]["error", "table"][0]
    table.write_text("Picture,unit,rep,rate\n1,n1,0,2.5\n")  # raw responses
    fix = run_validate(capsys, table)[1]["error", "table"][1]
    assert fix.endswith("raw responses, name the table of its stimuli too: brainscore package STIMULI.csv mine.csv")


# --- assemblies -------------------------------------------------------------------------------------------------------


def test_assemblies_are_checked(packages, capsys):
    path = packages / "assy_A2024.nc"
    values = make_assembly()
    values.values[0, 0] = np.nan
    package_data_assembly_locally(values, "A2024", "A2024", downloads_path=packages, nans_expected=True)
    assert run_validate(capsys, path) == (0, {})
    elsewhere = packages / "elsewhere"  # without the stimuli, packaging cannot compare
    package_data_assembly_locally(make_assembly(ids="abax"), "A2024", "A2024", downloads_path=elsewhere)
    (elsewhere / path.name).replace(path)
    code, problems = run_validate(capsys, path)
    assert code == 1
    said = "1 of 3 stimulus_ids of the assembly are not in the stimulus set: x"
    assert said in problems["error", "coordinate 'stimulus_id'"][0]
    code, problems = run_validate(capsys, path, "--class", "SpikeTimesAssembly")
    assert code == 1
    assert ("error", "dimension 'event'") in problems
    (packages / "stimulus_A2024.csv").unlink()
    assert run_validate(capsys, path)[1].keys() == {("hint", "stimulus set"), ("hint", "coordinate 'repetition'")}
    path.write_bytes(path.read_bytes()[:500])
    assert "cannot be read" in run_validate(capsys, path)[1]["error", "file"][0]


# --- plugins ----------------------------------------------------------------------------------------------------------

PLUGIN = """
import numpy as np
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet


def load():
    return StimulusSet({"stimulus_id": ["a", "a"]})


stimulus_set_registry["Broken2024"] = load
data_registry["Broken2024"] = lambda: NeuroidAssembly(
    np.array([[np.nan]]), dims=["presentation", "neuroid"], coords={"neuroid_id": ("neuroid", ["n"])})
data_registry["Failing2024"] = lambda: 1 / 0
data_registry["Other2024"] = lambda: {"no": "assembly"}
"""


@pytest.fixture
def plugin(tmp_path):
    registries = (brainscore_vision.data_registry, brainscore_vision.stimulus_set_registry)
    before = [dict(registry) for registry in registries]
    folder = tmp_path / "broken2024"
    folder.mkdir()
    (folder / "__init__.py").write_text(PLUGIN)
    yield folder
    sys.modules.pop("brainscore_vision.data.broken2024", None)
    for registry, content in zip(registries, before, strict=True):
        registry.clear()
        registry.update(content)


def test_plugin_folder_is_checked(plugin, capsys):
    code, problems = run_validate(capsys, plugin)
    assert code == 1
    expected = {
        ("hint", "plugin"): "test.py is missing",
        ("error", "stimulus set 'Broken2024': column 'stimulus_id'"): "'a' occurs 2 times",
        ("error", "stimulus set 'Broken2024': stimulus_paths"): "stimulus_paths is not set",
        ("error", "data 'Broken2024': coordinate 'stimulus_id'"): "is absent",
        ("error", "data 'Broken2024': values"): "1 of 1 values are NaN",
        ("hint", "data 'Broken2024': attrs"): "units",
        ("error", "data 'Failing2024'"): "cannot be loaded: ZeroDivisionError: division by zero",
        ("hint", "data 'Other2024': type"): "is a dict",
    }
    assert problems.keys() == expected.keys()
    for key, part in expected.items():
        assert part in problems[key][0]


def test_unreadable_plugin_is_reported(plugin, capsys):
    (plugin / "__init__.py").write_text("def broken(:\n")
    code, problems = run_validate(capsys, plugin)
    assert code == 1
    assert "__init__.py:1" in problems["error", "__init__.py"][0]
    (plugin / "__init__.py").write_text("x = 1\n")
    assert "registers neither" in run_validate(capsys, plugin)[1]["error", "__init__.py"][0]


@pytest.mark.slow
def test_plugin_of_the_library_is_loaded_and_checked(capsys):
    assert main(["validate", *LIBRARY, "SimulatedCortex2026.truth"]) == 0
    assert capsys.readouterr().err.startswith("Loading SimulatedCortex2026.truth ...\n")  # before the imports
    code, problems = run_validate(capsys, "SimulatedCortex2026.truth")
    assert code == 0
    assert all(kind == "hint" for kind, _ in problems)


def test_core_does_not_import_the_domain():
    code = "import sys, brainscore_core.__main__ as m; m.app; print([n for n in sys.modules if 'vision' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- tables of problems -----------------------------------------------------------------------------------------------


def test_table_of_problems_fits_and_is_complete():
    problems = [
        Problem(where="here", what="a hint", fix="nothing", is_hint=True),
        Problem(where="column \x1b[31m'x'", what="word " * 40, fix="another " * 30),
    ]
    table = format_table(problems, 80)
    lines = table.splitlines()
    assert max(map(len, lines)) <= 80
    assert (lines[1].split()[0], lines[-1].split()[0]) == ("error", "hint")
    assert table.count("word") == 40
    assert table.count("another") == 30
    assert "\x1b" not in table
    assert "\\x1b[31m" in table


def test_message_counts_similar_problems():
    problems = [Problem(where=f"stimulus {number}", what="absent", fix="add it") for number in range(12)]
    problems.append(Problem(where="values", what="NaN", fix="mend them"))
    problems.append(Problem(where="x", what="y", fix="z", is_hint=True))
    with pytest.raises(ValueError, match="Wrong") as caught:
        raise_errors(problems, ValueError, "Wrong")
    lines = str(caught.value).splitlines()
    assert lines[0] == "Wrong:"
    assert lines[6:] == ["  ... and 7 more like these", "- values: NaN; mend them"]
    raise_errors(problems[-1:], ValueError, "Only a hint")


def test_home_is_expanded(packages, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(packages.parent))
    assert main(["validate", f"~/{Path(packages).name}"]) == 0
