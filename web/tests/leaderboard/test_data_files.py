"""Test what leaves the site as text: scripts that cannot end early, tables that no spreadsheet takes for formulas."""

import csv
import dataclasses
import io
import json

import pytest

from brainscore_core.records.record import record_path
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
def test_no_text_is_a_formula_and_each_can_be_had_back(text):
    (row,) = csv.reader(io.StringIO(table_csv([[text, -1.5, None, True]]), newline=""))
    visible = row[0].lstrip(" \t\r\n\x00\ufeff\u200b\u2060")
    assert visible[0] not in "=+-@|%\uff1d\uff0b\uff0d\uff20"
    assert row[0].removeprefix("'") == text
    assert row[1:] == ["-1.5", "", "true"]  # a number is one


@pytest.mark.parametrize("text", ATTACKS)
def test_no_text_ends_a_script(text):
    content = script(text, {text: [text, 1.5, None]})
    assert "</" not in content
    assert "<!--" not in content
    assert not {"\u2028", "\u2029"} & set(content)
    assert content.count("\n") == 1
    assert json.loads(content[content.index(", {") + 2 : -3]) == {text: [text, 1.5, None]}


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ValueError, match="Out of range"):
        script("a", float("nan"))


def test_downloads_hold_the_same_and_every_pair_once(records, source, made, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow, which writes Parquet")
    record = next(each for each in made.records() if each.score is not None)
    model = "=HYPERLINK(1)"
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


def test_file_names_are_safe_and_never_equal():
    names = ["a/b", "a~2Fb", "..", ".hidden", "Net", "net", "NET", "ü", "x" * 400, "x" * 401, "a b", "con:1", "\u202e"]
    found = slugs(names)
    assert found["a/b"] == "a~2Fb"
    assert found[".."] == "~2E."
    assert len({slug.casefold() for slug in found.values()}) == len(names)
    for slug in found.values():
        assert set(slug) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~")
        assert not slug.startswith(".")
        assert len(slug) <= 150
