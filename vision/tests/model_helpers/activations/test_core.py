import io
import os
import shutil
import sys
from collections import OrderedDict
from functools import partial

import numpy as np
import pytest
import torch
from PIL import Image

from brainscore_core import errors
from brainscore_core.config import settings
from brainscore_vision.model_helpers.activations import extractor as extraction_of
from brainscore_vision.model_helpers.activations.cache import without_cache
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper


def brightness(paths):
    """Preprocess to one number per image: its mean pixel."""
    return np.asarray([np.asarray(Image.open(path), dtype=float).mean() for path in paths])


def first_pixel(paths):
    return np.asarray([np.asarray(Image.open(path), dtype=float).ravel()[0] for path in paths])


class Model:
    """Two layers with known answers; records the size of each batch."""

    def __init__(self, weight=2.0):
        self.weight = weight
        self.seen = []

    def __call__(self, inputs, layer_names):
        self.seen.append(len(inputs))
        layers = {"double": inputs[:, None] * self.weight, "both": np.stack([inputs, -inputs], axis=1)}
        unknown = [name for name in layer_names if name not in layers]
        if unknown:
            raise errors.LayerNotFoundError(f"no layer {unknown}")
        return OrderedDict((name, layers[name]) for name in layer_names)


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def stimuli(write_stimuli):
    pictures = {f"s{index}": np.full((4, 4, 3), level) for index, level in enumerate([10, 20, 30, 40, 50])}
    return write_stimuli(pictures, "levels", object_name=list("abcab"))


def extractor(model, preprocessing=brightness, batch_size=2, check_steady=False, **options):
    """Make an extractor that shows each stimulus once, so that tests can count the stimuli that the model saw."""
    return ActivationsExtractorHelper(
        model, preprocessing, identifier="net", batch_size=batch_size, check_steady=check_steady, **options
    )


def cached(model, preprocessing=brightness, batch_size=2):
    """Make an extractor with a digest of its model, so that it caches activations."""
    return extractor(model, preprocessing, batch_size, model_digest=lambda: str(model.weight))


def test_activations_keep_order_and_stimulus_columns(model, stimuli):
    activations = extractor(model)(stimuli[::-1], layers=["double"])
    assert activations.dims == ("presentation", "neuroid")
    np.testing.assert_array_equal(activations.values[:, 0], [100, 80, 60, 40, 20])
    assert activations["stimulus_id"].values.tolist() == ["s4", "s3", "s2", "s1", "s0"]
    assert activations["object_name"].values.tolist() == list("bacba")
    assert "stimulus_path" not in activations.coords
    assert activations.attrs == {}
    assert model.seen == [2, 2, 1]


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("CUDA error: device-side assert triggered"),
    ],
)
def test_device_errors_name_model_batch_and_setting(stimuli, error):
    def fail(inputs, layer_names):
        raise error

    with pytest.raises(type(error)) as caught:
        extractor(fail, batch_size=1)(stimuli, layers=["double"])
    first = next(iter(stimuli.stimulus_paths.values()))
    notes = " ".join(caught.value.__notes__)
    assert f"Model 'net' failed on a batch of 1 stimuli, from {str(first)!r}." in notes
    assert "BRAINSCORE_DEVICE" in notes


def test_other_model_errors_do_not_mention_a_device(stimuli):
    def fail(inputs, layer_names):
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError) as caught:
        extractor(fail)(stimuli, layers=["double"])
    assert "BRAINSCORE_DEVICE" not in " ".join(getattr(caught.value, "__notes__", []))


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "setting", "ci", "is_shown"),
    [
        (Terminal, "", "", True),
        (Terminal, "0", "", False),
        (Terminal, "", "true", False),
        (io.StringIO, "", "", False),
        (io.StringIO, "1", "", True),
    ],
    ids=["terminal", "terminal, declined", "terminal in CI", "file", "file, asked for"],
)
def test_progress_is_shown_only_if_somebody_watches(stimuli, monkeypatch, stream, setting, ci, is_shown):
    monkeypatch.setattr(extraction_of, "_PROGRESS_AFTER_S", 0)
    monkeypatch.setenv("BRAINSCORE_PROGRESS", setting)
    monkeypatch.setenv("CI", ci)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(sys, "stderr", stream())
    with without_cache():
        extractor(Model())(stimuli, layers=["double"])
    assert ("activations" in sys.stderr.getvalue()) is is_shown


