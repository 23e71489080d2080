"""Test text files of the site: scripts cannot end early, and spreadsheets find no formulas in tables."""

import csv
import dataclasses
import io
import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from brainscore_core.records.record import record_path
from brainscore_web.leaderboard.build import make_server
from brainscore_web.leaderboard.catalogue import ModelEntry
from brainscore_web.leaderboard.data_files import script, table_csv
from brainscore_web.leaderboard.site import build
from brainscore_web.leaderboard.tree import slugs

ATTACKS = [
    *("=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", " =1", "|x", "%x", "'=1", 'a",=1\n"b'),
    *("\uff1d1", " \uff0b1", "\uff0d1", "\uff20SUM(1)", "\ufeff=1", "\u200b=1", "\u2060@x", "\x00=1", "\r=1"),
    *("</script><script>alert(1)</script>", "<!--<script>", "\u2028\u2029"),
]


@pytest.mark.parametrize("text", ATTACKS)
def test_csv_escapes_formulas_reversibly(text):
    (row,) = csv.reader(io.StringIO(table_csv([[text, -1.5, None, True]]), newline=""))
    visible = row[0].lstrip(" \t\r\n\x00\ufeff\u200b\u2060")
    assert visible[0] not in "=+-@|%\uff1d\uff0b\uff0d\uff20"
    assert row[0].removeprefix("'") == text
    assert row[1:] == ["-1.5", "", "true"]  # numbers stay numbers


@pytest.mark.parametrize("text", ATTACKS)
def test_text_cannot_end_a_script(text):
    content = script(text, {text: [text, 1.5, None]})
    assert "</" not in content
    assert "<!--" not in content
    assert not {"\u2028", "\u2029"} & set(content)
    assert content.count("\n") == 1
    assert json.loads(content[content.index(", {") + 2 : -3]) == {text: [text, 1.5, None]}


def test_nan_is_rejected():
    with pytest.raises(ValueError, match="Out of range"):
        script("a", float("nan"))


def test_downloads_agree_and_list_each_pair_once(records, source, made, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow, which writes Parquet")
    record = next(each for each in made.records() if each.score is not None)
    model = "=HYPERLINK:1"
    dataclasses.replace(record, model=model).write(record_path(records, model, record.benchmark))
    catalogue = dataclasses.replace(made.catalogue, models=(*made.catalogue.models, ModelEntry(identifier=model)))
    build(source, catalogue, tmp_path / "site")
    rows = json.loads((tmp_path / "site/data/scores.json").read_bytes())
    assert len({(row["model"], row["benchmark"]) for row in rows}) == len(rows) == 15 * 14
    with (tmp_path / "site/data/scores.csv").open(newline="", encoding="utf-8") as stream:
        told = list(csv.DictReader(stream))
    assert parquet.read_table(tmp_path / "site/data/scores.parquet").to_pylist() == rows
    assert [row["model"].removeprefix("'") for row in told] == [row["model"] for row in rows]
    assert {row["bounded"] for row in told} == {"true", "false"}  # 1 % of scores have no error
    assert [row["score"] for row in told] == ["" if row["score"] is None else repr(row["score"]) for row in rows]
    assert any(row["model"] == f"'{model}" and row["score"] for row in told)
    scores = {(each.model, each.benchmark): each.score for each in made.records()}
    assert all(row["score"] == scores.get((row["model"], row["benchmark"])) for row in rows if row["model"] != model)


def test_schema_and_data_package_describe_the_files(first, read):
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
    site = first / "site"
    package, board = (json.loads((site / name).read_text()) for name in ("datapackage.json", "data/board.json"))
    schema = json.loads((site / "static/board.schema.json").read_text())
    assert board == read(site, "board")
    check = jsonschema.Draft202012Validator(schema)
    check.check_schema(schema)
    check.validate(board)
    for part, name in (("models", "year"), ("nodes", "parent"), ("columns", "0")):
        with pytest.raises(jsonschema.ValidationError):
            check.validate({**board, part: {**board[part], name: ["2012"]}})
    of_path = {resource["path"]: resource for resource in package["resources"]}
    assert {path for path in of_path if not (site / path).is_file()} == set()
    with (site / "data/scores.csv").open(newline="", encoding="utf-8") as stream:
        heading = next(csv.reader(stream))
    assert [field["name"] for field in of_path["data/scores.csv"]["schema"]["fields"]] == heading
    assert (site / of_path["data/board.json"]["schema"]).is_file()


@pytest.mark.parametrize(("language", "program"), [("py", sys.executable), ("js", "node")])
def test_documented_snippets_read_the_data(first, language, program, tmp_path):
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    page = (Path(__file__).parents[3] / "docs/how-to/read_the_numbers.md").read_text(encoding="utf-8")
    (snippet,) = re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len([line for line in snippet.splitlines() if line]) <= 5
    with make_server(first / "site") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        script = tmp_path / f"read.m{language}"
        script.write_text(snippet.replace("https://example.org/", f"http://127.0.0.1:{server.server_port}/"))
        said = subprocess.run([program, script], capture_output=True, text=True, check=True, timeout=60).stdout
        server.shutdown()
    board = json.loads((first / "site/data/board.json").read_text())
    if language == "js":
        best, value, *_ = said.split()
        assert float(value) == max(x for x in board["columns"]["0"]["value"] if x is not None)
        assert board["columns"]["0"]["value"][board["models"]["id"].index(best)] == float(value)
    else:
        assert said.startswith("benchmark")


def test_slugs_are_safe_and_distinct():
    names = ["a/b", "a~2Fb", "..", ".hidden", "Net", "net", "NET", "ü", "x" * 400, "x" * 401, "a b", "con:1", "\u202e"]
    found = slugs(names)
    assert found["a/b"] == "a~2Fb"
    assert found[".."] == "~2E."
    assert len({slug.casefold() for slug in found.values()}) == len(names)
    for slug in found.values():
        assert set(slug) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~")
        assert not slug.startswith(".")
        assert len(slug) <= 150
