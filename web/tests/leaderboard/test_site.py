"""Test building sites from made-up records: their contents, their stability, and refused builds."""

import dataclasses
import datetime as dt
import json
import re
from html import escape

import pytest

from brainscore_core.errors import ConfigurationError
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import RUN_FILE, Run
from brainscore_web.leaderboard import site
from brainscore_web.leaderboard.catalogue import BenchmarkEntry, ModelEntry
from brainscore_web.leaderboard.columns import DETAILS
from brainscore_web.leaderboard.site import GoneError, build
from brainscore_web.leaderboard.sources import CommitSource, FolderSource

from .conftest import git


def change(records, number=0, **changes):
    """Change a record with a score; return it."""
    scored = (file for file in sorted(records.glob("*/*.json")) if '"status": "scored"' in file.read_text())
    file = [each for each in scored if ScoreRecord.read(each).score is not None][number]
    record = dataclasses.replace(ScoreRecord.read(file), **changes)
    record.write(file)
    return record


def test_data_files_follow_the_order_of_models_and_nodes(source, made, tmp_path, read):
    built = build(source, made.catalogue, tmp_path / "site")
    board, status = read(tmp_path / "site", "board"), read(tmp_path / "site", "status")
    models, nodes = board["models"], board["nodes"]
    assert models["id"] == sorted(each.identifier for each in made.catalogue.models)
    assert {len(values) for values in models.values()} == {14}
    assert {len(values) for values in nodes.values()} == {len(nodes["id"])}
    assert all(parent < place for place, parent in enumerate(nodes["parent"]))
    assert (built.n_models, built.n_benchmarks) == (14, sum(nodes["leaf"])) == (14, 14)
    leaves = [place for place, leaf in enumerate(nodes["leaf"]) if leaf]
    records = {(each.benchmark, each.model): each for each in made.records()}
    assert built.n_records == len(records)
    for row, place in zip(status["codes"], leaves, strict=True):
        name = f"columns/{nodes['slug'][place]}"
        column = board["columns"][str(place)] if place in board["top"] else read(tmp_path / "site", name)
        assert column["code"] == row
        detail = read(tmp_path / "site", f"detail/{nodes['slug'][place]}")
        assert set(detail) == set(DETAILS)
        for at, model in enumerate(models["id"]):
            record = records.get((nodes["id"][place], model))
            assert column["value"][at] == (None if record is None else record.score)
            assert (column["rank"][at] is None) == (column["value"][at] is None)
            assert detail["created"][at] == (None if record is None else record.created)
            if record is not None and row[at] != "s":
                assert detail["reason"][at]
    assert (tmp_path / "site/data/columns" / f"{nodes['slug'][board['top'][0]]}.js").exists() is False
    assert {nodes["parent"][place] for place in board["top"] if nodes["leaf"][place]} <= {0}


def test_benchmark_without_records_is_shown_if_in_an_average(first, source, made, tmp_path, read):
    others = (
        BenchmarkEntry(identifier="Later2030.V1-pls", parent="V1"),
        BenchmarkEntry(identifier="Variant2030"),
        BenchmarkEntry(identifier="Simulated2030", parent="V1", simulated=True),
    )
    catalogue = dataclasses.replace(made.catalogue, benchmarks=(*made.catalogue.benchmarks, *others))
    build(source, catalogue, tmp_path / "two")
    one, two = (read(folder, "board") for folder in (first / "site", tmp_path / "two"))
    assert set(two["nodes"]["id"]) - set(one["nodes"]["id"]) == {"Later2030.V1-pls"}
    at = two["nodes"]["id"].index("Later2030.V1-pls")
    assert (two["nodes"]["leaf"][at], two["nodes"]["counts"][at]) == (True, False)
    values = [
        {
            name: board["columns"][str(place)]["value"]
            for place, name in enumerate(board["nodes"]["id"])
            if place in board["top"]
        }
        for board in (one, two)
    ]
    assert values[0] == values[1]  # no model's average changes


