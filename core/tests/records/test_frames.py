"""The table of scores and the comparison made from it."""

import dataclasses
import functools
import http.server
import json
import threading

import numpy as np
import pandas as pd
import pytest

from brainscore_core.errors import ConfigurationError, DataNotHereError
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.records.frames import compare, load_scores
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.statistics.influence import Influence

COLUMNS = ["model", "benchmark", "score", "error", "low", "high", "raw", "ceiling", "version", "date"]
COLUMNS += ["status", "simulated", "n_stimuli", "n_neuroids", "record"]


def record(model, benchmark="b", **values):
    empty = ScoreRecord.without_score("scored", model=model, benchmark=benchmark, source_revision=None)
    return dataclasses.replace(empty, **{"benchmark_version": 1, **values})


def write(folder, *records):
    for entry in records:
        entry.write(record_path(folder, entry.model, entry.benchmark))
    return folder


def of_answers(answers, model, benchmark="b"):
    """Return the record of a mean over stimuli and units, with their influence on it."""
    influence = Influence.of_mean(answers, np.arange(len(answers)), np.arange(answers.shape[1]))
    score = attach_influence(Score(answers.mean()), influence)
    return ScoreRecord.of_score(score, model=model, benchmark=benchmark, benchmark_version=1, source_revision=None)


@pytest.fixture
def five(tmp_path):
    """Return scores of five models with correlated errors; the first two are equal, the third barely better."""
    rng = np.random.default_rng(0)
    hard = 0.2 * (rng.standard_normal((100, 1)) + rng.standard_normal((100, 12)))
    means = {"twin": 0.5, "other_twin": 0.5, "near": 0.501, "good": 0.55, "poor": 0.3}
    noise = {model: 0.1 * rng.standard_normal((100, 12)) for model in means}
    noise["other_twin"] = noise["twin"]
    return load_scores(
        write(
            tmp_path / "scores",
            *(of_answers(mean + hard + noise[model] - noise[model].mean(), model) for model, mean in means.items()),
        )
    )


def test_table_has_a_row_per_pair(tmp_path):
    stated = {"score": 0.5, "error": 0.1, "interval": (0.3, 0.7), "raw": 0.4, "ceiling": 0.8, "n_stimuli": 9}
    failed = record("y", status="failed:ValueError", score=None, benchmark_version=None)
    write(tmp_path, record("x", created="2030-02-03T04:05:06+02:00", **stated), failed)
    table = load_scores(str(tmp_path))
    assert list(table.columns) == COLUMNS
    first, second = (row for _, row in table.iterrows())
    assert first[["model", "benchmark", "score", "error", "low", "high", "raw", "ceiling", "version"]].tolist() == [
        *("x", "b", 0.5, 0.1, 0.3, 0.7, 0.4, 0.8, 1)
    ]
    assert first["date"] == pd.Timestamp("2030-02-03T02:05:06", tz="UTC")
    assert (first["n_stimuli"], first["simulated"], first["record"].model) == (9, False, "x")
    assert second["status"] == "failed:ValueError"
    assert second[["score", "error", "low", "high", "version"]].isna().all()
    assert {table[name].dtype for name in ("score", "error", "low", "raw", "n_neuroids")} == {np.dtype(float)}


def test_scores_are_read_from_the_default_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path))
    write(tmp_path / "scores", record("x", score=0.5))
    assert load_scores()["model"].tolist() == ["x"]


def test_rejects_a_folder_without_records(tmp_path):
    with pytest.raises(
        DataNotHereError, match=r"There are no records in .*Score a model first, or pass another folder"
    ):
        load_scores(tmp_path)


@pytest.fixture
def board(tmp_path):
    """Return the folder of a published board with only its files of scores."""
    data = tmp_path / "site" / "data"
    data.mkdir(parents=True)
    row = {"benchmark": "b", "bounded": False, "rank": 1, "status": "scored", "simulated": False}
    rows = [row | {"model": "x", "score": 0.5, "low": 0.4, "high": 0.6}]
    rows += [row | {"model": "y", "score": 0.1, "low": 0.0, "high": 0.2}, row | {"model": "z", "status": "queued"}]
    (data / "scores.json").write_text(json.dumps(rows))
    (data / "board.json").write_text(json.dumps({"nodes": {"id": ["b"], "version": [3]}}))
    return data.parent


