from typing import ClassVar

import numpy as np
import pytest

from brainscore_core import command_line
from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.errors import ConfigurationError, DownloadError, PrivateDataError, UnknownIdentifierError
from brainscore_core.metrics import Score
from brainscore_core.records.from_score import format_record
from brainscore_core.records.record import ScoreRecord
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import _run_score, benchmark_registry, model_registry, score
from brainscore_vision.__main__ import main
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.scoring import record_failure, score_and_record
from brainscore_vision.testing.random_model import RandomModel
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings


class HalfBenchmark(BenchmarkBase):
    """A benchmark that gives every model the score .5."""

    def __init__(self):
        super().__init__(identifier="Half-test", version=3, ceiling_func=lambda: Score(0.8), parent="IT", bibtex="")

    def __call__(self, candidate):
        result = Score(0.5)
        result.attrs.update(raw=Score(0.4), ceiling=self.ceiling, error=0.01, n_stimuli=7, layers={"IT": "last"})
        return result


class SomeModel(BrainModel):
    """A model without any methods."""

    identifier = "some"


@pytest.fixture(autouse=True)
def registered_pair(monkeypatch):
    monkeypatch.setitem(benchmark_registry, "Half-test", HalfBenchmark)
    monkeypatch.setitem(model_registry, "some", SomeModel)


def test_score_names_the_pair_and_writes_the_record():
    result = score("some", "Half-test")
    assert float(result) == 0.5
    assert result.attrs["model_identifier"] == "some"
    assert result.attrs["benchmark_identifier"] == "Half-test"
    record = ScoreRecord.read(result.attrs["record_path"])
    assert (record.score, record.raw, record.ceiling, record.error) == (0.5, 0.4, 0.8, 0.01)
    assert record.benchmark_version == 3


@pytest.mark.parametrize(
    ("model", "benchmark"),
    [("so\u200bme", "Half-test"), ("some", "Half\u202e-test")],
    ids=["no width", "right to left"],
)
def test_names_that_records_reject_are_refused_before_scoring(monkeypatch, tmp_path, model, benchmark):
    shown = []
    monkeypatch.setitem(benchmark_registry, benchmark, HalfBenchmark)
    monkeypatch.setitem(model_registry, model, SomeModel)
    monkeypatch.setattr(HalfBenchmark, "__call__", lambda self, candidate: shown.append(candidate))
    for named, options in ((model, {}), (SomeModel(), {"identifier": model})):
        with pytest.raises(ConfigurationError, match=r"cannot be recorded: the name contains the character"):
            score(named, benchmark, record=tmp_path / "here.json", **options)
        monkeypatch.delitem(model_registry, model, raising=False)
    assert shown == []


def test_unwritable_record_is_refused_before_loading_the_model(monkeypatch, tmp_path):
    monkeypatch.setitem(model_registry, "some", lambda: pytest.fail("it was loaded"))
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot be written"):
        score("some", "Half-test", record=tmp_path / "file/here.json")


class LooksItself(HalfBenchmark):
    """A benchmark that shows stimuli without a helper of the library, as published benchmarks may."""

    def __call__(self, candidate):
        stimuli = StimulusSet({"stimulus_id": list("fedcba")})
        candidate.start_recording("IT", [(70, 170)])
        answer = candidate.look_at(stimuli)
        assert answer["stimulus_id"].values.tolist() == list("fedcba")
        return super().__call__(candidate)


class Notes(SomeModel):
    """A model that records the order of stimuli."""

    orders: ClassVar = []

    def start_recording(self, recording_target, time_bins):
        """Accept any region."""

    def look_at(self, stimuli, number_of_trials=1):
        self.orders.append("".join(stimuli["stimulus_id"]))
        return answers_of(np.zeros(len(stimuli)), stimulus_id=stimuli["stimulus_id"].to_numpy())


@pytest.mark.parametrize("order", ["content", "experiment"])
def test_record_states_the_presentation_order(monkeypatch, order):
    monkeypatch.setattr(LooksItself, "presentation_order", order)
    monkeypatch.setitem(benchmark_registry, "Half-test", LooksItself)
    monkeypatch.setitem(model_registry, "some", Notes)
    monkeypatch.setattr(Notes, "orders", [])
    record = ScoreRecord.read(score("some", "Half-test").attrs["record_path"])
    assert record.presentation_order == (None if order == "content" else "experiment")
    assert (Notes.orders == ["fedcba"]) == (order == "experiment")


def test_score_accepts_keywords_of_the_published_system():
    assert float(score(model_identifier="some", benchmark_identifier="Half-test", conda_active=True)) == 0.5


def test_score_reports_on_standard_error_only(capsys):
    score("some", "Half-test")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "0.5000 ± 0.0100" in captured.err
    score("some", "Half-test", report=False)
    assert capsys.readouterr().err == ""