def test_model_of_any_name_has_a_row_and_a_page(records, source, made, tmp_path, read):
    names = ["timm:ViT-B/16.a1", "open_clip:ViT-B-32/openai", "torchhub:lab/Net:v1.0:entry[1]", "..:a/b@C+d=1"]
    names += [name.swapcase() for name in names]  # predate the rule on names; stored in distinct files on any disk
    own = change(records)
    for score, name in enumerate(names):
        path = record_path(records, name, own.benchmark)
        dataclasses.replace(own, model=name, score=score / 10, normalization=None).write(path)
        assert (ScoreRecord.read(path).model, path.parent.parent) == (name, records)
    further = (ModelEntry(identifier=name) for name in names)
    catalogue = dataclasses.replace(made.catalogue, models=(*made.catalogue.models, *further))
    build(source, catalogue, tmp_path / "site")
    board = read(tmp_path / "site", "board")
    own_slug = board["nodes"]["slug"][board["nodes"]["id"].index(own.benchmark)]
    rows = (tmp_path / f"site/benchmarks/{own_slug}.html").read_text()
    slug_of = dict(zip(board["models"]["id"], board["models"]["slug"], strict=True))
    assert len({slug.casefold() for slug in slug_of.values()}) == len(slug_of) == 14 + len(names)
    for score, name in enumerate(names):
        slug = slug_of[name]
        assert re.fullmatch(r"[\w.~-]+", slug, re.ASCII)  # can be used in an address unescaped
        assert f'<a href="../models/{slug}.html">{escape(name)}</a>' in rows
        assert escape(name) in (tmp_path / f"site/models/{slug}.html").read_text()
        told = read(tmp_path / "site", f"models/{slug}")
        assert (told["id"], told["history"][0]["score"]) == (name, score / 10)


LOOKALIKES = ("\u0430lexnet", "\uff41lexnet", "alex\u200bnet", "alexnet ", "AlexNet", "alex_net", "Alex.Net")


@pytest.mark.parametrize("is_listed", [True, False])
def test_only_one_of_lookalike_names_is_shown(records, source, made, tmp_path, read, is_listed):
    own = change(records)
    content = record_path(records, own.model, own.benchmark).read_text()
    for name in ("alexnet", *LOOKALIKES):  # as written without this software
        record_path(records, name, own.benchmark).write_text(content.replace(f'"{own.model}"', json.dumps(name)))
    for name in (own.benchmark.upper(), f"{own.benchmark}\u200b"):
        path = record_path(records, own.model, name)
        path.parent.mkdir()
        path.write_text(content.replace(f'"{own.benchmark}"', json.dumps(name)))
    catalogue = made.catalogue
    if is_listed:
        catalogue = dataclasses.replace(catalogue, models=(*catalogue.models, ModelEntry(identifier="alexnet")))
    done = build(source, catalogue, tmp_path / "site")
    board = read(tmp_path / "site", "board")
    shown_name = {"alexnet"} if is_listed else {"Alex.Net"}  # the first, if the catalogue has none
    assert set(board["models"]["id"]) == {entry.identifier for entry in made.catalogue.models} | shown_name
    assert {name for name in board["nodes"]["id"] if name.casefold().startswith(own.benchmark.casefold())} == {
        own.benchmark
    }
    left_out = [problem for problem in done.problems if " is left out: its name " in problem]
    assert len(left_out) == len(LOOKALIKES) + 2
    assert sum("contains the character CYRILLIC SMALL LETTER A," in problem for problem in left_out) == 1


@pytest.mark.parametrize(
    ("change", "root", "said"),
    [
        ({"simulated": True}, "simulated", "These scores are on <strong>simulated</strong> neurons"),
        ({"parent": None}, "other", "No benchmark with scores is part of an average"),
    ],
)
def test_scores_outside_averages_are_on_the_first_page(change, root, said, source, made, tmp_path, read):
    benchmarks = tuple(dataclasses.replace(each, **change) for each in made.catalogue.benchmarks)
    unscored = BenchmarkEntry(identifier="Later2030.V1-pls", parent="V1")
    catalogue = dataclasses.replace(made.catalogue, benchmarks=(*benchmarks, unscored))
    build(source, catalogue, tmp_path / "site")
    board, page = read(tmp_path / "site", "board"), (tmp_path / "site/index.html").read_text()
    assert [board["nodes"]["id"][place] for place in (0, -1)] == [root, "Later2030.V1-pls"]
    seen = {place for place, leaf in enumerate(board["nodes"]["leaf"]) if leaf} & set(board["top"])
    assert seen == set(range(1, len(benchmarks) + 1))
    assert said in page
    assert "14 models, scored on 14 of 15 benchmarks" in page
    assert page.count("<tr role") > 10


