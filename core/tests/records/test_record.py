"""A record holds plain numbers, can be written and read, and anything else is rejected."""

import dataclasses
import json
import re
import string
from pathlib import Path
from urllib.parse import unquote

import jsonschema
import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from brainscore_core.benchmarks import ceil_score, explained_variance
from brainscore_core.errors import CorruptFileError, RecordsError
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.records.record import SCHEMA_VERSION, ScoreRecord, json_schema, record_path
from brainscore_core.records.store import FolderStore, keep
from brainscore_core.statistics.influence import Influence
from brainscore_core.statistics.sketch import InfluenceSketch


def make_score():
    score = Score(0.5)
    score.attrs.update(raw=Score(0.6), ceiling=Score(0.72), error=np.float32(0.25), interval=(0.4, 0.6), simulated=True)
    score.attrs.update(n_stimuli=np.int64(40), n_neuroids=30, layers={"IT": "_blocks.15"}, seed=1)
    score.attrs["layer_origin"] = {"IT": {"from": "selection", "margin": 0.01, "margin_interval": [-0.01, 0.03]}}
    return score


def make_record(**changes):
    record = ScoreRecord.of_score(make_score(), model="m", benchmark="b", benchmark_version=2, duration_s=1.5)
    return dataclasses.replace(record, **changes)


def test_record_takes_plain_numbers_from_the_score():
    record = make_record()
    assert (record.score, record.raw, record.ceiling, record.error) == (0.5, 0.6, 0.72, 0.25)
    assert (record.n_stimuli, record.n_neuroids, record.n_trials) == (40, 30, None)
    assert record.interval == (0.4, 0.6)
    assert record.layers == {"IT": "_blocks.15"}
    assert record.layer_origin["IT"]["margin_interval"] == [-0.01, 0.03]
    assert record.simulated is True
    assert record.benchmark_version == 2
    assert record.versions["numpy"] == np.__version__


def test_nan_and_arrays_become_none():
    score = Score(np.nan)
    score.attrs["raw"] = Score(np.arange(3.0), dims=["neuroid"])
    record = ScoreRecord.of_score(score, model="m", benchmark="b", benchmark_version="1.2")
    assert (record.score, record.raw, record.ceiling, record.benchmark_version) == (None, None, None, None)
    assert json.loads(record.to_json())["score"] is None


def test_reason_of_a_not_applicable_score_is_the_message(tmp_path):
    score = Score(np.nan)
    score.attrs["not_applicable"] = "The model does not change over time."
    record = ScoreRecord.of_score(score, model="m", benchmark="b")
    record.write(tmp_path / "record.json")
    read = ScoreRecord.read(tmp_path / "record.json")
    assert (read.status, read.is_scored) == ("not_applicable", True)
    assert (read.score, read.message) == (None, "The model does not change over time.")
    assert make_record().message == ""


def test_record_keeps_every_part_of_the_error(tmp_path):
    score = make_score()
    table = np.random.default_rng(0).standard_normal((30, 5))
    influence = Influence.of_mean(table, np.arange(30), np.arange(5))
    attach_influence(score, influence)
    score.attrs.update(split_error=0.01, interval=(np.nan, np.nan), interval_nan_reason="the ceiling may be 0")
    score.attrs.update(stimulus_set="Objects", assembly="Recordings")
    record = ScoreRecord.of_score(score, model="m", benchmark="b")
    assert record.error == pytest.approx(influence.error)
    assert record.error_over == ("stimulus", "neuroid")
    assert record.error_df == pytest.approx(influence.degrees_of_freedom)
    assert (record.split_error, record.stimulus_error) == (0.01, pytest.approx(influence.stimulus_error))
    assert (record.interval, record.interval_nan_reason) == (None, "the ceiling may be 0")
    assert (record.stimulus_set, record.assembly) == ("Objects", "Recordings")
    expected = InfluenceSketch.of(influence, stimuli="Objects", units="Recordings")
    assert record.influence == expected.to_text()
    path = record.write(tmp_path / "record.json")
    assert ScoreRecord.read(path) == record
    assert path.stat().st_size < 8_000


def test_record_keeps_the_reason_for_a_missing_error():
    score = Score(0.5)
    attach_influence(score, Influence(np.zeros((3, 1)), np.arange(3), np.arange(1)))
    record = ScoreRecord.of_score(score, model="m", benchmark="b")
    assert (record.error, record.influence) == (None, None)
    assert record.error_nan_reason == "a single neuroid: it does not tell how others differ"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not a valid score record"),
        ("[1, 2]", "not a valid score record"),
        ('{"model": "m"}', "not a valid score record"),
        (make_record(schema_version=99).to_json(), f"schema version 99, expected {SCHEMA_VERSION}"),
    ],
)
def test_rejects_files_that_are_not_records(tmp_path, text, problem):
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(CorruptFileError, match=problem) as caught:
        ScoreRecord.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("change", [{"schema_version": 4}, {"schema_version": 6}, {"unknown_field": 1}])