def test_no_progress_for_runs_under_two_seconds(stimuli, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_PROGRESS", "1")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with without_cache():
        extractor(Model())(stimuli, layers=["double"])
    assert sys.stderr.getvalue() == ""


def test_progress_is_shown_in_notebooks(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("BRAINSCORE_PROGRESS", raising=False)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    assert extraction_of._is_watched()


def test_paths_are_labelled_with_paths(model, stimuli):
    paths = list(stimuli.stimulus_paths.values())
    activations = extractor(model)(paths, layers=["both", "double"])
    assert activations["stimulus_path"].values.tolist() == [str(path) for path in paths]
    np.testing.assert_array_equal(activations.values[1], [20, -20, 40])
    assert activations["layer"].values.tolist() == ["both", "both", "double"]


def test_duplicates_are_computed_once(model, stimuli):
    twice = stimuli.iloc[[0, 1, 0, 0, 2, 1]]
    activations = extractor(model, batch_size=64)(twice, layers=["double"])
    np.testing.assert_array_equal(activations.values[:, 0], [20, 40, 20, 20, 60, 40])
    assert activations["stimulus_id"].values.tolist() == ["s0", "s1", "s0", "s0", "s2", "s1"]
    assert model.seen == [3]


def test_paths_are_the_inputs_without_preprocessing(stimuli):
    def lengths(paths, layer_names):
        return OrderedDict((name, np.asarray([[len(path)] for path in paths])) for name in layer_names)

    activations = extractor(lengths, preprocessing=None)(stimuli, layers=["length"])
    assert activations.values[:, 0].tolist() == [len(str(path)) for path in stimuli.stimulus_paths.values()]


def test_no_layers_means_readout_and_an_empty_list_is_an_error(stimuli):
    asked = []

    def remember(inputs, layer_names):
        asked.append(list(layer_names))
        return OrderedDict((name, inputs[:, None]) for name in layer_names)

    extractor(remember, batch_size=64)(stimuli, layers=None)
    assert asked == [["logits"]]
    with pytest.raises(ValueError, match="empty"):
        extractor(remember)(stimuli, layers=[])


def test_calls_do_not_affect_each_other(model, stimuli):
    helper = extractor(model)
    with pytest.raises(errors.ConfigurationError, match="set_visual_degrees"):
        helper(stimuli, layers=["double"], number_of_trials=7, require_variance=True)
    many = helper(stimuli, layers=["double"], number_of_trials=7)
    once = helper(stimuli, layers=["double"])
    assert many.equals(once)
    assert len(once) == 5


def test_extra_layers_of_a_model_are_ignored(stimuli):
    def generous(inputs, _layer_names):
        return OrderedDict(asked=inputs[:, None], other=inputs[:, None])

    assert set(extractor(generous)(stimuli, layers=["asked"])["layer"].values) == {"asked"}


def test_error_names_a_layer_without_output(stimuli):
    with pytest.raises(errors.LayerNotFoundError, match=r"'doubel'.*Did you mean 'double'"):
        extractor(lambda inputs, _names: OrderedDict(double=inputs[:, None]))(stimuli, layers=["doubel"])


def in_steps(asked=()):
    """Return a model that returns every layer in three steps, as hooks of recurrent networks do."""

    def answer(inputs, layer_names):
        asked.append(list(layer_names))
        layers = {name.partition("-t")[0] for name in layer_names}
        return OrderedDict((f"{layer}-t{step}", inputs[:, None] * step) for layer in layers for step in (10, 0, 2))

    return answer


def test_stepwise_layers_are_recorded_as_their_steps(stimuli):
    asked = []
    helper = extractor(in_steps(asked), batch_size=64, model_digest=lambda: "in steps")
    activations = helper(stimuli, layers=["logits"])
    assert activations["layer"].values.tolist() == ["logits-t0", "logits-t2", "logits-t10"]
    np.testing.assert_array_equal(activations.values[1], [0, 40, 200])
    assert helper(stimuli, layers=["logits"]).identical(activations)
    assert asked == [["logits"], ["logits-t0", "logits-t2", "logits-t10"], ["logits"]]  # the steps are cached


def test_steps_of_another_layer_are_rejected(stimuli):
    with pytest.raises(errors.LayerNotFoundError, match=r"for \['both'\]; it gave \['double-t1'\]"):
        extractor(lambda inputs, _names: {"double-t1": inputs[:, None]})(stimuli, layers=["both"])


def test_halved_batch_size_stays_halved(stimuli, caplog):
    seen = []

    def small(inputs, layer_names):
        seen.append(len(inputs))
        if len(inputs) > 2:
            raise MemoryError
        return OrderedDict((name, inputs[:, None]) for name in layer_names)

    def net(batch_size):
        return extractor(small, batch_size=batch_size, model_digest=lambda: "small")

    helper = net(5)
    assert helper(stimuli, layers=["layer"]).values[:, 0].tolist() == [10, 20, 30, 40, 50]
    assert seen == [5, 2, 2, 2, 1]
    assert [record.getMessage() for record in caplog.records] == [
        "The memory does not suffice for 5 stimuli at a time; going on with 2, which batch_size=2 asks for at once."
    ]
    helper(stimuli, layers=["layer"])
    net(2)(stimuli, layers=["layer"])
    assert len(seen) == 5  # cached under batch_size=2
    net(4)(stimuli, layers=["layer"])
    assert seen[5:] == [4, 2]  # one batch of 4 was tried; the rest came from the cache


def test_error_names_a_broken_image_and_its_stimulus(model, stimuli):
    broken = stimuli.get_stimulus("s3")
    broken.write_bytes(broken.read_bytes()[:50])
    with pytest.raises(errors.StimulusError, match=r"'s3'.*s3\.png"):
        extractor(model)(stimuli, layers=["double"])
    with pytest.raises(errors.StimulusError, match=r"s3\.png"):
        extractor(model)(list(stimuli.stimulus_paths.values()), layers=["double"])


def test_missing_file_is_reported_before_any_computation(model, stimuli):
    stimuli.get_stimulus("s4").unlink()
    with pytest.raises(errors.MissingStimulusError, match=r"'s4'.*s4\.png"):
        extractor(model)(stimuli, layers=["double"])
    assert model.seen == []


def test_rejects_an_empty_list_of_stimuli(model):
    with pytest.raises(errors.StimulusError, match="stimulus set is empty"):
        extractor(model)([], layers=["double"])


def test_preprocessing_errors_with_intact_images_pass_through(model, stimuli):
    def fails(paths):
        raise OSError("my own trouble")

    with pytest.raises(OSError, match="my own trouble"):
        extractor(model, fails)(stimuli, layers=["double"])


def test_batch_hooks_change_activations_until_removed(model, stimuli):
    helper = extractor(model)

    def negate(batch):
        return OrderedDict((layer, -values) for layer, values in batch.items())

    handle = helper.register_batch_activations_hook(negate)
    assert helper(stimuli, layers=["double"]).values[0, 0] == -20
    handle.disable()
    assert helper(stimuli, layers=["double"]).values[0, 0] == 20
    handle.enable()
    second = helper.register_batch_activations_hook(negate)
    assert second.id != handle.id
    assert helper(stimuli, layers=["double"]).values[0, 0] == 20
    second.remove()
    handle.remove()
    assert helper(stimuli, layers=["double"]).values[0, 0] == 20


def test_stimulus_set_hooks_change_the_stimuli(model, stimuli):
    helper = extractor(model)
    handle = helper.register_stimulus_set_hook(lambda shown: shown[:2])
    assert len(helper(stimuli, layers=["double"])) == 2
    handle.remove()
    assert len(helper(stimuli, layers=["double"])) == 5


def test_insert_attrs_adds_the_methods_to_a_wrapper(model, stimuli):
    class Wrapper:
        pass

    wrapper = Wrapper()
    extractor(model).insert_attrs(wrapper)
    assert wrapper.from_stimulus_set(stimuli, layers=["double"]).shape == (5, 1)
    assert wrapper.from_paths(list(stimuli.stimulus_paths.values()), layers=["double"]).shape == (5, 1)
    wrapper.register_batch_activations_hook(lambda batch: batch).remove()
    wrapper.register_stimulus_set_hook(lambda shown: shown).remove()


def test_overridden_from_paths_also_applies_to_stimulus_sets(model, stimuli):
    class Halved(ActivationsExtractorHelper):
        def from_paths(self, *args, **kwargs):
            activations = super().from_paths(*args, **kwargs)
            return type(activations)(activations / 2)

    halved = Halved(model, brightness, identifier="net")(stimuli, layers=["double"])
    np.testing.assert_array_equal(halved.values[:, 0], [10, 20, 30, 40, 50])
    assert halved["stimulus_id"].values.tolist() == stimuli["stimulus_id"].tolist()


# --- the cache -------------------------------------------------------------------------------------------------------


def entries():
    return sorted((settings().cache_home / "activations").rglob("entry.json"))


def test_cache_hits_despite_renamed_model_stimuli_and_files(model, stimuli, tmp_path):
    cached(model)(stimuli, layers=["double"])
    helper = cached(model)
    helper.identifier = "renamed"
    moved = stimuli.copy()
    moved.identifier = "other"
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    moved.stimulus_paths = {name: path.rename(folder / f"{name}.png") for name, path in stimuli.stimulus_paths.items()}
    activations = helper(moved, layers=["double"])
    assert model.seen == [2, 2, 1]
    assert set(activations["model"].values) == {"renamed"}


@pytest.mark.parametrize("change", ["weight", "preprocessing", "arguments", "stimulus", "batch_size", "order", "layer"])
def test_changes_of_the_result_miss_the_cache(stimuli, change):
    model = Model()
    cached(model)(stimuli, layers=["double"])
    before = len(entries())
    options = {
        "preprocessing": {"preprocessing": first_pixel},
        "arguments": {"preprocessing": partial(brightness)},
        "batch_size": {"batch_size": 3},
    }
    helper, layers = cached(model, **options.get(change, {})), ["both" if change == "layer" else "double"]
    if change == "weight":
        model.weight = 3.0
    elif change == "stimulus":
        Image.fromarray(np.full((4, 4, 3), 99, dtype=np.uint8)).save(stimuli.get_stimulus("s2"))
    elif change == "order":
        stimuli = stimuli[::-1]
    activations = helper(stimuli, layers=layers)
    with without_cache():
        truth = helper(stimuli, layers=layers)
    assert activations.equals(truth)
    assert len(entries()) == before + 1


@pytest.mark.parametrize("file", ["entry.json", "values.npy"])
@pytest.mark.parametrize("damage", ["empty", "cut", "bit", "text", "gone", "other"])
def test_damaged_entry_is_recomputed(model, stimuli, damage, file):
    good = cached(model)(stimuli, layers=["double"]).copy(deep=True)
    (entry,) = entries()
    path = entry.with_name(file)
    content = bytearray(path.read_bytes())
    content[-5] ^= 4
    if damage == "gone":
        path.unlink()
    elif damage == "other":
        np.save(path.with_suffix(".npy"), np.zeros((2, 1)))
        path.with_suffix(".npy").replace(path)
    else:
        path.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "text": b"no"}.get(damage, content))
    assert cached(model)(stimuli, layers=["double"]).equals(good)
    assert cached(model)(stimuli, layers=["double"]).equals(good)
    assert model.seen == [2, 2, 1] * 2


