"""Test reading and writing results; input is untrusted."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.plan import Plan
from brainscore_ci.reporting.results import Failure, PairResult, PluginResult, Results, SkippedTest, read_folder
from brainscore_core.errors import CorruptFileError
from brainscore_core.untrusted import MOST_BYTES

MODEL = PluginName("models", "network")
RESULTS = Results(
    (
        PluginResult(
            plugin=MODEL,
            status="failed",
            n_passed=3,
            n_failed=1,
            n_skipped=1,
            duration_s=2.5,
            failures=(Failure(test="test_a", message="wrong\n<b>", file="models/network/test.py", line=3, fix="mend"),),
            skipped=(SkippedTest(test="test_b", reason="no data", kind="private"),),
            reproduce="nox -s test_plugin -- network",
        ),
    ),
    (
        PairResult(
            model="network", benchmark="B", status="scored", raw=0.3, ceiling=0.9, score=0.1, error=0.1, interval=(0, 1)
        ),
        PairResult(model="network", benchmark="C", status="failed:ValueError", message="no"),
        PairResult(model="network", benchmark="D", status="skipped:private data"),
    ),
)  # fmt: skip


def test_results_round_trip():
    assert Results.from_json(RESULTS.to_json()) == RESULTS
    assert Results.from_json(Results().to_json()) == Results()


def wrong_contents():
    good = json.loads(RESULTS.to_json())
    for path, values in {
        ("schema_version",): [2, "1", None, True, 1.0],
        ("plugins",): [None, {}, "x", [1], [None]],
        ("plugins", 0, "plugin"): ["models/../x", "models/$(touch x)", "models", "other/x", 1, "models/" + "x" * 999],
        ("plugins", 0, "status"): ["great", 1, None, ["passed"]],
        ("plugins", 0, "n_passed"): [-1, 1.5, True, "1", None, 10**30],
        ("plugins", 0, "duration_s"): [-1, "1", 1e30, True, None, 10**400],
        ("plugins", 0, "failures"): [[good["plugins"][0]["failures"][0]] * 101, {}, [[]]],
        ("plugins", 0, "failures", 0, "message"): ["x" * 4001, 1, None],
        ("plugins", 0, "failures", 0, "line"): [-1, "1", 1.0],
        ("plugins", 0, "skipped", 0, "kind"): ["odd", {}],
        ("pairs", 0, "raw"): ["0.3", True, [], 1e99],
        ("pairs", 0, "interval"): [[1], [1, 2, 3], [1, None], "ab"],
        ("pairs", 0, "status"): ["", "failed:", "failed:a b", "failed:<b>", "skipped:", "Scored", "scored\n"],
        ("pairs", 0, "model"): [None, "x" * 401],
    }.items():  # fmt: skip
        for value in values:
            content = copy.deepcopy(good)
            place = content
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            yield pytest.param(json.dumps(content), id=f"{'.'.join(map(str, path))}-{str(value)[:12]!a}")
    yield pytest.param(json.dumps({**good, "more": 1}), id="unknown key")
    yield pytest.param(json.dumps({key: value for key, value in good.items() if key != "pairs"}), id="missing key")
    yield pytest.param(json.dumps(good).replace('"raw": 0.3', '"raw": NaN'), id="not a number")
    yield pytest.param(json.dumps(good).replace('"raw": 0.3', '"raw": Infinity'), id="infinite")
    yield pytest.param(json.dumps(good).replace('"raw": 0.3', '"raw": 1e999'), id="infinite by reading")
    yield pytest.param(json.dumps(good).replace('"raw": 0.3', '"raw": 1, "raw": 0.3'), id="key twice")
    yield pytest.param("[" * 100_000, id="deep")
    yield pytest.param("9" * 5_000, id="long number")
    yield pytest.param(b"\xff\xfe{", id="no text")
    yield pytest.param("", id="empty")
    yield pytest.param(" " * (MOST_BYTES + 1), id="large")


@pytest.mark.parametrize("content", list(wrong_contents()))
def test_malformed_results_give_a_short_plain_error(content):
    with pytest.raises(CorruptFileError) as error:
        Results.from_json(content)
    message = str(error.value)
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 400


def places(content, path=()):
    yield path
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


@settings(max_examples=100)
@given(data=st.data())
def test_any_replaced_value_is_read_or_a_corrupt_file_error(full_plan, data):
    values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just([]) | st.just({})
    for good, read in ((RESULTS, Results.from_json), (full_plan, Plan.from_json)):
        content = json.loads(good.to_json())
        *parents, last = data.draw(st.sampled_from(list(places(content))[1:]))
        place = content
        for key in parents:
            place = place[key]
        place[last] = data.draw(values)
        try:
            again = read(json.dumps(content))
        except CorruptFileError:
            continue
        assert read(again.to_json()) == again


def test_large_results_are_written_with_fewer_failures():
    failure = Failure(test="t", message="m" * 1000)
    plugin = PluginResult(plugin=MODEL, status="failed", n_failed=90, failures=(failure,) * 90)
    text = Results((plugin,)).to_json(most_bytes=10_000)
    assert len(text) <= 10_000
    (read,) = Results.from_json(text).plugins
    assert read.n_failed == 90
    assert len(read.failures) == 5


def test_merge_keeps_the_worst_result():
    passed = PluginResult(plugin=MODEL, status="passed")
    failed = PluginResult(plugin=MODEL, status="failed")
    other = PluginResult(plugin=PluginName("data", "d"), status="skipped")
    scored = PairResult(model="m", benchmark="b", status="scored")
    broken = PairResult(model="m", benchmark="b", status="failed:E")
    parts = [Results((passed,), (scored,)), Results((failed, other), (broken,)), Results((passed,), (scored,))]
    assert Results.merge(parts) == Results.merge(reversed(parts)) == Results((other, failed), (broken,))


def test_read_folder_returns_results_and_problems(tmp_path):
    (tmp_path / "shard 1").mkdir()
    (tmp_path / "shard 1/a.json").write_text(RESULTS.to_json())
    (tmp_path / "b.json").write_text("{")
    (tmp_path / "c.json").symlink_to(tmp_path / "shard 1/a.json")
    (tmp_path / "d.json").mkdir()
    (tmp_path / "ignored.txt").write_text("x")
    results, problems = read_folder(tmp_path)
    assert results == RESULTS
    assert [problem.split(" ")[0].strip(":'") for problem in problems] == ["b.json", "c.json", "d.json"]
    assert read_folder(tmp_path / "missing") == (Results(), ())


def test_pair_result_of_record():
    from brainscore_core.metrics import Score
    from brainscore_core.records.record import ScoreRecord

    score = Score(0.5)
    score.attrs.update(raw=Score(0.4), ceiling=Score(0.8), error=0.1, interval=(0.4, 0.6))
    record = ScoreRecord.of_score(score, model="m", benchmark="b")
    assert PairResult.of_record(record) == PairResult(
        model="m", benchmark="b", status="scored", raw=0.4, ceiling=0.8, score=0.5, error=0.1, interval=(0.4, 0.6)
    )
