"""Check the contracts against plugins that fulfil them and plugins that break one promise each."""

import numpy as np
import pytest

import brainscore_vision
from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.errors import CeilingError, PluginError, PrivateDataError
from brainscore_core.metrics import Metric, Score
from brainscore_core.testing.synthetic import make_neuroid_assembly, make_stimulus_set
from brainscore_vision import testing
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.testing.made_recordings import draw_stimuli

REGISTRIES = {kind: getattr(brainscore_vision, f"{kind}_registry") for kind in testing.CONTRACTS}


@pytest.fixture
def outcomes_of(tmp_path):
    """Run a contract on a plugin that is registered temporarily; return test -> 'passed' or the message."""

    def run(contract, factory, **attributes):
        kind = next(kind for kind, base in testing.CONTRACTS.items() if issubclass(contract, base))
        derived = type("Derived", (contract,), {"identifier": "Contract2026-x", **attributes})
        REGISTRIES[kind]["Contract2026-x"] = factory
        outcomes = {}
        try:
            for number, name in enumerate(derived.named_checks()):
                (tmp_path / str(number)).mkdir(exist_ok=True)
                needs_folder = "tmp_path" in getattr(derived, name).__code__.co_varnames[:2]
                try:
                    getattr(derived(), name)(*([tmp_path / str(number)] if needs_folder else []))
                    outcomes[name] = "passed"
                except (pytest.fail.Exception, pytest.skip.Exception) as outcome:
                    outcomes[name] = str(outcome)
        finally:
            derived.teardown_class()
            del REGISTRIES[kind]["Contract2026-x"]
        return outcomes

    return run


def assert_fails(outcomes, test, *messages):
    """Check which test is the only one that did not pass, and its message."""
    ((name, said),) = ((name, said) for name, said in outcomes.items() if said != "passed")
    assert name == test
    for message in messages:
        assert message in said


def test_every_kind_has_a_contract_named_as_in_messages():
    assert list(testing.CONTRACTS) == ["data", "stimulus_set", "metric", "benchmark", "model"]
    for contract in testing.CONTRACTS.values():
        assert contract.base == contract.__name__
        assert contract.named_checks()


# -- models ------------------------------------------------------------------------------------------------------------


class Model(testing.RandomModel):
    layers = ("one", "two")
    region_layer_map = {"V1": "one", "IT": ["one", "three"]}  # noqa: RUF012 - models define it like this
    identifier = "Contract2026-x"

    def activations_model(self, stimuli, layers):
        self.start_recording("V1")
        return self.look_at(stimuli).assign_coords(layer=("neuroid", (list(layers) * 40)[:40]))


def test_a_good_model_passes(outcomes_of):
    assert set(outcomes_of(testing.ModelContract, Model).values()) == {"passed"}


def broken_model(**attributes):
    return type("Broken", (Model,), attributes)


class NaNs(Model):
    def look_at(self, stimuli, number_of_trials=1):
        answer = super().look_at(stimuli)
        answer.values[1, 3] = np.nan
        return answer


class Shuffles(Model):
    def look_at(self, stimuli, number_of_trials=1):
        return super().look_at(stimuli)[::-1]


class Blind(Model):
    def look_at(self, stimuli, number_of_trials=1):
        answer = super().look_at(stimuli)
        return answer.copy(data=np.ones(answer.shape))


class OneLayer(Model):
    def activations_model(self, stimuli, layers):
        return super().activations_model(stimuli, layers[:1])


@pytest.mark.parametrize(
    ("model", "test", "message"),
    [
        (broken_model(identifier="y"), "test_identifier_is_the_key", "calls itself 'y'"),
        (broken_model(visual_degrees=lambda self: "8"), "test_visual_degrees", "field of view of '8' visual degrees"),
        (broken_model(visual_degrees=lambda self: True), "test_visual_degrees", "field of view of True"),
        (broken_model(visual_degrees=lambda self: float("nan")), "test_visual_degrees", "field of view of nan"),
        (broken_model(visual_degrees=lambda self: 0), "test_visual_degrees", "field of view of 0"),
        (OneLayer, "test_layers_exist", "layers that it names: three, two"),
        (NaNs, "test_activations_are_finite", "1 non-finite activations of 80 in V1"),
        (Shuffles, "test_activations_are_finite", "return all stimuli, in the order shown"),
        (Blind, "test_activations_are_finite", "the same activations in V1 for two different pictures"),
    ],
)
def test_a_faulty_model_fails_exactly_one_test(outcomes_of, model, test, message):
    assert_fails(outcomes_of(testing.ModelContract, model), test, message)


