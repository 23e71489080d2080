import dataclasses
import json

import pandas as pd
import pytest

from brainscore_core.records.record import ScoreRecord
from brainscore_vision.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "x.csv", "--benchmark", "X.IT-plz"], "Did you mean 'X.IT-pls'"),
        (["export", "x.csv", "--model", "a", "--records", "absent"], "The model 'a' has no record in absent"),
        (["export", "x.csv", "--records", "absent"], "absent has no records"),
    ],
)
def test_error_names_models_and_benchmarks_without_records(records, capsys, arguments, said):
    assert main(arguments) == 3
    assert said in capsys.readouterr().err


def test_export_to_csv(records, tmp_path):
    assert main(["export", str(tmp_path / "all.csv")]) == 0
    read = pd.read_csv(tmp_path / "all.csv").set_index(["model", "benchmark"])
    assert len(read) == 5
    first = read.loc[("a", "X.IT-pls")]
    assert (first["score"], first["interval_low"], first["interval_high"]) == (0.5, 0.44, 0.56)
    assert json.loads(first["layers"]) == {"IT": "late"}
    assert bool(first["simulated"]) is True
    assert read.loc[("b", "Y-i2n"), ["status", "message"]].tolist() == ["failed:DownloadError", "'\uff1dcmd()"]
    intervals = {"interval", "raw_interval", "ceiling_interval"}
    fields = {field.name for field in dataclasses.fields(ScoreRecord)} - intervals - {"model", "benchmark"}
    assert set(read.columns) == fields | {f"{name}_{end}" for name in intervals for end in ("low", "high")}


def test_export_to_parquet(records, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = tmp_path / "some.parquet"
    assert main(["export", str(path), "--model", "a", "--benchmark", "X.IT-pls", "Y-i2n"]) == 0
    read = pd.read_parquet(path)
    assert read["score"].tolist() == [0.5, 0.25]
    assert read["interval_low"].isna().tolist() == [False, True]
    assert capsys.readouterr().err.endswith("2 records.\n")


def test_error_without_pyarrow_names_the_package(records, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert main(["export", str(tmp_path / "some.parquet")]) == 3
    assert "pip install pyarrow" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "reason"), [("file/x.csv", "is a file"), ("folder.csv", "it is a folder")])
def test_unwritable_target_is_rejected_before_reading_records(tmp_path, capsys, name, reason):
    (tmp_path / "file").touch()
    (tmp_path / "folder.csv").mkdir()
    assert main(["export", str(tmp_path / name), "--records", "absent"]) == 2
    assert f"{tmp_path / name} cannot be written" in (said := capsys.readouterr().err)
    assert reason in said


def test_rejects_other_file_types(records, tmp_path, capsys):
    assert main(["export", str(tmp_path / "all.xlsx")]) == 2
    assert "ends with .csv or .parquet" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["export", "all.csv"], ["compare", "a", "b"], ["renormalise", "SimulatedCortex2026.V1-pls"]]
)
def test_unreadable_record_is_named_and_stops_the_command(records, write, tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    broken = write("d", "X.IT-pls", score=0.1)
    broken.write_text('{"schema": 99')
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert str(broken) in printed.err
    assert printed.out == ""