def test_run_score_writes_no_record(own_homes):
    assert float(_run_score("some", "Half-test")) == 0.5
    assert not (own_homes / "brain-score" / "scores").exists()


def test_unknown_benchmark_is_rejected_before_loading_the_model(monkeypatch):
    monkeypatch.setitem(model_registry, "some", lambda: pytest.fail("the model was loaded"))
    with pytest.raises(UnknownIdentifierError, match="Half-tset"):
        score("some", "Half-tset")


def test_summary_contains_every_part(tmp_path):
    _, record, path = score_and_record("some", "Half-test", tmp_path / "here.json")
    text = format_record(record, path)
    numbers = ("0.5000", "0.4000", "0.8000", np.__version__)
    for part in ("some on Half-test", "7 stimuli", "IT: last", "version 3", *numbers):
        assert part in text
    assert str(tmp_path / "here.json") in text
    assert "SIMULATED" not in text


@pytest.mark.parametrize(
    ("attrs", "line"),
    [
        ({"error": 0.03, "error_over": ["stimulus", "neuroid"]}, "score     0.5000 ± 0.0300 (standard error over new"),
        ({"error": 0.03, "error_over": ["stimulus", "neuroid"]}, "over new stimuli and neuroids)"),
        ({"error": 0.03, "error_over": ["scene", "subject"], "n_clusters": 20}, "over new scene (20) and subjects)"),
        ({"error": 0.03, "error_over": ["scene", "subject"], "n_clusters": 5}, "over new scene (few clusters: 5) and"),
        ({"n_stimuli": 20, "n_tested_in_training": 3}, "20 stimuli, 3 test stimuli that are also used in training;"),
        ({"error": 0.03}, "± 0.0300 (standard error)"),
        ({"split_error": 0.01}, "splits    ± 0.0100 over splits of these data"),
        ({"error": np.nan, "error_nan_reason": "a single neuroid"}, "error     none: a single neuroid"),
        ({"error": 0.3, "interval_nan_reason": "the ceiling may be 0"}, "interval  none: the ceiling may be 0"),
    ],
)
def test_summary_explains_an_error_or_its_absence(attrs, line):
    result = Score(0.5)
    result.attrs.update(attrs)
    text = format_record(ScoreRecord.of_score(result, model="m", benchmark="b"), None)
    assert line in text
    for absent in {"splits  ", "none: "} - {part for part in ("splits  ", "none: ") if part in line}:
        assert absent not in text


def test_model_that_cannot_be_scored_has_no_number(monkeypatch, tmp_path):
    monkeypatch.setattr(HalfBenchmark, "__call__", lambda self, candidate: Score(np.nan))
    result, record, path = score_and_record("some", "Half-test", tmp_path / "here.json")
    assert np.isnan(float(result))
    assert record.score is None
    assert "score     not available" in format_record(record, path)
    assert "because   The benchmark 'Half-test' returned NaN without a reason." in format_record(record, path)


def test_summary_gives_the_reason_for_not_applicable(monkeypatch, tmp_path):
    def static(self, candidate):
        score = Score(np.nan)
        score.attrs["not_applicable"] = "Model 'some' does not change over time."
        return score

    monkeypatch.setattr(HalfBenchmark, "__call__", static)
    _, record, path = score_and_record("some", "Half-test", tmp_path / "here.json")
    assert "because   Model 'some' does not change over time." in format_record(record, path)


@pytest.mark.parametrize("metric", ["ridge_signal", "ridge_r2er"])
def test_unreliable_data_are_not_applicable_rather_than_zero(monkeypatch, tmp_path, metric):
    stimuli = draw_stimuli("Noise2026", 40, size_px=16, folder=tmp_path / "pictures")
    repetitions, features = recordings(stimuli, n_neuroids=5, neuroid_coords={"region": "IT"})
    noise = repetitions.copy(data=np.random.default_rng(0).normal(size=repetitions.shape))
    described = {"version": 1, "visual_degrees": 8, "number_of_trials": 2, "parent": "IT", "bibtex": ""}

    def outcome_of(responses, answers):
        benchmark = benchmark_of_repetitions("Noise2026.IT-x", lambda: responses, metric, **described)
        monkeypatch.setitem(benchmark_registry, "Noise2026.IT-x", lambda: benchmark)
        model = PrecomputedFeatures(features.copy(data=answers), visual_degrees=8)
        _, record, _ = score_and_record(model, "Noise2026.IT-x", tmp_path / "here.json", identifier="precomputed")
        return record

    unreliable = outcome_of(noise, features.values)
    assert (unreliable.status, unreliable.score) == ("not_applicable", None)
    assert unreliable.message.startswith("Not estimable")
    unmoved = outcome_of(repetitions, np.ones(features.shape))
    assert (unmoved.status, unmoved.score) == ("scored", 0.0)
    assert unmoved.error_nan_reason.startswith("0 by rule")
    assert outcome_of(repetitions, features.values).score > 0.5


