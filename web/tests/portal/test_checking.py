"""Test checking uploads in the box against the verdict of `brainscore validate`."""

import io
import json
import re
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest

from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_core.supported_data_standards.brainio.assemblies import AssemblyLoader, DataAssembly
from brainscore_web.portal.checking import program

sys.path.insert(0, str(Path(__file__).parent))
from hostile import ARCHIVE, IDS, TABLE, hostile, packaged, png, verdict, written

needs_box = pytest.mark.skipif(why_no_box() is not None, reason=str(why_no_box()))


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Return name -> content of a packaged stimulus set and assembly."""
    folder = tmp_path_factory.mktemp("package")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRAINIO_HOME", str(folder / "home"))
        return packaged(folder)


@pytest.mark.slow
def test_check_refuses_all_that_validate_refuses(package, tmp_path, monkeypatch):
    """Every finding of `brainscore validate` is in the report; files that belong to no package are refused too."""
    monkeypatch.setattr(program, "_plugin", lambda *_: {})
    count, published = 0, []
    for count, (what, files) in enumerate(hostile(package), 1):
        folder = written(tmp_path / str(count), files)
        report = program.check(folder, tmp_path / "out", "brainscore_vision", "Mine2026")
        reported = [entry["what"] for entry in report["problems"] if entry["kind"] == "error"]
        published += [] if reported else [what]
        assert verdict(folder) <= set(reported), what
    assert published == []
    assert count >= 50


def test_tables_are_imported_as_for_new_plugins(tmp_path, monkeypatch):
    monkeypatch.setattr(program, "_plugin", lambda *_: {})
    pictures = {f"{key}.png": png(number) for number, key in enumerate(IDS)}
    stimuli = b"picture,filename\n" + b"".join(f"{key},{key}.png\n".encode() for key in IDS)
    cells = [f"{key},{rep},{unit},IT,{rep + unit}\n" for key in IDS for rep in range(2) for unit in range(3)]
    responses = "picture,repetition,unit,region,rate\n" + "".join(cells)
    for name, text, what in (
        ("good", responses, None),
        ("bad", responses + "cat,0,1,IT,1\n", "responses.csv: 1 of 9 stimuli are not in stimuli.csv"),
    ):
        files = {**pictures, "stimuli.csv": stimuli, "responses.csv": text.encode(), program.PLACES: b"{}"}
        report = program.check(
            written(tmp_path / name, files), tmp_path / f"{name}.out", "brainscore_vision", "Mine2026"
        )
        errors = [problem["what"] for problem in report["problems"] if problem["kind"] == "error"]
        assert ([error[: len(what)] for error in errors] == [what]) if what else (errors == [])
    assert report.get("preview") is None
    assembly = tmp_path / "good.out/packaged/assy_Mine2026.nc"
    assert AssemblyLoader(DataAssembly, assembly).load().sizes["neuroid"] == 3


def test_reliability_equals_the_formula():
    """Halves of unit variance that correlate with r give 2 r / (1 + r)."""
    x = np.array([1.0, -1, 1, -1])
    y = np.array([1.0, -1, -1, 1])  # orthogonal to x
    halves = np.concatenate([x, 0.6 * x + 0.8 * y])[:, None]
    names = (["a", "b", "c", "d"] * 2, ["0"] * 4 + ["1"] * 4)
    assert program.reliability_of(halves, names) == pytest.approx(2 * 0.6 / 1.6)
    assert program.reliability_of(halves, None) is None


@needs_box
@pytest.mark.slow
@pytest.mark.parametrize("make_database", ["sqlite"], indirect=True)
def test_published_data_come_with_a_plugin_that_loads_them(portal, package, tmp_path, monkeypatch):
    ada = portal.caller("ada")
    upload_id = ada.upload("Mine2026", package)
    portal.work(report=None)
    state = ada.get(f"uploads/{upload_id}").json()
    assert state["state"] == "published", state["problems"]
    assert state["preview"]["n_stimuli"] == 8
    [assembly] = state["preview"]["assemblies"]
    assert assembly["sizes"] == {"presentation": 16, "neuroid": 5}
    assert assembly["reliability"] == pytest.approx(1)
    text = ada.get(f"uploads/{upload_id}/plugin").json()["files"]["__init__.py"]
    assert "..." not in text
    assert "Mine2026_IT" not in re.sub(r"assy_\w+", "", text)  # file names have no dots, identifiers do
    calls = {}
    header, _, body = text.partition("\n\nstimulus_set_registry")
    names = {"stimulus_set_registry": calls, "data_registry": calls, "load_stimulus_set": lambda key: calls[key]()}
    lines = [line for line in header.splitlines() if not line.startswith("from brainscore_vision")]
    monkeypatch.setenv("BRAINIO_HOME", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", portal.service.settings.s3_endpoint)
    exec("\n".join(lines) + "\n\nstimulus_set_registry" + body, names)  # noqa: S102 - written by our generator
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):  # public data need no credentials
        monkeypatch.delenv(name)
    assert set(calls) == {"Mine2026", "Mine2026.IT"}
    loaded = calls["Mine2026.IT"]()
    assert dict(loaded.sizes) == {"presentation": 16, "neuroid": 5}
    assert len(loaded.attrs["stimulus_set"]) == 8


@needs_box
@pytest.mark.slow
@pytest.mark.parametrize("make_database", ["sqlite"], indirect=True)
def test_table_and_pictures_become_a_private_package(portal):
    files = {f"{key}.png": png(number) for number, key in enumerate(IDS)}
    files["mine.csv"] = b"stimulus_id,stimulus_filename\n" + b"".join(f"{key},{key}.png\n".encode() for key in IDS)
    ada = portal.caller("ada")
    upload_id = ada.upload("Mine2026", files, "private")
    portal.work(report=None)
    state = ada.get(f"uploads/{upload_id}").json()
    assert state["state"] == "published", state["problems"]
    assert set(state["result"]["files"]) == {TABLE, ARCHIVE}
    there = ada.get(f"uploads/{upload_id}/data/{ARCHIVE}").headers["location"]
    with zipfile.ZipFile(io.BytesIO(httpx.get(there).content)) as archive:
        assert len(archive.namelist()) == 8
    assert json.dumps(state["preview"]).count("png") >= 8


@needs_box
@pytest.mark.slow
@pytest.mark.parametrize("make_database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("limit", "value", "why"), [("most_memory_bytes", 5 * 10**7, "50,000,000 bytes"), ("longest_check_s", 0.3, "0.3 s")]
)
def test_check_ends_at_its_limits(portal, package, limit, value, why):
    settings = portal.service.settings
    assert (settings.most_memory_bytes, settings.longest_check_s) == (2 * 2**30, 600)
    ada, worker = portal.caller("ada"), portal.worker()
    upload_id = ada.upload("Mine2026", package)
    worker.settings = replace(settings, **{limit: value})
    worker.step()
    [problem] = ada.get(f"uploads/{upload_id}").json()["problems"]
    assert problem["what"].startswith("the check ended early")
    assert why in problem["what"]