def test_layers_are_requested_one_by_one_if_possible(outcomes_of):
    class WithLayers(Model):
        def __init__(self):
            super().__init__()
            self.activations_model = type("A", (), {"get_layer": staticmethod({"one": 1, "two": 2}.__getitem__)})

    with pytest.raises(KeyError, match="three"):
        outcomes_of(testing.ModelContract, WithLayers)


def test_a_model_must_record_or_do_tasks(outcomes_of):
    class Behaves(BrainModel):
        identifier = "Contract2026-x"

        def visual_degrees(self):
            return 8

        def start_task(self, task, fitting_stimuli):
            self.random = testing.RandomModel()
            self.random.start_task(task, fitting_stimuli)

        def look_at(self, stimuli, number_of_trials=1):
            return self.random.look_at(stimuli)

    outcomes = outcomes_of(testing.ModelContract, Behaves)
    assert outcomes.pop("test_layers_exist") == "other: the model names no layers"
    assert set(outcomes.values()) == {"passed"}

    class Nothing(Behaves):
        start_task = BrainModel.start_task

    said = outcomes_of(testing.ModelContract, Nothing)["test_activations_are_finite"]
    assert "neither records from a region nor performs a task (V1: NotImplementedError" in said


def test_rejects_an_object_without_look_at(outcomes_of):
    class NoModel:
        identifier = "Contract2026-x"

        def visual_degrees(self):
            return 8

        def start_recording(self, *_):
            raise KeyError

        start_task = start_recording

    with pytest.raises(PluginError, match="returned a NoModel; expected a model with a method look_at"):
        outcomes_of(testing.ModelContract, NoModel)


def test_error_names_the_missing_method_of_a_model():
    looks = type("Looks", (), dict.fromkeys(("identifier", "look_at", "visual_degrees", "start_recording")))()
    contract = type("Derived", (testing.ModelContract,), {"identifier": "Contract2026-x", "loaded": looks})()
    with pytest.raises(pytest.fail.Exception, match="is a Looks without start_task"):
        contract.test_loads()


def test_private_weights_skip_every_test(outcomes_of):
    def private():
        raise PrivateDataError("weights need credentials")

    assert set(outcomes_of(testing.ModelContract, private).values()) == {"private: weights need credentials"}


# -- benchmarks --------------------------------------------------------------------------------------------------------


class Experiment(BenchmarkBase):
    def __init__(self, identifier="Contract2026-x", version=1, bibtex="@article{x,}", ceiling=0.5, score=None):
        super().__init__(identifier, ceiling_func=lambda: ceiling, version=version, bibtex=bibtex)
        self.score = score

    def __call__(self, candidate):
        candidate.start_recording("IT", [(70, 170)])
        return Score(0.3) if self.score is None else self.score


def test_a_good_benchmark_passes(outcomes_of):
    assert set(outcomes_of(testing.BenchmarkContract, Experiment).values()) == {"passed"}


def test_a_benchmark_may_return_nan_with_a_reason(outcomes_of):
    score = Score(np.nan)
    score.attrs["not_applicable"] = "The model does not change over time."
    assert set(outcomes_of(testing.BenchmarkContract, lambda: Experiment(score=score)).values()) == {"passed"}


@pytest.mark.parametrize(
    ("arguments", "test", "message"),
    [
        ({"identifier": "y"}, "test_identifier_is_the_key", "calls itself 'y'"),
        ({"version": "1"}, "test_version", "has the version '1'; expected an int"),
        ({"version": True}, "test_version", "has the version True"),
        ({"bibtex": None}, "test_bibtex", "has the reference None"),
        ({"bibtex": "Me (2026)"}, "test_bibtex", "has the reference 'Me (2026)'"),
        ({"score": 0.3}, "test_scores_a_random_model", "gave a float"),
        ({"score": Score([0.3, 0.4], dims=["split"])}, "test_scores_a_random_model", "sizes {'split': 2}"),
        ({"score": Score(np.nan)}, "test_scores_a_random_model", "the score nan"),
    ],
)
def test_a_faulty_benchmark_fails_exactly_one_test(outcomes_of, arguments, test, message):
    assert_fails(outcomes_of(testing.BenchmarkContract, lambda: Experiment(**arguments)), test, message)