def test_changed_values_are_detected_despite_an_old_mtime(model, stimuli):
    good = cached(model)(stimuli, layers=["double"]).copy(deep=True)
    (entry,) = entries()
    path = entry.with_name("values.npy")
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert cached(model)(stimuli, layers=["double"]).equals(good)
    assert model.seen == [2, 2, 1] * 2


def test_copied_cache_is_verified_and_used(model, stimuli, tmp_path, monkeypatch):
    good = cached(model)(stimuli, layers=["double"])
    shutil.copytree(settings().home, tmp_path / "moved")
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "moved"))
    for _ in range(2):
        assert cached(model)(stimuli, layers=["double"]).equals(good)
    assert model.seen == [2, 2, 1]


def test_pickle_in_an_entry_is_not_executed(model, stimuli, tmp_path):
    cached(model)(stimuli, layers=["double"])
    (entry,) = entries()
    marker = tmp_path / "executed"

    class Evil:
        def __reduce__(self):
            return (open, (str(marker), "w"))

    np.save(entry.with_name("values.npy"), np.array([Evil()] * 5, dtype=object))
    marker.unlink(missing_ok=True)
    cached(model)(stimuli, layers=["double"])
    assert not marker.exists()


def test_no_caching_without_a_complete_key(model, stimuli, monkeypatch):
    class Processor:
        def __init__(self):
            self._state = iter([1])

        def __call__(self, paths):
            return brightness(paths)

    def no_digest():
        raise TypeError("an open file has no digest")

    extractor(model)(stimuli, layers=["double"])  # no digest of the model
    extractor(model, model_digest=no_digest)(stimuli, layers=["double"])
    cached(model, Processor())(stimuli, layers=["double"])
    hooked = cached(model)
    hooked.register_batch_activations_hook(lambda batch: batch)
    hooked(stimuli, layers=["double"])
    cached(model)(stimuli, layers=["double"], stimuli_identifier=False)
    nameless = cached(model)
    nameless.identifier = False
    nameless(stimuli, layers=["double"])
    with without_cache():
        cached(model)(stimuli, layers=["double"])
    monkeypatch.setenv("RESULTCACHING_DISABLE", "1")
    cached(model)(stimuli, layers=["double"])
    assert entries() == []
    assert model.seen == [2, 2, 1] * 8