def test_reader_accepts_only_its_own_schema_version_and_fields(tmp_path, change):
    record = make_record()
    path = record.write(record_path(tmp_path, record.model, record.benchmark))
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in whole.items() if name != "isolation"}))
    assert ScoreRecord.read(path).isolation is None  # an optional field may be absent
    path.write_text(json.dumps({**whole, **change}))
    store = FolderStore(tmp_path)
    assert store.get(record.model, record.benchmark) is None
    assert list(store) == []
    with pytest.raises(RecordsError, match=path.name):
        store.whole()


def test_page_states_the_schema_version():
    page = (Path(__file__).parents[3] / "docs/explanation/records.md").read_text()
    assert f"`schema_version` numbers the layout, now {SCHEMA_VERSION}." in page


@given(st.text(min_size=1), st.text(min_size=1))
def test_record_path_stays_in_its_folder(model, benchmark):
    path = record_path(Path("/scores"), model, benchmark)
    assert path.parent.parent == Path("/scores")
    assert path.resolve() == path


@pytest.mark.parametrize(
    "name", ["CON", "nul.tar", "Aux .x", "COM1", "lpt9.a.b", "GIT~1", ".git", "..", "a.", "a. .", "a "]
)
def test_path_avoids_names_that_file_systems_reserve_or_change(name):
    """These are devices and short names of Windows, hidden files, and endings that Windows drops."""
    for path in record_path(Path(), name, "b"), record_path(Path(), "m", name):
        for part in path.parts:
            assert not re.match(r"(?i)(con|nul|aux|com1|lpt9) *(\.|$)|\.|.*([. ]|~1.*)$", part), part
        assert [unquote(part) for part in path.parts] in ([name, "m.json"], ["b", f"{name}.json"])


@pytest.mark.parametrize("name", ["n\u0435t", "ne\uff54", "ne\u200bt", "net ", "my net", "<b>net</b>"], ids=ascii)
@pytest.mark.parametrize("field", ["model", "benchmark", "canonical"])
def test_lookalike_name_is_neither_written_nor_read(tmp_path, field, name):
    record = make_record(**{field: name})
    message = rf"record\.{field}: contains the character [A-Z -]+, which may be invisible"
    with pytest.raises(CorruptFileError, match=message):
        record.write(tmp_path / "record.json")
    with pytest.raises(CorruptFileError, match=message):
        ScoreRecord.from_json(record.to_json())
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.text(string.printable, min_size=1), min_size=2, max_size=2, unique=True))
def test_different_models_have_different_paths(models):
    first, second = (record_path(Path("/scores"), model, "b") for model in models)
    assert first != second


def test_record_without_a_score_has_status_and_short_message():
    record = ScoreRecord.without_score("failed:ValueError", "x" * 5000 + "\ud800", model="m", benchmark="b")
    assert (record.score, record.is_scored, len(record.message)) == (None, False, 1000)
    assert make_record().is_scored
    assert ScoreRecord.from_json(record.to_json()) == record


def test_fields_that_vary_between_runs_are_in_one_block():
    first = make_record(duration_s=1.0, peak_memory_bytes=2**30)
    second = make_record(duration_s=2.0, peak_memory_bytes=None, created="2026-01-01T00:00:00+00:00", machine="other")
    texts = [json.loads(each.to_json()) for each in (first, second)]
    made = [each.pop("made") for each in texts]
    assert made[0] != made[1]
    assert set(made[0]) == {"created", "duration_s", "machine", "peak_memory_bytes"}
    assert json.dumps(texts[0]) == json.dumps(texts[1])
    assert ScoreRecord.from_json(first.to_json()) == first


@pytest.mark.parametrize(
    "change",
    [
        *({"made": value} for value in (None, {}, {**json.loads(make_record().to_json())["made"], "score": 0.9})),
        {"created": "2026-01-01"},
    ],
    ids=["none", "empty", "another field", "a field outside"],
)
def test_block_of_varying_fields_is_strict(change):
    content = {**json.loads(make_record().to_json()), **change}
    with pytest.raises(CorruptFileError, match="made"):
        ScoreRecord.from_json(json.dumps(content))