def test_rejects_a_ceiling_above_one(outcomes_of):
    with pytest.raises(CeilingError, match=r"is 1\.2; expected at most 1"):
        outcomes_of(testing.BenchmarkContract, lambda: Experiment(ceiling=1.2))
    itself = type("Itself", (Experiment,), {"ceiling": 1.2})  # bypasses the check of its base class
    outcomes = outcomes_of(testing.BenchmarkContract, itself)
    assert_fails(outcomes, "test_ceiling", "expected one number above 0 and at most 1")


def test_private_measurements_skip_the_tests_that_need_them(outcomes_of):
    def ceiling():
        raise PrivateDataError("no credentials")

    class Private(Experiment):
        def __init__(self):
            super().__init__()
            self._ceiling_func = ceiling

        def __call__(self, candidate):
            ceiling()

    outcomes = outcomes_of(testing.BenchmarkContract, Private)
    needing = ("test_ceiling", "test_scores_a_random_model", "test_who_never_looks_is_at_chance")
    assert {outcomes.pop(name) for name in needing} == {"private: no credentials"}
    assert set(outcomes.values()) == {"passed"}


def test_the_candidate_has_the_visual_degrees_of_the_benchmark(outcomes_of):
    seen = []

    class Placed(Experiment):
        _visual_degrees = 5

        def __call__(self, candidate):
            seen.append(candidate.visual_degrees())
            return super().__call__(candidate)

    outcomes_of(testing.BenchmarkContract, Placed)
    outcomes_of(
        testing.BenchmarkContract, Experiment, candidate=lambda self: seen.append("own") or testing.RandomModel()
    )
    assert seen == [5.0, "own"]


class StoredOrder(Experiment):
    """Requests stimuli in stored order, that is, in blocks of a label."""

    def __init__(self, stimuli, order="experiment"):
        super().__init__()
        self.stimuli, self.presentation_order = stimuli, order

    def __call__(self, candidate):
        candidate.start_task(BrainModel.Task.label, ["cat", "dog"])
        return Score((candidate.look_at(self.stimuli).values == self.stimuli["truth"].to_numpy()).mean())


def test_contract_detects_stimuli_in_stored_order(outcomes_of, tmp_path):
    stimuli = draw_stimuli("x", 40, columns={"truth": ["cat"] * 20 + ["dog"] * 20}, size_px=4, folder=tmp_path / "x")
    outcomes = outcomes_of(testing.BenchmarkContract, lambda: StoredOrder(stimuli))
    assert_fails(outcomes, "test_who_never_looks_is_at_chance", "answer by these rules: position in blocks (1.00)")
    drawn = stimuli.iloc[np.random.default_rng(0).permutation(40)].reset_index(drop=True)
    for shown, order in ((drawn, "experiment"), (stimuli, "content")):
        outcomes = outcomes_of(testing.BenchmarkContract, lambda shown=shown, order=order: StoredOrder(shown, order))
        assert set(outcomes.values()) == {"passed"}


# -- metrics -----------------------------------------------------------------------------------------------------------


class Mean(Metric):
    def __call__(self, assembly1, assembly2):
        return Score(float(assembly1.values.mean() - assembly2.values.mean()))


def drawn(_one, _other):
    return Score(np.random.default_rng().random())


def meddling(one, _other):
    one.values[0] = 0
    return Score(0.5)