def test_model_data_has_history_and_layers(first, made, read):
    board = read(first / "site", "board")
    own = [each for each in made.records() if each.model == board["models"]["id"][3]]
    told = read(first / "site", f"models/{board['models']['slug'][3]}")
    scored = sorted(each.score for each in own if each.score is not None)
    assert sorted(each["score"] for each in told["history"]) == scored
    assert [each["created"] for each in told["history"]] == sorted(each["created"] for each in told["history"])
    assert told["facts"]["identifier"] == told["id"] == own[0].model
    assert set(told["layers"]) <= {"V1", "V2", "V4", "IT"} != set()


def test_layers_have_origins_and_counts_of_benchmarks(first, made, read):
    board = read(first / "site", "board")
    model = board["models"]["id"][3]
    own = [each for each in made.records() if each.model == model and each.layers.get("V1")]
    (shown,) = {entry.identifier for entry in made.catalogue.benchmarks if entry.shows == "score"} or {""}
    layers = [each.layers["V1"] for each in own if each.benchmark != shown]
    told = read(first / "site", f"models/{board['models']['slug'][3]}")["layers"]["V1"]
    assert {each["layer"]: each["n"] for each in told} == {name: layers.count(name) for name in layers} != {}
    origin = own[0].layer_origin["V1"]
    first = next(each for each in told if each["layer"] == own[0].layers["V1"])
    names = ("benchmark", "simulated", "runner_up", "margin", "margin_interval", "separable")
    assert {name: first[name] for name in names} == {name: origin[name] for name in names}


def test_malformed_layer_origins_are_escaped_or_omitted(source, records, made, tmp_path, read):
    odd = {"from": "<b>x</b>", "benchmark": ["a"], "margin": float("nan"), "runner_up": {}, "margin_interval": "ab"}
    record = change(records, layers={"V9": "<script>"}, layer_origin={})
    file = record_path(records, record.model, record.benchmark)
    file.write_text(json.dumps({**json.loads(file.read_text()), "layer_origin": {"V9": odd}}))
    build(source, made.catalogue, tmp_path / "site")
    models = read(tmp_path / "site", "board")["models"]
    slug = models["slug"][models["id"].index(record.model)]
    told = read(tmp_path / "site", f"models/{slug}")["layers"]["V9"]
    assert told == [{"layer": "<script>", "origin": "<b>x</b>", "n": 1}]
    assert "&lt;b&gt;x&lt;/b&gt;" in (tmp_path / f"site/models/{slug}.html").read_text()


def test_atlas_is_shown_if_the_catalogue_has_one(first, made, read):
    models = read(first / "site", "board")["models"]
    with_atlas, without = (
        next(each for each in made.catalogue.models if (each.atlas is not None) == has) for has in (True, False)
    )
    slugs = [models["slug"][models["id"].index(each.identifier)] for each in (with_atlas, without)]
    told = read(first / "site", f"models/{slugs[0]}")
    assert told["atlas"]["score"] == [list(each.scores) for each in with_atlas.atlas.regions]
    assert told["atlas"]["regions"] == ["V1", "V2", "V4", "IT"]
    assert "atlas" not in told["facts"]
    assert "Made2026.V1-pls (V1, simulated)" in (first / f"site/models/{slugs[0]}.html").read_text()
    assert read(first / "site", f"models/{slugs[1]}")["atlas"] is None
    assert "The atlas" not in (first / f"site/models/{slugs[1]}.html").read_text()


def test_parallel_build_gives_the_same_bytes(first, made, tmp_path, content, monkeypatch):
    monkeypatch.setattr("brainscore_web.leaderboard.workers._FEW_RECORDS", 0)
    build(FolderSource(first / "records"), made.catalogue, tmp_path / "site", processes=2)
    assert len(content(first / "site")) > 60
    assert content(first / "site") == content(tmp_path / "site")


def test_record_removed_during_the_build_is_named(records, source, made, tmp_path, monkeypatch):
    paths = source.paths()
    monkeypatch.setattr(FolderSource, "paths", lambda _: paths)
    (records / paths[3]).unlink()
    with pytest.raises(ConfigurationError, match="was removed during the build"):
        build(source, made.catalogue, tmp_path / "site")


