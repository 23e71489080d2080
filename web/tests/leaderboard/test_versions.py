"""Test that the board ranks models by one version while they are rescored on a new version of a benchmark."""

import dataclasses
import json
import random
import time

import pytest

from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_web.leaderboard.columns import column_of_records
from brainscore_web.leaderboard.made_up import MadeUp
from brainscore_web.leaderboard.site import build
from brainscore_web.leaderboard.sources import CommitSource, FolderSource

from .conftest import git

N_MODELS = 20
MODELS = [f"model{place:02}" for place in range(N_MODELS)]  # the best first


def record(model, version):
    """Return the record of a model; scores on version 2 are lower, in the same order."""
    score = (0.9 - 0.02 * MODELS.index(model)) * (1.0 if version == 1 else 0.6)
    empty = ScoreRecord.without_score("scored", model=model, benchmark="b", source_revision=None)
    return dataclasses.replace(empty, benchmark_version=version, score=score, error=0.001)


@pytest.mark.parametrize("is_branch", [True, False], ids=["branch", "folder"])
@pytest.mark.parametrize("seed", range(5))
def test_ranks_keep_the_true_order_at_every_step_of_a_rollout(is_branch, seed):
    """A branch has the replaced records, a folder does not. The leaderboard's documentation states these counts."""
    records, earlier = {model: record(model, 1) for model in MODELS}, {}
    n_ranked = [N_MODELS]
    for model in random.Random(seed).sample(MODELS, N_MODELS):  # noqa: S311 - no secret
        if is_branch:
            earlier[model] = {1: records[model]}
        records[model] = record(model, 2)
        column = column_of_records(records, earlier).column
        ranked = [name for name, rank in zip(column.models, column.rank, strict=True) if rank is not None]
        assert [column.rank[MODELS.index(name)] for name in ranked] == list(range(1, len(ranked) + 1))
        assert set(column.unranked) == set(MODELS) - set(ranked)
        n_ranked.append(len(ranked))
    if is_branch:  # version 1 counts for all until 18 of 20 have version 2
        assert n_ranked == [N_MODELS] * 18 + [18, 19, 20]
    else:  # the older version counts in a tie
        assert n_ranked == [*range(20, 9, -1), *range(11, 21)]


def test_one_rescored_model_changes_no_rank():
    """Formerly the rescored model became first and the others lost the benchmark."""
    records = {model: record(model, 1) for model in MODELS[:3]}
    before = column_of_records(records).column
    last = MODELS[2]
    rescored = {**records, last: record(last, 2)}
    assert column_of_records(rescored, {last: {1: records[last]}}).column == dataclasses.replace(
        before, waiting={last: (2, record(last, 2).score, rescored[last].created_in_utc)}
    )
    overwritten = column_of_records(rescored).column
    assert overwritten.rank == [1, 2, None]
    assert overwritten.value == [*before.value[:2], None]
    assert overwritten.unranked == {last: (record(last, 2).score, "version 2")}
    assert overwritten.code == "ssv"


MADE = MadeUp.of("12x3", seed=5)
BENCHMARK = MADE.catalogue.benchmarks[0].identifier


def rescored_entry(entry):
    """Return the record on the next version, with another score."""
    raw, normalised = 0.9 * entry.raw, (0.81 if entry.normalization == "explained_variance" else 0.9) * entry.score
    return dataclasses.replace(entry, benchmark_version=2, raw=raw, score=normalised, created="2026-02-03T04:05:06Z")


@pytest.fixture
def rollout(tmp_path):
    """Return a repository where the first three models were rescored on version 2 of a benchmark, one by one."""
    folder = tmp_path / "branch"
    (folder / "records").mkdir(parents=True)
    MADE.write(folder / "records")
    git(folder, "init", "-q", "-b", "scores")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "start")
    scored = [entry for entry in MADE.records() if entry.benchmark == BENCHMARK and entry.score is not None]
    for entry in scored[:3]:
        rescored_entry(entry).write(record_path(folder / "records", entry.model, BENCHMARK))
        git(folder, "commit", "-qam", f"rescore {entry.model}")
    return folder, scored


def column_of(site, read, name=BENCHMARK):
    board = read(site, "board")
    node = board["nodes"]["id"].index(name)
    column = board["columns"].get(str(node)) or read(site, f"columns/{board['nodes']['slug'][node]}")
    return board, column, board["nodes"]["slug"][node]