@pytest.mark.parametrize(
    ("metric", "failures"),
    [
        (Mean, {}),
        (lambda: lambda one, other: 0.5, {"test_gives_a_finite_score": "returned a float; expected a Score"}),
        (lambda: lambda one, other: Score(np.nan), {"test_gives_a_finite_score": "returned nan"}),
        (lambda: lambda one, other: Score([1.0], dims=["split"]), {"test_gives_a_finite_score": "{'split': 1}"}),
        (lambda: drawn, {"test_is_deterministic": "for the same assemblies"}),
        (lambda: meddling, {"test_leaves_its_arguments_alone": "changes the assemblies it is given"}),
    ],
)
def test_a_faulty_metric_fails_exactly_one_test(outcomes_of, metric, failures):
    outcomes = outcomes_of(testing.MetricContract, metric)
    for name, message in failures.items():
        assert message in outcomes.pop(name)
    assert set(outcomes.values()) == {"passed"}


def test_skips_with_instructions_if_a_metric_needs_arguments(outcomes_of):
    class NeedsCoordinate(Mean):
        def __init__(self, coordinate):
            self.coordinate = coordinate

        def __call__(self, assembly1, assembly2):
            _ = assembly1[self.coordinate]
            return super().__call__(assembly1, assembly2)

    outcomes = outcomes_of(testing.MetricContract, NeedsCoordinate)
    (said,) = set(outcomes.values())
    assert said.startswith("other: the registered factory needs coordinate; set arguments = {'coordinate': ...} in a")
    outcomes = outcomes_of(testing.MetricContract, NeedsCoordinate, arguments={"coordinate": "odd"})
    assert outcomes.pop("test_loads") == "passed"
    assert all("takes none of the usual assemblies (KeyError" in said for said in outcomes.values())

    def inputs(self):
        pair = [make_neuroid_assembly(4, 3, seed=seed) for seed in (0, 1)]
        return [tuple(each.assign_coords(odd=("presentation", range(4))) for each in pair)]

    outcomes = outcomes_of(testing.MetricContract, NeedsCoordinate, arguments={"coordinate": "odd"}, inputs=inputs)
    assert set(outcomes.values()) == {"passed"}


# -- data --------------------------------------------------------------------------------------------------------------


def stimuli(folder, identifier="Contract2026-x"):
    return make_stimulus_set(folder, 4, identifier=identifier)


def recordings(folder, n=4):
    assembly = make_neuroid_assembly(n, 3, n_repetitions=2, time_bins=[(70, 170)], identifier="Contract2026-x")
    assembly.attrs["stimulus_set"] = stimuli(folder)
    return assembly


def test_good_data_pass(outcomes_of, tmp_path):
    assert set(outcomes_of(testing.StimulusSetContract, lambda: stimuli(tmp_path / "s")).values()) == {"passed"}
    assert set(outcomes_of(testing.DataContract, lambda: recordings(tmp_path / "s")).values()) == {"passed"}


def test_rejects_data_with_another_identifier(outcomes_of, tmp_path):
    outcomes = outcomes_of(testing.StimulusSetContract, lambda: stimuli(tmp_path / "s", "y"))
    assert_fails(outcomes, "test_identifier_is_the_key", "calls itself 'y'")


def test_rejects_missing_files_and_duplicate_stimuli(outcomes_of, tmp_path):
    def twice():
        made = stimuli(tmp_path / "s")
        made["stimulus_id"] = ["a", "a", "b", "c"]
        return made

    messages = "breaks the data standard", "nox -s validate -- Contract2026-x"
    assert_fails(outcomes_of(testing.StimulusSetContract, twice), "test_validates", *messages)


def test_rejects_stimuli_that_are_not_in_the_set(outcomes_of, tmp_path):
    outcomes = outcomes_of(testing.DataContract, lambda: recordings(tmp_path / "s", n=5))
    assert_fails(outcomes, "test_stimuli_align", "stimulus_004")


def test_rejects_missing_values_unless_expected(outcomes_of, tmp_path):
    def with_nan():
        made = recordings(tmp_path / "s")
        made.values[0, 0, 0] = np.nan
        return made

    assert_fails(outcomes_of(testing.DataContract, with_nan), "test_validates")
    assert set(outcomes_of(testing.DataContract, with_nan, nans_expected=True).values()) == {"passed"}


def test_skips_data_that_are_not_an_assembly(outcomes_of):
    outcomes = outcomes_of(testing.DataContract, lambda: {"a": 1})
    assert all(said.startswith("other: a dict is not an assembly") for said in outcomes.values())