@pytest.mark.parametrize("asks_for", ["start_recording", "start_task"])
def test_missing_recording_or_task_is_not_applicable(monkeypatch, tmp_path, asks_for):
    monkeypatch.setattr(HalfBenchmark, "__call__", lambda _, model: getattr(model, asks_for)("IT", [(70, 170)]))
    _, record, path = score_and_record("some", "Half-test", tmp_path / "here.json")
    assert (record.status, record.score) == ("not_applicable", None)
    assert f"SomeModel does not implement BrainModel.{asks_for}" in record.message
    assert "because   SomeModel does not" in format_record(record, path)


def test_other_not_implemented_errors_are_failures(monkeypatch, tmp_path):
    monkeypatch.setattr(HalfBenchmark, "__call__", lambda _, model: model.look_at("IT", [(70, 170)]))
    with pytest.raises(NotImplementedError, match="look_at"):
        score_and_record("some", "Half-test", tmp_path / "here.json")


@pytest.mark.parametrize("benchmark", ["Maniquet2024-confusion_similarity", "ImageNet-top1"])
def test_missing_data_are_reported_in_one_message(own_homes, monkeypatch, capsys, tmp_path, benchmark):
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    failure = tmp_path / "failure.json"
    command = ["score", "--model", "pixels", "--benchmark", benchmark, "--failure", str(failure)]
    command += ["--isolation", "none"]  # the model is our own
    assert main(command) == command_line.NOT_AVAILABLE
    said = capsys.readouterr().err
    assert said.count("Error: ") == 1
    assert f"Error: The data of '{benchmark}' are not on this machine." in said
    assert "BRAINSCORE_OFFLINE=1 prevents its download" in said
    assert f"brainscore data fetch --benchmark {benchmark}" in said
    assert "Traceback" not in said
    record = ScoreRecord.read(failure)
    assert record.status == "failed:DataNotHereError"
    assert "are not on this machine" in record.message


@pytest.mark.parametrize("kind", [DownloadError, PrivateDataError])
def test_other_download_errors_are_unchanged(monkeypatch, tmp_path, kind):
    class Without:
        def __call__(self, candidate):
            raise kind("Cannot download it.")

    monkeypatch.setitem(benchmark_registry, "Half-test", Without)
    with pytest.raises(kind, match=r"^Cannot download it\.$") as caught:
        score("some", "Half-test")
    assert type(caught.value) is kind
    record_failure("some", "Half-test", caught.value, tmp_path / "failure.json")
    assert ScoreRecord.read(tmp_path / "failure.json").status == f"failed:{kind.__name__}"


def test_summary_states_how_a_layer_was_chosen(tmp_path):
    result = HalfBenchmark()(None)
    origin = {"from": "selection", "benchmark": "Half-test", "simulated": True, "runner_up": "first"}
    result.attrs["layer_origin"] = {"IT": {**origin, "separable": False, "optimism": 0.0451}}
    record = ScoreRecord.of_score(result, model="m", benchmark="Half-test")
    (line,) = [line for line in format_record(record, tmp_path).splitlines() if "layers" in line]
    for part in (
        "IT: last",
        "chosen on Half-test (SIMULATED)",
        "not separable from first",
        "raises the score by chance, by about 0.045",
    ):
        assert part in line
    elsewhere = ScoreRecord.of_score(result, model="m", benchmark="another")
    assert "by chance" not in format_record(elsewhere, tmp_path)


def test_model_object_is_scored_without_a_record(own_homes, capsys):
    result = score(RandomModel(), "Half-test")
    assert (float(result), result.attrs["model_identifier"]) == (0.5, "random-0")
    assert "record_path" not in result.attrs
    assert not (own_homes / "brain-score" / "scores").exists()
    said = capsys.readouterr().err
    assert "random-0 on Half-test" in said
    assert "record    not written" in said


def means(images):
    return np.stack([np.asarray(image, dtype=float).mean((0, 1)) for image in images])


def test_model_object_with_an_unused_identifier_is_recorded(own_homes):
    scores = own_homes / "brain-score" / "scores"
    for model in (means, RandomModel()):
        score(model, ["Half-test"], identifier="named", report=False)
        assert ScoreRecord.read(scores / "Half-test" / "named.json").model == "named"
        (scores / "Half-test" / "named.json").unlink()
    score(means, "Half-test", identifier="some", report=False)  # the identifier of a registered model
    assert not list(scores.glob("*/*.json"))