def test_branch_ranks_rescored_models_by_their_earlier_records(rollout, tmp_path, read):
    folder, scored = rollout
    build(CommitSource.of(folder, "HEAD~3"), MADE.catalogue, tmp_path / "before")
    build(CommitSource.of(folder, "HEAD"), MADE.catalogue, tmp_path / "site")
    (_, before, _), (board, now, slug) = (column_of(tmp_path / name, read) for name in ("before", "site"))
    assert now == before
    _, average_before, _ = column_of(tmp_path / "before", read, "average")
    assert column_of(tmp_path / "site", read, "average")[1] == average_before
    page = (tmp_path / f"site/benchmarks/{slug}.html").read_text()
    rows = page.partition('id="rollout"')[2].partition("</table>")[0]
    assert (
        f'<tr><th scope="row">2</th><td>3</td><td>no</td></tr><tr><th scope="row">1</th><td>{len(scored)}</td>' in rows
    )
    assert rows.count("<td>yes</td>") == 1
    days = read(tmp_path / "site", "dates")["earlier"][str(board["nodes"]["id"].index(BENCHMARK))]
    assert [entry[4] for entry in days] == [1, 1, 1, 2, 2, 2]
    assert [entry[2] is None for entry in days] == [False] * 3 + [True] * 3


def test_folder_shows_scores_on_another_version_without_a_rank(rollout, tmp_path, read):
    folder, scored = rollout
    build(FolderSource(folder / "records"), MADE.catalogue, tmp_path / "site")
    board, column, slug = column_of(tmp_path / "site", read)
    for entry in scored[:3]:
        place = board["models"]["id"].index(entry.model)
        assert column["unranked"][str(place)] == [rescored_entry(entry).score, "version 2"]
        assert (column["value"][place], column["rank"][place], column["code"][place]) == (None, None, "v")
        page = (tmp_path / f"site/models/{board['models']['slug'][place]}.html").read_text()
        cell = f'<td class="part">{rescored_entry(entry).score:.3f}</td>'
        marked = f'{cell}<td class="reason" colspan="5">version 2, not ranked</td>'
        assert marked.replace("-", "\u2212") in page.replace("-", "\u2212")
    page = (tmp_path / f"site/benchmarks/{slug}.html").read_text()
    table = page.partition('id="rows-scores"')[2].partition("</tbody>")[0]
    assert table.count("version 2, not ranked") == 3
    assert table.rindex("version 2, not ranked") > table.rindex("stimuli")  # below the ranked ones
    assert "scored on another version" in (tmp_path / "site/status.html").read_text()


def test_switch_of_the_counting_version_loses_no_score(rollout, tmp_path):
    folder, scored = rollout
    build(FolderSource(folder / "records"), MADE.catalogue, tmp_path / "site")
    for entry in scored[3:]:
        rescored_entry(entry).write(record_path(folder / "records", entry.model, BENCHMARK))
    scored[0].write(record_path(folder / "records", scored[0].model, BENCHMARK))
    assert build(FolderSource(folder / "records"), MADE.catalogue, tmp_path / "site").problems == ()


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago", "UTC"])
def test_day_of_a_score_is_in_utc(zone, tmp_path, read, monkeypatch):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    (tmp_path / "records").mkdir()
    MADE.write(tmp_path / "records")
    entry = next(entry for entry in MADE.records() if entry.benchmark == BENCHMARK and entry.score is not None)
    times = {"2026-03-01T23:30:00-05:00": "2026-03-02", "2026-03-02T01:00:00+14:00": "2026-03-01"}
    try:
        for created, day in {**times, "2026-03-02": "2026-03-02", "2026-03-02T00:00:00Z": "2026-03-02"}.items():
            changed = dataclasses.replace(entry, created=created)
            changed.write(record_path(tmp_path / "records", entry.model, BENCHMARK))
            build(FolderSource(tmp_path / "records"), MADE.catalogue, tmp_path / "site", gone=None)
            board = read(tmp_path / "site", "board")
            node, place = board["nodes"]["id"].index(BENCHMARK), board["models"]["id"].index(entry.model)
            (found,) = (of[place] for of in [read(tmp_path / "site", "dates")["days"][str(node)]])
            assert time.strftime("%Y-%m-%d", time.gmtime(86_400 * found)) == day
            detail = read(tmp_path / "site", f"detail/{board['nodes']['slug'][node]}")
            assert detail["created"][place].startswith(day)
            assert json.dumps(detail["created"][place]).count("+00:00") == 1
    finally:
        monkeypatch.undo()
        time.tzset()