def test_record_keeps_the_uncertainty_of_the_raw_score():
    rng = np.random.default_rng(0)
    raw, ceiling = Score(0.5), Score(0.8)
    attach_influence(raw, Influence.of_mean(rng.standard_normal((30, 5)), np.arange(30), np.arange(5)))
    record = ScoreRecord.of_score(explained_variance(raw, ceiling), model="m", benchmark="b")
    assert (record.normalization, record.chance) == ("explained_variance", 0.0)
    assert (record.raw_error, record.raw_interval) == (raw.attrs["error"], raw.attrs["interval"])
    assert record.raw_error_df == pytest.approx(raw.attrs["influence"].degrees_of_freedom)
    assert record.raw_influence is None  # it is proportional to the influence of the score

    attach_influence(ceiling, Influence.of_mean(rng.standard_normal((30, 5)) / 9, np.arange(30), np.arange(5)))
    record = ScoreRecord.of_score(ceil_score(raw, ceiling), model="m", benchmark="b")
    assert record.normalization == "ceil_score"
    assert record.raw_influence == InfluenceSketch.of(raw.attrs["influence"], stimuli="b", units="b").to_text()


def test_record_keeps_uncertainty_and_estimator_of_the_ceiling():
    raw, ceiling = Score(0.5), Score(0.8)
    ceiling.attrs.update(error=0.02, interval=(0.76, 0.84), error_over=("stimulus",), estimator="split halves")
    record = ScoreRecord.of_score(ceil_score(raw, ceiling), model="m", benchmark="b")
    assert (record.ceiling, record.ceiling_error, record.ceiling_interval) == (0.8, 0.02, (0.76, 0.84))
    assert (record.ceiling_error_over, record.ceiling_estimator) == (("stimulus",), "split halves")
    assert (record.ceiling_nan_reason, record.error) == (None, None)
    assert ScoreRecord.from_json(record.to_json()) == record

    ceiling.attrs.update(error_nan_reason="an earlier step")
    assert ScoreRecord.of_score(ceil_score(raw, ceiling), model="m", benchmark="b").ceiling_nan_reason is None

    ceiling.attrs.update(error=float("nan"), interval=(float("nan"),) * 2, error_nan_reason="one subject")
    record = ScoreRecord.of_score(ceil_score(raw, ceiling), model="m", benchmark="b")
    assert (record.ceiling_error, record.ceiling_interval, record.ceiling_nan_reason) == (None, None, "one subject")
    record = ScoreRecord.of_score(ceil_score(raw, 1), model="m", benchmark="b")
    assert (record.ceiling_error, record.ceiling_interval, record.ceiling_estimator) == (None, None, None)


def test_every_record_is_valid_by_the_json_schema():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    full = make_record(data={"data:x": "0" * 64}, seeds={"noise": 3}, raw_interval=(0.1, 0.2), tail="last\nlines")
    failed = ScoreRecord.without_score("failed:ValueError", "why", model="m", benchmark="b")
    for record in (full, make_record(), failed):
        validator.validate(json.loads(record.to_json()))
    wrong = ({"score": "0.5"}, {"made": {}}, {"unknown": 1}, {"status": "failed:<b>"}, {"schema_version": 3})
    for change in wrong:
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({**json.loads(full.to_json()), **change})


@pytest.mark.skipif(Version(pydantic.VERSION) < Version("2.12"), reason="an older pydantic words it otherwise")
def test_documented_schema_is_current():
    """Run the command in the message to update the file."""
    file = Path(__file__).parents[3] / "docs/_static/score_record.schema.json"
    assert json.loads(file.read_text()) == json_schema(), (
        "write it anew: python -c 'from brainscore_core.records.record import json_schema; import json; "
        "print(json.dumps(json_schema(), indent=1))' > docs/_static/score_record.schema.json"
    )


def test_record_keeps_the_end_of_long_output():
    tail = "x" * 5000 + "end\ud800"
    record = ScoreRecord.without_score("failed:X", model="m", benchmark="b", tail=tail, peak_memory_bytes=5)
    assert record.tail.endswith("end?")
    assert (len(record.tail), record.peak_memory_bytes) == (4000, 5)
    assert ScoreRecord.from_json(record.to_json()) == record


@pytest.mark.parametrize(
    "wrong",
    [
        *({"score": value} for value in ("0.5", True, [0.5], float("nan"))),
        *({"interval": value} for value in ([0.1], [0.1, None], ["a", "b"])),
        *({"status": value} for value in ("failed:", "failed:<b>", "skipped:a\nb", "SCORED")),
        *({"model": value} for value in ("", "a\nb", "x" * 500)),
        *({"message": value} for value in ("x" * 1001, None)),
        *({"layers": value} for value in (["IT"], {"IT": "x" * 200_000})),
        *({"data": value} for value in ({"x": 5}, {"x" * 500: "digest"})),
        *({"influence": value} for value in ("not base64!", "A" * 10_000)),
        {"layer_origin": {"IT": "x" * 200_000}, "raw_influence": "not base64!"},
        *({"raw": 1e300}, {"n_stimuli": 1.5}, {"simulated": 1}, {"unknown": 1}, {"schema_version": "2"}),
        *({"versions": {"numpy": 2}}, {"model_revision": 5}, {"tail": "x" * 4001}, {"seeds": {"x": 0.5}}),
        {"plugins": {str(number): "digest" for number in range(1001)}},
    ],
    ids=str,
)
def test_rejects_fields_of_wrong_types(wrong):
    content = json.loads(make_record().to_json())
    for name, value in wrong.items():
        with pytest.raises(CorruptFileError):
            ScoreRecord.from_json(json.dumps({**content, name: value}))