def test_unreadable_records_are_reported(records, source, made, tmp_path, read):
    record = change(records, 2)
    record_path(records, record.model, record.benchmark).write_text("{")
    other = change(records, 3)
    record_path(records, other.model, other.benchmark).write_text(record.to_json())
    built = build(source, made.catalogue, tmp_path / "site")
    assert len(built.problems) == 2
    assert any("contains the record of another pair" in each for each in built.problems)
    board = read(tmp_path / "site", "board")
    slug = board["nodes"]["slug"][board["nodes"]["id"].index(record.benchmark)]
    at = board["models"]["id"].index(record.model)
    assert read(tmp_path / "site", f"detail/{slug}")["reason"][at] == "its record cannot be read"


# -- lost scores -------------------------------------------------------------------------------------------------------


def test_lost_score_is_refused_unless_listed_as_gone(records, source, made, tmp_path, content, built):
    before = content(tmp_path / "site")
    record = change(records, 6)
    record_path(records, record.model, record.benchmark).unlink()
    with pytest.raises(GoneError, match=r"This build would remove from the site at .*: the score of .* on") as raised:
        build(source, made.catalogue, tmp_path / "site")
    assert record.model in str(raised.value)
    assert content(tmp_path / "site") == before
    with pytest.raises(GoneError):
        build(source, made.catalogue, tmp_path / "site", gone=["another"])
    build(source, made.catalogue, tmp_path / "site", gone=[f"{record.model} {record.benchmark}"])
    assert content(tmp_path / "site") != before


@pytest.mark.parametrize("of", ["model", "benchmark"])
def test_gone_may_name_a_model_or_benchmark(records, source, made, tmp_path, of, built):
    name = getattr(change(records, 9), of)
    for record in FolderSource(records).read(source.paths()):
        content = json.loads(record)
        if content[of] == name:
            record_path(records, content["model"], content["benchmark"]).unlink()
    models = [each for each in made.catalogue.models if (of, each.identifier) != ("model", name)]
    catalogue = dataclasses.replace(made.catalogue, models=tuple(models))
    with pytest.raises(GoneError):
        build(source, catalogue, tmp_path / "site")
    build(source, catalogue, tmp_path / "site", gone=[name])


