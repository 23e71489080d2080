from functools import partial

import numpy as np
import pytest

from brainscore_core.benchmarks import ceil_score
from brainscore_core.errors import AssemblyError, ContractError
from brainscore_core.metrics import Metric, Score
from brainscore_core.records.record import ScoreRecord
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly
from brainscore_vision import benchmark_registry, load_metric, model_registry
from brainscore_vision.__main__ import main
from brainscore_vision.benchmark_helpers import check_standard_format
from brainscore_vision.benchmark_helpers.behaviour.labels import AgreementWithPeople
from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark, TrainTestNeuralBenchmark
from brainscore_vision.benchmark_helpers.neural.rsa import RSABenchmark
from brainscore_vision.benchmark_helpers.properties import PropertiesBenchmark
from brainscore_vision.testing.random_model import RandomModel
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings
from brainscore_vision.utils import LazyLoad


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Responses of 24 neuroids of two subjects to 30 pictures."""
    columns = {"object_name": ["cat", "car"] * 15}
    stimuli = draw_stimuli("Made2026", 30, size_px=16, columns=columns, folder=tmp_path_factory.mktemp("pictures"))
    subjects = ["one", "other"] * 12
    return recordings(
        stimuli,
        n_neuroids=24,
        neuroid_coords={"region": "IT", "subject": subjects},
        presentation_coords=["object_name"],
    )[1]


class Constant(RandomModel):
    """Gives the same answer to every stimulus."""

    def look_at(self, stimuli, number_of_trials=1):
        answer = super().look_at(stimuli, number_of_trials)
        return answer.copy(data=np.ones_like(answer.values))


class Answering(RandomModel):
    """Changes its answers before returning them."""

    def __init__(self, change=lambda answer: answer):
        super().__init__()
        self.change = change

    def look_at(self, stimuli, number_of_trials=1):
        return self.change(super().look_at(stimuli, number_of_trials))


RIDGE = {"crossvalidation_kwargs": {"splits": 2}}
FEW = {"regression_kwargs": {"n_components": 5}}


def neural(assembly, metric=None, **kwargs):
    given = {"version": 1, "visual_degrees": 8, "number_of_trials": 1, "parent": "IT", "ceiling": 1.0, **kwargs}
    return NeuralBenchmark("Made2026.IT-x", assembly, metric or load_metric("ridge", **RIDGE), **given)


def train_test(assembly, metric=None):
    given = {"ceiling_func": lambda: 1, "version": 1, "visual_degrees": 8, "number_of_trials": 1, "parent": "IT"}
    both = {"train_assembly": assembly, "test_assembly": assembly}
    if isinstance(assembly, NeuroidAssembly) and sorted(assembly.shape) == [
        24,
        30,
    ]:  # complete data: training and test stimuli must differ
        names = [f"train_{name}" for name in assembly["stimulus_id"].values]
        stimuli = assembly.attrs["stimulus_set"].copy()
        stimuli["stimulus_id"] = [f"train_{name}" for name in stimuli["stimulus_id"]]
        stimuli.stimulus_paths = {f"train_{name}": path for name, path in stimuli.stimulus_paths.items()}
        both["train_assembly"] = assembly.assign_coords(stimulus_id=("presentation", names))
        both["train_assembly"].attrs["stimulus_set"] = stimuli
    return TrainTestNeuralBenchmark(
        "Made2026.IT-x", similarity_metric=metric or load_metric("ridge_split"), **both, **given
    )


def rsa(assembly, similarity=None):
    given = {"version": 1, "visual_degrees": 8, "number_of_trials": 1, "bibtex": "", "ceiler": lambda _: Score(1)}
    return RSABenchmark("Made2026.IT-x", assembly=assembly, region="IT", similarity=similarity, **given)


# -- metrics -----------------------------------------------------------------------------------------------------------

DESIGNS = {
    "neural": neural,
    "train and test": train_test,
    "rsa": rsa,
    "properties": lambda assembly, metric: PropertiesBenchmark(
        "Made2026.IT-x", assembly, lambda **_: None, metric, [(70, 170)], ceiling_func=lambda _: 1, version=1
    ),
    "people": lambda _, metric: AgreementWithPeople(
        "Made2026.IT-x", metric, lambda: None, parent="behavior", bibtex="", visual_degrees=8
    ),
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(
    ("metric", "found", "remedy"),
    [
        ("pls", "the text 'pls'", "=load_metric('pls')"),
        (Metric, "the class Metric", "=Metric(...)"),
        (7, "an int, 7", "=load_metric('pls')"),
    ],
)
def test_rejects_a_non_metric_on_construction(recorded, design, metric, found, remedy):
    with pytest.raises(ContractError) as caught:
        DESIGNS[design](recorded, metric)
    assert f" of benchmark 'Made2026.IT-x' is {found}; expected a metric" in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize("design", ["neural", "train and test", "rsa"])
@pytest.mark.parametrize(
    ("returned", "found"),
    [
        (None, "None; expected a Score"),
        (0.5, "a float, 0.5; expected a Score"),
        (Score([0.1, 0.2, 0.3], dims=["split"]), "a Score of sizes {'split': 3}; expected a Score without dimensions"),
        (Score(np.inf), "a Score, inf; expected a finite number"),
    ],
)
def test_rejects_results_that_are_not_a_score_and_names_the_metric(recorded, design, returned, found):
    def mine(*assemblies, **named):
        return returned

    for metric in (mine, partial(mine, option=1)):
        with pytest.raises(
            ContractError, match=r"^The metric 'mine' of benchmark 'Made2026\.IT-x' returned "
        ) as caught:
            DESIGNS[design](recorded, metric)(RandomModel())
        assert found in str(caught.value)


# -- measurements ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", [neural, train_test, rsa])
@pytest.mark.parametrize("is_lazy", [False, True])
@pytest.mark.parametrize(
    ("change", "found", "remedy"),
    [
        (lambda assembly: assembly.values, "is an ndarray of shape (30, 24) and type float64", "Label it: Neuroid"),
        (lambda _: None, "is None; expected a NeuroidAssembly", "Label it"),
        (lambda _: "Made2026", "is the text 'Made2026'", "load_dataset('Made2026')"),
        (lambda assembly: assembly[:0], "is empty: its sizes are {'presentation': 0, 'neuroid': 24}", "A selection"),
        (lambda assembly: assembly[:, :0], "is empty: its sizes are {'presentation': 30, 'neuroid': 0}", "A selection"),
        (lambda assembly: assembly.astype(str), "holds values of type <U", "astype(float)"),
    ],
)
def test_rejects_measurements_that_are_not_a_filled_assembly(recorded, design, is_lazy, change, found, remedy):
    changed = change(recorded)
    benchmark = design(LazyLoad(lambda: changed) if is_lazy else changed)
    with pytest.raises(AssemblyError) as caught:
        benchmark(RandomModel())
    assert f"The assembly of benchmark 'Made2026.IT-x' {found}" in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize("design", [neural, train_test, rsa])
def test_order_of_dimensions_does_not_change_the_score(recorded, design):
    turned = Answering(lambda answer: answer.transpose("neuroid", "presentation"))
    assert float(design(recorded.transpose("neuroid", "presentation"))(turned)) == float(
        design(recorded)(RandomModel())
    )


@pytest.mark.parametrize("candidate", ["pixels", RandomModel])
def test_rejects_a_candidate_that_is_not_a_model(recorded, candidate):
    with pytest.raises(ContractError, match=r"is asked to score the (text 'pixels'|class .*); expected a model"):
        neural(recorded)(candidate)


# -- answers of models -------------------------------------------------------------------------------------------------


def unlabelled(answer):
    ids = {"neuroid_id": ("neuroid", answer["neuroid_id"].values)}
    return NeuroidAssembly(answer.values, coords=ids, dims=answer.dims)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda _: None, "with None; expected an assembly"),
        (lambda answer: answer.values, "with an ndarray of shape (30, 40) and type float64; expected an assembly"),
        (lambda answer: answer.rename(neuroid="unit"), "with dimensions ('presentation', 'unit') of sizes (30, 40)"),
        (unlabelled, "without the coordinate 'stimulus_id', so its stimuli cannot be identified"),
        (lambda answer: answer[:, :0], "with nothing: the sizes are {'presentation': 30, 'neuroid': 0}"),
        (lambda answer: answer.astype(str), "with values of type <U32; expected real numbers"),
    ],
)
def test_rejects_malformed_answers_and_names_the_model(recorded, change, found):
    for design in (neural, train_test, rsa):
        with pytest.raises(AssemblyError) as caught:
            design(recorded)(Answering(change))
        assert f"Model 'random-0' answered {found}" in str(caught.value)


def test_rejects_choices_without_stimulus_ids(recorded):
    from brainscore_vision.benchmark_helpers.behaviour.choices import named_choices

    def unlabelled(answer):
        return type(answer)(answer.values, dims=answer.dims)

    with pytest.raises(AssemblyError, match="Model 'random-0' answered without the coordinate 'stimulus_id'"):
        named_choices(Answering(unlabelled), recorded.stimulus_set, ["cat", "car"])


# -- models without a score -----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["ridge", "pls", "reverse_pls", "rdm", "cka", "rsa", "ridge_split"])
def test_a_constant_model_has_no_score_with_a_reason(recorded, metric):
    if metric == "rsa":
        benchmark = rsa(recorded)
    elif metric == "ridge_split":
        benchmark = train_test(recorded)
    else:
        is_geometry = metric in ("rdm", "cka")
        kwargs = {"normalization": ceil_score} if is_geometry else {}
        options = {} if is_geometry else {**RIDGE, **FEW} if "pls" in metric else RIDGE
        benchmark = neural(recorded, load_metric(metric, **options), **kwargs)
    score = benchmark(Constant())
    assert np.isnan(float(score))
    assert score.attrs["not_applicable"].startswith("Model 'random-0' answers the same to all of ")
    assert "not_applicable" not in benchmark(RandomModel()).attrs


def test_other_undefined_scores_are_not_blamed_on_constant_answers(recorded):
    score = neural(recorded, lambda source, target: Score(np.nan))(RandomModel())
    assert "though its answers to the stimuli differ" in score.attrs["not_applicable"]
    given = Score(np.nan, attrs={"not_applicable": "It has no memory."})
    assert neural(recorded, lambda source, target: given)(RandomModel()).attrs["not_applicable"] == "It has no memory."


def test_record_of_a_constant_model_scores_0_with_a_reason(recorded, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(benchmark_registry, "Made2026.IT-x", lambda: neural(recorded))
    monkeypatch.setitem(model_registry, "constant", Constant)
    monkeypatch.setitem(model_registry, "random", RandomModel)
    file = tmp_path / "record.json"
    command = ["score", "--benchmark", "Made2026.IT-x", "--record", str(file), "--model"]
    assert main([*command, "random"]) == 0
    assert main([*command, "constant"]) == 0
    record = ScoreRecord.read(file)
    assert (record.status, record.score, record.error) == ("scored", 0.0, None)
    assert "0 by rule" in record.error_nan_reason
    assert "Model 'random-0' answers the same to all of 30 stimuli" in record.error_nan_reason
    assert record.error_nan_reason in capsys.readouterr().out


# -- standard format ---------------------------------------------------------------------------------------------------


@pytest.fixture
def standard(make_recordings):
    return make_recordings(np.ones((3, 2)), attrs={"stimulus_set_identifier": "s"})


def test_standard_format_passes(standard):
    check_standard_format(standard)


def test_standard_format_reports_all_problems_at_once():
    wrong = DataAssembly([[1.0, np.nan]], coords={"a": ("x", [1])}, dims=["x", "y"])
    with pytest.raises(AssemblyError) as caught:
        check_standard_format(wrong)
    for part in ("DataAssembly", "presentation", "neuroid_id", "stimulus_id", "1 of its 2", "stimulus_set_identifier"):
        assert part in str(caught.value)


def test_nans_pass_only_if_expected(standard):
    with_nan = standard.copy(data=np.full((3, 2), np.nan))
    check_standard_format(with_nan, nans_expected=True)
    with pytest.raises(AssertionError, match="6 of its 6"):  # plugins' tests catch AssertionError
        check_standard_format(with_nan)
