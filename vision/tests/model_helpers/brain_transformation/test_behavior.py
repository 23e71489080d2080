"""Behavioural tasks, compared with answers computed by hand or by another method."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import minimize

from brainscore_core.errors import AssemblyError, LayerNotFoundError, StimulusError, UnknownIdentifierError
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.model_helpers.brain_transformation.behavior import (
    BehaviorArbiter,
    LabelBehavior,
    LogitsBehavior,
    NoReadoutError,
    OddOneOut,
    ProbabilitiesMapping,
    category_probabilities,
    odd_one_out,
    softmax,
)
from brainscore_vision.model_interface import BrainModel


class Lookup:
    """An activations model that looks up its activations by stimulus_id."""

    def __init__(self, features, *, shuffle=False):
        self.features = features
        self.shown = []
        self.shuffle = shuffle

    def __call__(self, stimuli, layers, number_of_trials=1, require_variance=False):
        self.shown.append(len(stimuli))
        order = slice(None, None, -1) if self.shuffle else slice(None)
        columns = {"object_name": None, **{name: stimuli[name].to_numpy()[order] for name in stimuli.columns}}
        values = np.asarray([self.features[stimulus_id] for stimulus_id in columns["stimulus_id"]])
        return assembly_of(values, **columns, region=None, layer=("neuroid", np.repeat(layers[0], values.shape[1])))


def stimulus_set(ids, **columns):
    return StimulusSet({"stimulus_id": list(ids), "object_name": ["thing"] * len(ids), **columns})


def logits_for(*peaks, n_classes=1000):
    """Return activations with peaks (class, height) on a flat background."""
    values = np.zeros(n_classes)
    for index, height in peaks:
        values[index] = height
    return values


class TestFormulas:
    @given(arrays.arrays(float, (3, 5), elements=st.floats(-1e3, 1e3)))
    def test_softmax_is_a_distribution_and_keeps_the_maximum(self, logits):
        probabilities = softmax(logits)
        np.testing.assert_allclose(probabilities.sum(axis=-1), 1)
        assert (probabilities >= 0).all()
        np.testing.assert_array_equal(
            np.take_along_axis(probabilities, logits.argmax(axis=1)[:, None], axis=1)[:, 0], probabilities.max(axis=1)
        )

    def test_softmax_matches_hand_computed_values(self):
        np.testing.assert_allclose(softmax(np.log([[1.0, 2, 5]])), [[1 / 8, 2 / 8, 5 / 8]])
        np.testing.assert_allclose(softmax(np.array([[1000.0, 1000]])), [[0.5, 0.5]])

    def test_category_probability_is_mean_or_maximum_of_its_classes(self):
        logits = np.log([[1.0, 2, 5, 2]])
        np.testing.assert_allclose(category_probabilities(logits, [(0, 2), (3,)]), [[0.3, 0.2]])
        np.testing.assert_allclose(category_probabilities(logits, [(0, 2), (3,)], "max"), [[0.5, 0.2]])
        with pytest.raises(ValueError, match="median"):
            category_probabilities(logits, [(0,)], "median")

    @settings(max_examples=30)
    @given(
        arrays.arrays(int, (6, 3), elements=st.integers(-3, 3)),
        arrays.arrays(np.intp, (5, 3), elements=st.integers(0, 5)),
    )
    def test_odd_one_is_outside_the_most_similar_pair(self, features, triplets):
        similarities = features @ features.T
        for odd, (i, j, k) in zip(odd_one_out(similarities, triplets), triplets, strict=True):
            pairs = {"k": similarities[i, j], "j": similarities[i, k], "i": similarities[j, k]}
            best = max(pairs, key=pairs.get)  # the first of equals, like the documented order ij, ik, jk
            assert odd == {"i": i, "j": j, "k": k}[best]


LOGITS = {"bear": logits_for((295, 9.0)), "dog": logits_for((200, 9.0), (404, 1.0)), "cup": logits_for((967, 9.0))}


class TestLabel:
    def behavior(self, features=None):
        return LabelBehavior("net", Lookup(features or LOGITS))

    def test_imagenet_answers_are_wordnet_ids(self):
        behavior = self.behavior()
        behavior.start_task("label", "imagenet")
        answer = behavior.look_at(stimulus_set(["cup", "bear"]))
        assert type(answer) is BehavioralAssembly
        assert answer.dims == ("choice", "presentation")
        assert answer.values.tolist() == [["n07920052", "n02133161"]]
        assert answer["logit"].values.tolist() == [967, 295]
        assert answer["synset"].values.tolist() == answer["label"].values.tolist() == answer.values[0].tolist()
        assert answer["stimulus_id"].values.tolist() == ["cup", "bear"]
        assert answer["object_name"].values.tolist() == ["thing", "thing"]

    def test_answers_come_from_the_requested_labels(self):
        behavior = self.behavior()
        behavior.start_task(BrainModel.Task.label, ["airplane", "bear", "dog"])
        answer = behavior.look_at(stimulus_set(["dog", "bear"]))
        # The dog's one peak is averaged over 109 classes; (e^9 + 108) / 109 is still more than the airplane's e.
        assert answer.values.tolist() == [["dog", "bear"]]
        probabilities = answer.attrs["probabilities"]
        assert probabilities.dims == ("presentation", "choice")
        assert probabilities["choice"].values.tolist() == ["airplane", "bear", "dog"]
        total = 999 + np.exp(9)
        np.testing.assert_allclose(
            probabilities.sel(stimulus_id="bear").values.squeeze(), [1 / total, (3 + np.exp(9)) / 4 / total, 1 / total]
        )

    def test_mean_and_maximum_can_disagree(self):
        features = {"a": logits_for((404, 2.0), (200, 3.0))}  # airplane is one class, dog is many
        behavior = self.behavior(features)
        behavior.start_task("label", ["airplane", "dog"])
        assert behavior.look_at(stimulus_set(["a"])).values.tolist() == [["airplane"]]
        behavior.start_task("label", ["airplane", "dog"], aggregation="max")
        assert behavior.look_at(stimulus_set(["a"])).values.tolist() == [["dog"]]

    def test_invalid_tasks_are_rejected_without_side_effects(self):
        behavior = self.behavior()
        behavior.start_task("label", "imagenet")
        for labels, error in (
            (["bear", "unicorn"], UnknownIdentifierError),
            ("imagenette", UnknownIdentifierError),
            ([], ValueError),
        ):
            with pytest.raises(error):
                behavior.start_task("label", labels)
        with pytest.raises(ValueError, match="median"):
            behavior.start_task("label", ["bear"], aggregation="median")
        assert behavior.look_at(stimulus_set(["cup"])).values.tolist() == [["n07920052"]]
        with pytest.raises(UnknownIdentifierError, match="'label', not 'odd_one_out'"):
            behavior.start_task("odd_one_out", "imagenet")

    def test_wrong_number_of_classes_fails_after_one_stimulus(self):
        behavior = self.behavior({name: np.zeros(512) for name in "abc"})
        behavior.start_task("label", "imagenet")
        with pytest.raises(NoReadoutError, match=r"has 512 units.*1000 classes of ImageNet.*readout_layer.*label_map"):
            behavior.look_at(stimulus_set("abc"))
        assert behavior.activations_model.shown == [1]

    def test_model_without_a_readout_raises_the_same_error(self):
        def activations_model(stimuli, layers, **_):
            raise LayerNotFoundError("Model 'net' has no layer 'logits'; it has layer1.")

        for labels in ("imagenet", ["bear", "dog"]):
            behavior = LabelBehavior("net", activations_model)
            behavior.start_task("label", labels)
            with pytest.raises(NoReadoutError, match=r"has no layer 'logits'.*'probabilities'.*it has layer1"):
                behavior.look_at(stimulus_set("abc"))
        assert issubclass(NoReadoutError, ValueError)

    @pytest.mark.parametrize("label_map", [["cat", "dog", "cat"], {"cat": [0, 2], "dog": [1]}])
    def test_label_map_defines_the_classes_of_another_head(self, label_map):
        features = {"a": np.log([1.0, 5, 4]), "b": np.log([6.0, 5, 5]), "c": np.log([1.0, 2, 1])}
        behavior = LabelBehavior("net", Lookup(features), label_map)
        behavior.start_task("label", ["Dog", "cat"])
        answer = behavior.look_at(stimulus_set("abc"))
        # a: 5/10 against (1 + 4)/2/10; b: 5/16 against 11/2/16
        assert answer.values.tolist() == [["Dog", "cat", "Dog"]]
        np.testing.assert_allclose(answer.attrs["probabilities"].values[0], [0.5, 0.25])
        with pytest.raises(UnknownIdentifierError, match="WordNet ids of ImageNet"):
            behavior.start_task("label", "imagenet")

    def test_imagenet_answers_ignore_other_classes_of_a_head(self):
        # One class that is not in ImageNet, which is never the answer, and two that are.
        label_map = ["n02084071", "n07920052", "n02133161"]
        features = {"a": np.array([9.0, 2, 1]), "b": np.array([0.0, -2, -1])}
        behavior = LabelBehavior("net", Lookup(features), label_map)
        behavior.start_task("label", "imagenet")
        answer = behavior.look_at(stimulus_set("ab"))
        assert answer.values.tolist() == [["n07920052", "n02133161"]]
        assert answer["logit"].values.tolist() == [1, 2]

    def test_rejects_a_head_that_contradicts_its_label_map(self):
        for label_map, classes in (
            (["a", "b"], "2 classes of the 2 that the model"),
            ({"a": [3]}, "all classes of the 1"),
        ):
            behavior = LabelBehavior("net", Lookup({"x": np.zeros(3)}), label_map)
            behavior.start_task("label", ["a"])
            with pytest.raises(NoReadoutError, match=f"has 3 units.*needs {classes}"):
                behavior.look_at(stimulus_set("x"))

    def test_answers_over_time_are_averaged(self):
        def over_time(stimuli, layers, **_):
            once = Lookup(LOGITS)(stimuli, layers)
            early, late = once * 0 + np.arange(1000) % 2, once * 2  # odd classes are ahead at first
            late[0] = np.nan  # the first stimulus has ended by then
            return xr.concat([early, late], dim="time_bin").transpose("presentation", "neuroid", "time_bin")

        behavior = LabelBehavior("net", over_time)
        behavior.start_task("label", "imagenet")
        answer = behavior.look_at(stimulus_set(["dog", "cup"]))
        assert answer["logit"].values.tolist() == [1, 967]
        assert answer.dims == ("choice", "presentation")

    def test_looking_needs_a_task(self):
        with pytest.raises(RuntimeError, match="start_task"):
            self.behavior().look_at(stimulus_set(["cup"]))

    def test_former_name_of_label_behavior_is_an_alias(self):
        assert LogitsBehavior is LabelBehavior


def fit_by_optimisation(features, labels, penalty):
    """Minimise C * cross entropy + |W|^2 / 2 over weights and intercepts; return a function that predicts."""
    mean, std = features.mean(axis=0), features.std(axis=0)
    scaled = (features - mean) / std
    classes = list(dict.fromkeys(labels))
    wanted = np.asarray([[label == name for name in classes] for label in labels], dtype=float)
    shape = (features.shape[1] + 1, len(classes))

    def loss(flat):
        weights = flat.reshape(shape)
        probabilities = softmax(scaled @ weights[:-1] + weights[-1])
        value = -penalty * (wanted * np.log(probabilities)).sum() + (weights[:-1] ** 2).sum() / 2
        slope = penalty * (probabilities - wanted)
        return value, np.concatenate([scaled.T @ slope + weights[:-1], slope.sum(axis=0)[None]]).ravel()

    weights = minimize(loss, np.zeros(shape).ravel(), jac=True, tol=1e-12).x.reshape(shape)
    return lambda new: softmax((new - mean) / std @ weights[:-1] + weights[-1])


class TestProbabilities:
    @pytest.mark.parametrize("n_labels", [2, 3, 4])
    def test_probabilities_match_penalised_multinomial_regression(self, n_labels):
        rng = np.random.default_rng(n_labels)
        ids = [f"s{index}" for index in range(40)]
        labels = [f"label{index % n_labels}" for index in range(40)][::-1]
        centres = rng.normal(size=(n_labels, 6)) * 3
        features = {
            stimulus_id: centres[int(label[-1])] + rng.normal(size=6)
            for stimulus_id, label in zip(ids, labels, strict=True)
        }
        mapping = ProbabilitiesMapping("net", Lookup(features), "layer")
        mapping.start_task("probabilities", stimulus_set(ids[:30], image_label=labels[:30]))
        answer = mapping.look_at(stimulus_set(ids[30:]))
        table = np.asarray(list(features.values()))
        oracle = fit_by_optimisation(table[:30], labels[:30], penalty=1e-3)
        np.testing.assert_allclose(answer.values, oracle(table[30:]), atol=1e-4)
        assert answer.dims == ("presentation", "choice")
        assert answer["choice"].values.tolist() == list(dict.fromkeys(labels[:30]))
        assert answer["stimulus_id"].values.tolist() == ids[30:]
        np.testing.assert_allclose(answer.values.sum(axis=1), 1)

    def test_classifier_can_be_used_separately(self):
        features = Lookup({"a": [0.0, 1.0], "b": [1.0, 0.0]})(stimulus_set("ab", image_label=["x", "y"]), ["layer"])
        classifier = ProbabilitiesMapping.ProbabilitiesClassifier(classifier_c=1e3)
        answer = classifier.fit(features, features["image_label"]).predict_proba(features)
        assert answer["choice"].values[answer.values.argmax(axis=1)].tolist() == ["x", "y"]
        assert answer.values.max() > 0.9
        with pytest.raises(RuntimeError, match="fit"):
            ProbabilitiesMapping.ProbabilitiesClassifier().predict_proba(features)

    def test_rejects_unusable_fitting_stimuli(self):
        mapping = ProbabilitiesMapping("net", Lookup({"a": [0.0], "b": [1.0]}), ["layer"])
        with pytest.raises(StimulusError, match="image_label"):
            mapping.start_task("probabilities", stimulus_set("ab"))
        with pytest.raises(ValueError, match="at least two"):
            mapping.start_task("probabilities", stimulus_set("ab", image_label=["x", "x"]))
        with pytest.raises(RuntimeError, match="start_task"):
            mapping.look_at(stimulus_set("ab"))

    def test_rejects_models_that_reorder_stimuli(self):
        mapping = ProbabilitiesMapping("net", Lookup({"a": [0.0], "b": [1.0]}, shuffle=True), "layer")
        with pytest.raises(AssemblyError, match="order"):
            mapping.start_task("probabilities", stimulus_set("ab", image_label=["x", "y"]))


DIRECTIONS = {"a": [1.0, 0.0], "b": [0.9, 0.1], "c": [0.0, 1.0], "long": [0.0, 50.0]}


class TestOddOneOut:
    def test_answers_with_the_odd_one_of_each_triplet(self):
        model = OddOneOut("net", Lookup(DIRECTIONS), "layer")
        model.start_task("odd_one_out")
        answer = model.look_at(stimulus_set(["a", "b", "c", "c", "a", "b", "long", "c", "a"]))
        assert answer.dims == ("choice", "presentation")
        assert answer.values.tolist() == [["c", "c", "a"]]
        assert answer["stimulus_id"].values.tolist() == ["a|b|c", "c|a|b", "long|c|a"]
        assert model.activations_model.shown == [4]  # each stimulus once

    def test_cosine_similarity_ignores_lengths(self):
        features = {"a": [1.0, 0.0], "b": [1.0, 0.2], "c": [10.0, 10.0]}
        model = OddOneOut("net", Lookup(features), "layer")
        assert model.look_at(stimulus_set("abc")).values.tolist() == [["a"]]  # b . c = 12 is the largest product
        model.set_similarity_measure("cosine")
        assert model.look_at(stimulus_set("abc")).values.tolist() == [["c"]]
        with pytest.raises(ValueError, match="euclid"):
            model.set_similarity_measure("euclid")

    def test_trials_of_one_stimulus_are_averaged(self):
        def noisy(stimuli, layers, number_of_trials, require_variance):
            answers = Lookup(DIRECTIONS)(stimuli, layers)
            rows = np.repeat(np.arange(len(stimuli)), number_of_trials)
            noise = np.tile([[5.0], [-5.0]], (len(stimuli), 1))
            return answers[rows] + noise

        behavior = OddOneOut("net", noisy, "layer")
        once = OddOneOut("net", Lookup(DIRECTIONS), "layer")
        for triplet in ("abc", "bca"):
            expected = once.look_at(stimulus_set(triplet)).values
            np.testing.assert_array_equal(behavior.look_at(stimulus_set(triplet), number_of_trials=2).values, expected)

    def test_zero_vector_is_the_odd_one(self):
        behavior = OddOneOut("net", Lookup({"a": np.zeros(2), "b": np.ones(2), "c": np.array([1.0, 0])}), "layer")
        behavior.set_similarity_measure("cosine")
        assert behavior.look_at(stimulus_set("abc")).values.tolist() == [["a"]]

    def test_rejects_stimuli_that_do_not_form_triplets(self):
        with pytest.raises(StimulusError, match="4 stimuli"):
            OddOneOut("net", Lookup(DIRECTIONS), "layer").look_at(stimulus_set(["a", "b", "c", "a"]))


class TestArbiter:
    def test_tasks_are_passed_to_their_models(self):
        odd = OddOneOut("net", Lookup(DIRECTIONS), "layer")
        label = LabelBehavior("net", Lookup(LOGITS))
        arbiter = BehaviorArbiter({"odd_one_out": odd, "label": label})
        with pytest.raises(RuntimeError, match="start_task"):
            arbiter.look_at(stimulus_set("abc"))
        arbiter.start_task("odd_one_out")
        assert arbiter.look_at(stimulus_set("abc"), number_of_trials=3).values.tolist() == [["c"]]
        arbiter.start_task("label", choice_labels=["bear", "dog"])
        assert arbiter.look_at(stimulus_set(["bear"])).values.tolist() == [["bear"]]

    def test_error_for_an_unknown_task_suggests_a_name(self):
        arbiter = BehaviorArbiter({"label": LabelBehavior("net", Lookup({}))})
        with pytest.raises(KeyError) as caught:
            arbiter.start_task("labels")
        assert "Did you mean 'label'" in str(caught.value)