def test_other_folders_are_not_replaced(source, made, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter.txt").write_text("mine")
    with pytest.raises(ConfigurationError, match="is not the site of a leaderboard"):
        build(source, made.catalogue, tmp_path / "thesis")
    assert (tmp_path / "thesis/chapter.txt").read_text() == "mine"


def test_failed_build_leaves_the_old_site(source, made, tmp_path, content, monkeypatch, built):
    before, there = content(tmp_path / "site"), sorted(tmp_path.iterdir())

    def fail(*_, **__):
        raise OSError("No space left on device")

    monkeypatch.setattr(site, "write_site", fail)
    with pytest.raises(OSError, match="No space left"):
        build(source, made.catalogue, tmp_path / "site")
    assert (content(tmp_path / "site"), sorted(tmp_path.iterdir())) == (before, there)


def test_ceiling_has_interval_and_estimator(source, records, made, tmp_path, read):
    odd = {"ceiling_estimator": "<b>halves</b>", "ceiling_error": 0.0123, "ceiling_interval": (0.701, 0.802)}
    record = change(records, **odd, created="2100-01-01T00:00:00+00:00")
    site = tmp_path / "site"
    build(source, made.catalogue, site)
    nodes = read(site, "board")["nodes"]
    slug = nodes["slug"][nodes["id"].index(record.benchmark)]
    told = read(site, f"benchmarks/{slug}")["ceiling"]
    assert (told["value"], told["low"], told["high"], told["error"]) == (record.ceiling, 0.701, 0.802, 0.0123)
    page = (site / f"benchmarks/{slug}.html").read_text()
    assert "95 %: 0.701\N{EN DASH}0.802" in page
    assert "Ceiling estimated by: &lt;b&gt;halves&lt;/b&gt;. Its standard error is 0.012" in page
    other = next(place for place, name in enumerate(nodes["id"]) if name.endswith("-errors"))
    page = (site / f"benchmarks/{nodes['slug'][other]}.html").read_text()
    assert "no interval: only the mean over subjects was published" in page
    assert "The newest record does not state how the ceiling was estimated." in page


def test_hidden_ceiling_is_not_published(source, records, made, tmp_path, read):
    record = change(records, ceiling_estimator="halves", created="2100-01-01T00:00:00+00:00")
    entries = [
        dataclasses.replace(each, shows="score") if each.identifier == record.benchmark else each
        for each in made.catalogue.benchmarks
    ]
    build(source, dataclasses.replace(made.catalogue, benchmarks=tuple(entries)), tmp_path / "site")
    nodes = read(tmp_path / "site", "board")["nodes"]
    slug = nodes["slug"][nodes["id"].index(record.benchmark)]
    assert read(tmp_path / "site", f"benchmarks/{slug}")["ceiling"] == {"value": None}


# -- the last run ------------------------------------------------------------------------------------------------------


def test_status_page_reports_the_last_run(records, source, made, tmp_path, read):
    run = Run.from_json((records / RUN_FILE).read_bytes())
    odd = ("<script>alert(1)</script>", "b"), ("m", "b")
    run = dataclasses.replace(run, event="<img src=x>", missing=(*odd, *run.missing), n_missing=run.n_missing + 2)
    (records / RUN_FILE).write_text(run.to_json())
    assert build(source, made.catalogue, tmp_path / "site").problems == ()
    told = read(tmp_path / "site", "status")["run"]
    assert Run.from_json(json.dumps(told)) == run
    page = (tmp_path / "site/status.html").read_text()
    assert "&lt;img src=x&gt;" in page
    assert "<script>alert" not in page
    assert f"{run.n_missing} planned pairs have no record yet" in page


@pytest.mark.parametrize(("content", "problem"), [(None, None), ("{}", "commit"), ("[" * 10**6, "not JSON")])
def test_absent_or_unreadable_run_information(records, source, made, tmp_path, read, content, problem):
    (records / RUN_FILE).unlink()
    if content is not None:
        (records / RUN_FILE).write_text(content)
    problems = build(source, made.catalogue, tmp_path / "site").problems
    assert problem in problems[-1] if problem else not problems
    assert read(tmp_path / "site", "status")["run"] is None
    assert "No run information" in (tmp_path / "site/status.html").read_text()


# -- branches ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_past_commit_builds_the_same_site_as_then(records, made, tmp_path, content, read):
    git(tmp_path, "init", "-q")
    git(records, "add", "-A")
    git(records, "commit", "-qm", "first")
    first = git(records, "rev-parse", "HEAD")
    build(CommitSource.of(records, "HEAD"), made.catalogue, tmp_path / "then")
    change(records, 11, score=0.42, normalization=None)
    git(records, "commit", "-qam", "second")
    build(CommitSource.of(records, "HEAD"), made.catalogue, tmp_path / "now")
    build(CommitSource.of(records, first), made.catalogue, tmp_path / "past")
    assert content(tmp_path / "past") == content(tmp_path / "then") != content(tmp_path / "now")
    assert read(tmp_path / "past", "board")["made"]["revision"] == first
    with pytest.raises(ConfigurationError, match="no branch or commit 'nowhere'"):
        CommitSource.of(records, "nowhere")


def test_branch_can_be_built_as_of_a_day(records):
    git(records.parent, "init", "-q", str(records))
    commits = {}
    for clock in ("2026-03-01T23:59:59+00:00", "2026-03-02T00:00:00+00:00", "2026-03-02T23:00:00-05:00"):
        (records / "day.txt").write_text(clock)
        git(records, "add", "-A")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GIT_COMMITTER_DATE", clock)
            git(records, "commit", "-qm", clock)
        commits[clock] = git(records, "rev-parse", "HEAD")
    first, second, third = commits.values()  # the last is on March 3 in UTC
    for day, commit in ((1, first), (2, second), (3, third), (30, third)):
        assert CommitSource.of(records, "HEAD", dt.date(2026, 3, day)).revision == commit
    with pytest.raises(ConfigurationError, match="no commits by the end of 2026-02-28"):
        CommitSource.of(records, "HEAD", dt.date(2026, 2, 28))


def test_folder_and_commit_give_the_same_site(first, records, made, tmp_path, content):
    git(tmp_path, "init", "-q")
    (records / RUN_FILE).rename(tmp_path / RUN_FILE)
    git(records, "add", "-A")
    git(records, "commit", "-qm", "first")
    commit = CommitSource.of(records, "HEAD")
    build(commit, made.catalogue, tmp_path / "two")
    one, two = content(first / "site"), content(tmp_path / "two")
    assert one.keys() == two.keys()
    differ = {path for path in one if one[path] != two[path]}
    assert "data/board.js" in differ
    assert all(
        path.endswith((".html", "data/board.js", "data/board.json", "datapackage.json")) for path in differ
    )  # these name the commit