@pytest.mark.parametrize("batch_size", [0, -1])
def test_rejects_batch_sizes_below_one(model, batch_size):
    with pytest.raises(ValueError, match="batch_size"):
        extractor(model, batch_size=batch_size)


# --- random and batch-dependent models --------------------------------------------------------------------------------


class Noisy(Model):
    """Give different answers on every call, until `noise` is 0."""

    def __init__(self):
        super().__init__()
        self.noise, self.rng = 1.0, np.random.default_rng(0)

    def __call__(self, inputs, layer_names):
        layers = super().__call__(inputs, layer_names)
        layers["both"] = layers["both"] + self.noise * self.rng.random(layers["both"].shape)
        return layers


class TestSteadiness:
    def test_random_models_are_reported_recorded_and_not_cached(self, stimuli, caplog):
        helper = ActivationsExtractorHelper(Noisy(), brightness, identifier="net", model_digest=lambda: "noisy")
        first = helper(stimuli, layers=["double", "both"])
        assert "'net' is not deterministic" in caplog.text
        assert list(helper.deviation_between_passes) == ["both"]
        assert first.attrs == {"deviation_between_passes": helper.deviation_between_passes["both"]}
        assert not helper(stimuli, layers=["double", "both"]).equals(first)
        assert entries() == []
        paths = list(stimuli.stimulus_paths.values())
        assert 0 < helper(paths, layers=["both"]).attrs["deviation_between_passes"] < 1

    def test_warns_of_models_that_centre_over_their_batch(self, stimuli, caplog):
        def centred(inputs, layer_names):
            return {name: values - values.mean() for name, values in Model()(inputs, layer_names).items()}

        for batch_size, times in ((2, 0), (3, 1)):  # counted for the largest batch
            ActivationsExtractorHelper(centred, brightness, identifier="net", batch_size=batch_size)(
                stimuli, layers=["double"]
            )
            assert caplog.text.count("'net' depend on the other stimuli of a batch") == times

    def test_deviation_of_an_earlier_call_is_forgotten(self, stimuli):
        noisy = Noisy()
        helper = ActivationsExtractorHelper(noisy, brightness, identifier="net", model_digest=lambda: str(noisy.noise))
        helper(stimuli, layers=["both"])
        noisy.noise = 0.0
        assert helper(stimuli, layers=["both"]).attrs == {}
        assert helper.deviation_between_passes == {}
        helper(stimuli, layers=["both"])
        calls = len(noisy.seen)
        helper(stimuli, layers=["both"])
        assert len(noisy.seen) == calls