@pytest.fixture
def address(board):
    """Return the address of that board on a local server."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(board))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("place", ["address", "board"])
def test_scores_are_read_from_a_published_board(place, request):
    table = load_scores(request.getfixturevalue(place))
    assert list(table.columns) == COLUMNS
    assert table["model"].tolist() == ["x", "y"]
    assert table.loc[0, ["score", "low", "high", "version"]].tolist() == [0.5, 0.4, 0.6, 3]
    assert table.loc[0, "error"] == pytest.approx(0.1 / 1.96, abs=1e-4)
    assert table[["date", "raw", "ceiling"]].isna().all(axis=None)
    assert compare(table).answers == ("b: x is the best of 2.",)


def test_comparison_names_the_better_model(five):
    answer = compare(five, models=["twin", "good", "poor"], benchmark="b")
    assert answer.answers == ("b: good is the best of 3.",)
    assert answer.models["model"].tolist() == ["good", "twin", "poor"]
    assert answer.models["rank"].tolist() == ["1", "2", "3"]
    assert answer.differences["better"].tolist() == ["good", "good", "twin"]
    assert answer.differences["is_paired"].all()
    assert (answer.differences["low"] > 0).all()
    assert repr(answer).startswith("b: good is the best of 3.\n\nbenchmark model  score")


def test_comparison_is_paired_over_stimuli_and_units(five):
    """Both scores have larger errors than their difference."""
    pair = compare(five, ["good", "twin"]).differences.iloc[0]
    errors = five.set_index("model").loc[["good", "twin"], "error"]
    assert pair["error"] < 0.3 * np.hypot(*errors)
    assert pair["p_holm"] < 0.01
    alone = five.assign(record=[dataclasses.replace(each, influence=None) for each in five["record"]])
    apart = compare(alone, ["good", "twin"]).differences.iloc[0]
    assert not apart["is_paired"]
    assert apart["better"] is None


def test_equal_models_never_differ(five):
    pair = compare(five, ["twin", "other_twin"]).differences.iloc[0]
    assert (pair["difference"], pair["better"], pair["p_holm"]) == (0, None, 1)
    table = compare(five).models.set_index("model")
    assert table.loc["twin", "group"] == table.loc["other_twin", "group"]
    assert (
        compare(five, ["twin", "other_twin"]).answers[0].endswith("but does not differ significantly from other_twin.")
    )


def test_several_benchmarks_include_their_average(tmp_path, five):
    others = [dataclasses.replace(entry, benchmark="c") for entry in five["record"]]
    table = pd.concat([five, load_scores(write(tmp_path / "more", *others))])
    answer = compare(table, ["good", "poor"])
    assert answer.differences["benchmark"].tolist() == ["b", "c", "average of 2"]
    assert compare(table, ["good", "poor"], benchmark=["c"]).differences["benchmark"].tolist() == ["c"]


def test_model_without_a_score_is_last_and_not_compared(tmp_path):
    table = load_scores(write(tmp_path, record("x", score=0.5, error=0.1), record("y", status="failed:KeyError")))
    answer = compare(table, ["y", "x"])
    assert answer.models["model"].tolist() == ["x", "y"]
    assert np.isnan(answer.models["score"].iloc[1])
    assert answer.differences["better"].tolist() == [None]
    assert answer.answers == ("b: x is the only one with a score.",)
    assert compare(table, ["y"]).answers == ("b: no model has a score.",)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"models": ["goood"]}, "There is no score of the model 'goood'. Did you mean 'good'?"),
        ({"benchmark": "d"}, "There is no score of the benchmark 'd'."),
    ],
)
def test_rejects_unknown_models_and_benchmarks(five, chosen, words):
    with pytest.raises(DataNotHereError) as caught:
        compare(five, **chosen)
    assert str(caught.value).startswith(words)


def test_rejects_two_scores_of_one_pair(five):
    with pytest.raises(ConfigurationError, match="There are several scores of twin on b; expected one of each pair"):
        compare(pd.concat([five, five.iloc[[-1]]]))


def test_rejects_a_table_with_other_columns():
    with pytest.raises(ConfigurationError, match="has the columns model, score; expected those of load_scores"):
        compare(pd.DataFrame({"model": ["x"], "score": [0.5]}))