@pytest.mark.parametrize("depth", [20, 300, 900, 100_000])
def test_rejects_deeply_nested_layers(depth):
    with pytest.raises(CorruptFileError):
        ScoreRecord.from_json(make_record().to_json().replace('"_blocks.15"', "[" * depth + "]" * depth))


def normalised_record(normalise=explained_variance, of=(0.6, 0.72), **changes):
    """Return the record of a normalised score with some fields changed."""
    record = ScoreRecord.of_score(normalise(Score(of[0]), of[1]), model="m", benchmark="b", duration_s=1.0)
    return dataclasses.replace(record, **changes)


CONTRADICTIONS = {
    "score": normalised_record(score=99.0),
    "raw": normalised_record(raw=0.7),
    "ceiling": normalised_record(ceiling=0.8),
    "chance": normalised_record(ceil_score, chance=0.25),
    "in percent": make_record(score=99.0),
    "no parts": make_record(score=99.0, raw=None, ceiling=None),
    "below chance": make_record(score=-99.0),
    **{f"negative {name}": make_record(**{name: -0.1}) for name in ("error", "stimulus_error", "duration_s")},
    **{f"ceiling {value}": make_record(ceiling=value) for value in (0.0, -0.2, 1.1, 72.0)},
    "name": make_record(model="m\u200b"),
    "size": make_record(raw=1e308),
}


@pytest.mark.parametrize("record", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_inconsistent_record_is_neither_read_nor_written(record, tmp_path):
    with pytest.raises(CorruptFileError, match="is not a valid score record") as read:
        ScoreRecord.from_json(record.to_json(), "The result of 'm' on 'b'")
    for write in (record.write, lambda path: keep(record, path)):
        with pytest.raises(CorruptFileError) as written:
            write(tmp_path / "b" / "m.json")
        assert str(written.value).partition("is no")[2] == str(read.value).partition("is no")[2]
    assert list(tmp_path.iterdir()) == []


def test_inconsistent_score_error_is_one_clear_sentence():
    with pytest.raises(CorruptFileError) as refused:
        ScoreRecord.from_json(CONTRADICTIONS["score"].to_json(), "File")
    assert str(refused.value) == (
        "File is not a valid score record: Its score is 99, but explained_variance of its raw score 0.6 and its "
        "ceiling 0.72 is 0.5. Score the pair again."
    )


CONSISTENT = {
    "normalised": normalised_record(),
    "above the ceiling": normalised_record(ceil_score, (0.9, 0.72)),
    "clipped at 1, as `bound_score` does": normalised_record(ceil_score, (0.9, 0.72), score=1.0),
    "clipped at 0": normalised_record(ceil_score, (-0.1, 0.72), score=0.0),
    "81 ceilings, as the ceiling is hardly above 0": normalised_record(of=(0.9, 0.01)),
    "of single precision": normalised_record(score=float(np.float32(0.5))),
    "of another domain": normalised_record(normalization="of another domain", score=0.3),
    "without a ceiling": normalised_record(ceiling=None, score=0.3),
    "not applicable": normalised_record(score=None, status="not_applicable"),
    "without an error": normalised_record(error=0.0, duration_s=0.0, ceiling=1.0, score=0.36),
}


# The ids are the keys: an id made from the record would contain its time of creation, so two workers that collect tests
# in different seconds would find different tests.
@pytest.mark.parametrize("record", CONSISTENT.values(), ids=CONSISTENT.keys())
def test_consistent_records_are_read_and_written(record, tmp_path):
    assert ScoreRecord.read(record.write(tmp_path / "record.json")) == record


def test_changed_score_states_no_normalisation():
    """If arithmetic keeps the attributes, the square of a normalised score must not count as normalised."""
    score = ceil_score(Score(0.6), 0.8)
    for changed, expected in ((score, "ceil_score"), (score**2, None), (score.clip(0, 0.5), None)):
        changed.attrs.update(score.attrs)
        record = ScoreRecord.of_score(changed, model="m", benchmark="b")
        assert record.normalization == expected
        assert ScoreRecord.from_json(record.to_json()) == record