class TestWrongPreprocessing:
    @pytest.mark.parametrize(
        ("preprocessing", "message"),
        [
            (lambda paths: np.zeros((1, 3)), r"ndarray of shape \(1, 3\) for 2 stimuli"),
            (lambda paths: [np.zeros(3)], r"list of shape \(1,\) for 2 stimuli"),
            (lambda paths: np.float32(3), r"shape \(\) for 2 stimuli"),
        ],
    )
    def test_rejects_a_wrong_number_of_inputs(self, model, stimuli, preprocessing, message):
        with pytest.raises(errors.StimulusError, match=message):
            extractor(model, preprocessing)(stimuli, layers=["double"])

    def test_error_for_non_finite_inputs_names_the_stimulus(self, model, stimuli):
        def divide(paths):
            return brightness(paths) / np.asarray([0 if path.endswith("s3.png") else 1 for path in paths])

        with pytest.raises(errors.StimulusError, match=r"'s3'.*not finite.*s3\.png"), np.errstate(divide="ignore"):
            extractor(model, divide)(stimuli, layers=["double"])

    def test_any_error_names_the_stimulus(self, model, stimuli):
        def fail(paths):
            if any(path.endswith("s3.png") for path in paths):
                raise ZeroDivisionError("no pixels")
            return brightness(paths)

        with pytest.raises(ZeroDivisionError) as caught:
            extractor(model, fail)(stimuli, layers=["double"])
        assert any("s3.png" in note for note in caught.value.__notes__)