def test_record_of_a_model_object_is_written_on_request(tmp_path):
    result = score(means, "Half-test", identifier="my_means", record=tmp_path / "mine.json", report=False)
    assert result.attrs["record_path"] == str(tmp_path / "mine.json")
    record = ScoreRecord.read(tmp_path / "mine.json")
    assert (record.model, record.benchmark, record.score) == ("my_means", "Half-test", 0.5)


def test_model_object_is_not_recorded_as_a_registered_model(tmp_path, monkeypatch):
    message = r"Only the registered model 'some' can have a record.*identifier="
    with monkeypatch.context() as patch:
        patch.setattr(HalfBenchmark, "__call__", lambda *_: pytest.fail("the model was scored"))
        with pytest.raises(ConfigurationError, match=message):
            score(means, "Half-test", identifier="some", record=tmp_path / "mine.json")
    assert not (tmp_path / "mine.json").exists()
    assert float(score(means, "Half-test", identifier="some", report=False)) == 0.5  # allowed without a record


@pytest.mark.parametrize("name", ["m\u0435ans", "means\u200b", "my means"], ids=ascii)
def test_deceptive_identifier_is_rejected_before_scoring(tmp_path, monkeypatch, name):
    monkeypatch.setattr(HalfBenchmark, "__call__", lambda *_: pytest.fail("the model was scored"))
    with pytest.raises(
        ConfigurationError, match=r"the name contains the character [A-Z -]+, which .*\(identifier='...'\)"
    ):
        score(means, "Half-test", identifier=name, record=tmp_path / "mine.json")
    assert list(tmp_path.glob("*.json")) == []


def test_record_path_can_be_chosen(tmp_path):
    score("some", "Half-test", record=str(tmp_path / "here.json"), report=False)
    assert ScoreRecord.read(tmp_path / "here.json").model == "some"


def test_rejects_model_options_for_a_registered_model():
    with pytest.raises(TypeError, match="layers, batch_size can only be given with a network; 'some' names a"):
        score("some", "Half-test", layers=["a"], batch_size=3)


def test_unknown_benchmark_is_rejected_before_running_the_model():
    with pytest.raises(UnknownIdentifierError, match="Half-tset"):
        score(lambda images: pytest.fail("the model was tried"), "Half-tset")


class Looks(BenchmarkBase):
    """A benchmark that shows stimuli to a model and returns the mean of its activations."""

    def __init__(self, identifier, stimuli, trials):
        super().__init__(identifier=identifier, version=1, ceiling_func=lambda: 1, bibtex="")
        self._shown = stimuli, trials

    def __call__(self, candidate):
        candidate.start_recording("IT", time_bins=[(70, 170)])
        result = Score(float(candidate.look_at(*self._shown).mean()))
        result.attrs["raw"] = Score(float(result))
        return result


class CountsLooks(RandomModel):
    """A model that counts its calls of `look_at`."""

    looks = 0

    def look_at(self, stimuli, number_of_trials=1):
        type(self).looks += 1
        return super().look_at(stimuli, number_of_trials)


@pytest.fixture
def three_benchmarks(monkeypatch, write_stimuli):
    """Register a model and three benchmarks; the first two show the same stimuli."""
    stimuli = write_stimuli({name: np.zeros((4, 4, 3)) for name in "abc"})
    for name, trials in (("First", 1), ("Second", 1), ("Third", 2)):
        made = Looks(f"{name}-test", stimuli, trials)
        monkeypatch.setitem(benchmark_registry, f"{name}-test", lambda made=made: made)
    monkeypatch.setattr(CountsLooks, "looks", 0)
    monkeypatch.setitem(model_registry, "random-0", CountsLooks)
    return ["First-test", "Second-test", "Third-test"]


@pytest.mark.parametrize("model", ["random-0", CountsLooks()])
def test_benchmarks_with_equal_stimuli_share_one_look(model, three_benchmarks, tmp_path, capsys):
    name = model if isinstance(model, str) else None
    results = score(model, three_benchmarks, **({"record": tmp_path} if name else {}))
    assert list(results) == three_benchmarks
    assert CountsLooks.looks == 2
    assert float(results["First-test"]) == float(results["Second-test"])
    assert capsys.readouterr().err.count("random-0 on ") == 3
    for identifier, result in results.items():
        assert result.attrs["benchmark_identifier"] == identifier
        assert float(score(model, identifier, report=False)) == float(result)
        if name:
            assert ScoreRecord.read(result.attrs["record_path"]).benchmark == identifier
            assert result.attrs["record_path"].startswith(str(tmp_path))


def test_wrong_name_among_several_is_rejected_before_scoring(three_benchmarks):
    with pytest.raises(UnknownIdentifierError, match="Fourth-test"):
        score("random-0", [*three_benchmarks, "Fourth-test"])
    assert CountsLooks.looks == 0
