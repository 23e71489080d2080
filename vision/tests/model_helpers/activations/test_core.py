"""The extractor: batches, duplicates, hooks, labels, errors, and a cache that never gives a wrong hit."""

from collections import OrderedDict

import numpy as np
import pytest
from PIL import Image

from brainscore_core.config import settings
from brainscore_core.errors import AssemblyError, LayerNotFoundError, MissingStimulusError, StimulusError
from brainscore_vision.model_helpers.activations.cache import without_cache
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper


def brightness(paths):
    """Preprocess to one number per image: its mean pixel."""
    return np.asarray([np.asarray(Image.open(path), dtype=float).mean() for path in paths])


def first_pixel(paths):
    return np.asarray([np.asarray(Image.open(path), dtype=float).ravel()[0] for path in paths])


class Model:
    """Two layers of which the right answer is known, and a count of what was computed."""

    def __init__(self, weight=2.0):
        self.weight = weight
        self.seen = []

    def __call__(self, inputs, layer_names):
        self.seen.append(len(inputs))
        layers = {"double": inputs[:, None] * self.weight, "both": np.stack([inputs, -inputs], axis=1)}
        unknown = [name for name in layer_names if name not in layers]
        if unknown:
            raise LayerNotFoundError(f"no layer {unknown}")
        return OrderedDict((name, layers[name]) for name in layer_names)


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def stimuli(write_stimuli):
    pictures = {f"s{index}": np.full((4, 4, 3), level) for index, level in enumerate([10, 20, 30, 40, 50])}
    return write_stimuli(pictures, "levels", object_name=list("abcab"))


def extractor(model, preprocessing=brightness, batch_size=2, **options):
    return ActivationsExtractorHelper(model, preprocessing, identifier="net", batch_size=batch_size, **options)


def cached(model, preprocessing=brightness, batch_size=2):
    """Make an extractor that knows what its model is."""
    return extractor(model, preprocessing, batch_size, model_digest=lambda: str(model.weight))


def test_activations_are_in_order_and_labelled_with_the_columns(model, stimuli):
    activations = extractor(model)(stimuli[::-1], layers=["double"])
    assert activations.dims == ("presentation", "neuroid")
    np.testing.assert_array_equal(activations.values[:, 0], [100, 80, 60, 40, 20])
    assert activations["stimulus_id"].values.tolist() == ["s4", "s3", "s2", "s1", "s0"]
    assert activations["object_name"].values.tolist() == list("bacba")
    assert "stimulus_path" not in activations.coords
    assert activations.attrs == {}
    assert model.seen == [2, 2, 1]


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


@pytest.mark.parametrize("batch_size", [1, 2, 3, 5, 64])
def test_the_batch_size_does_not_matter(stimuli, batch_size):
    activations = extractor(Model(), batch_size=batch_size)(stimuli, layers=["double"])
    np.testing.assert_array_equal(activations.values[:, 0], [20, 40, 60, 80, 100])


def test_without_preprocessing_the_paths_are_the_inputs(stimuli):
    def lengths(paths, layer_names):
        return OrderedDict((name, np.asarray([[len(path)] for path in paths])) for name in layer_names)

    activations = extractor(lengths, preprocessing=None)(stimuli, layers=["length"])
    assert activations.values[:, 0].tolist() == [len(str(path)) for path in stimuli.stimulus_paths.values()]


def test_layers_none_is_the_readout_and_an_empty_list_an_error(stimuli):
    asked = []

    def remember(inputs, layer_names):
        asked.append(list(layer_names))
        return OrderedDict((name, inputs[:, None]) for name in layer_names)

    extractor(remember, batch_size=64)(stimuli, layers=None)
    assert asked == [["logits"]]
    with pytest.raises(ValueError, match="empty"):
        extractor(remember)(stimuli, layers=[])


def test_nothing_sticks_between_calls(model, stimuli):
    helper = extractor(model)
    with pytest.raises(NotImplementedError, match="require_variance"):
        helper(stimuli, layers=["double"], number_of_trials=7, require_variance=True)
    many = helper(stimuli, layers=["double"], number_of_trials=7)
    once = helper(stimuli, layers=["double"])
    assert many.equals(once)
    assert len(once) == 5


def test_extra_layers_of_a_model_are_left_out(stimuli):
    def generous(inputs, _layer_names):
        return OrderedDict(asked=inputs[:, None], other=inputs[:, None])

    assert set(extractor(generous)(stimuli, layers=["asked"])["layer"].values) == {"asked"}


def test_a_layer_that_gave_nothing_is_named(stimuli):
    with pytest.raises(LayerNotFoundError, match=r"'doubel'.*Did you mean 'double'"):
        extractor(lambda inputs, _names: OrderedDict(double=inputs[:, None]))(stimuli, layers=["doubel"])


def test_activations_of_the_wrong_shape_are_refused(stimuli):
    with pytest.raises(AssemblyError, match=r"'layer'.*\(1, 3\) for 2 stimuli"):
        extractor(lambda _inputs, _names: {"layer": np.zeros((1, 3))})(stimuli, layers=["layer"])


def test_a_broken_image_is_named_with_its_stimulus(model, stimuli):
    broken = stimuli.get_stimulus("s3")
    broken.write_bytes(broken.read_bytes()[:50])
    with pytest.raises(StimulusError, match=r"'s3'.*s3\.png"):
        extractor(model)(stimuli, layers=["double"])
    with pytest.raises(StimulusError, match=r"s3\.png"):
        extractor(model)(list(stimuli.stimulus_paths.values()), layers=["double"])


def test_a_missing_file_is_named_before_anything_is_computed(model, stimuli):
    stimuli.get_stimulus("s4").unlink()
    with pytest.raises(MissingStimulusError, match=r"'s4'.*s4\.png"):
        extractor(model)(stimuli, layers=["double"])
    assert model.seen == []


def test_no_stimuli_are_an_error(model):
    with pytest.raises(StimulusError, match="no stimuli"):
        extractor(model)([], layers=["double"])


def test_errors_of_a_preprocessing_with_whole_images_are_its_own(model, stimuli):
    def fails(paths):
        raise OSError("my own trouble")

    with pytest.raises(OSError, match="my own trouble"):
        extractor(model, fails)(stimuli, layers=["double"])


def test_batch_hooks_change_activations_until_they_are_removed(model, stimuli):
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


def test_stimulus_set_hooks_change_what_is_shown(model, stimuli):
    helper = extractor(model)
    handle = helper.register_stimulus_set_hook(lambda shown: shown[:2])
    assert len(helper(stimuli, layers=["double"])) == 2
    handle.remove()
    assert len(helper(stimuli, layers=["double"])) == 5


def test_a_wrapper_gets_the_methods(model, stimuli):
    class Wrapper:
        pass

    wrapper = Wrapper()
    extractor(model).insert_attrs(wrapper)
    assert wrapper.from_stimulus_set(stimuli, layers=["double"]).shape == (5, 1)
    assert wrapper.from_paths(list(stimuli.stimulus_paths.values()), layers=["double"]).shape == (5, 1)
    wrapper.register_batch_activations_hook(lambda batch: batch).remove()
    wrapper.register_stimulus_set_hook(lambda shown: shown).remove()


def test_overriding_from_paths_changes_stimulus_sets_too(model, stimuli):
    class Halved(ActivationsExtractorHelper):
        def from_paths(self, *args, **kwargs):
            activations = super().from_paths(*args, **kwargs)
            return type(activations)(activations / 2)

    halved = Halved(model, brightness, identifier="net")(stimuli, layers=["double"])
    np.testing.assert_array_equal(halved.values[:, 0], [10, 20, 30, 40, 50])
    assert halved["stimulus_id"].values.tolist() == stimuli["stimulus_id"].tolist()


# --- the cache -------------------------------------------------------------------------------------------------------


def entries():
    return sorted((settings().cache_home / "activations").rglob("*.npz"))


def test_a_second_call_computes_nothing(model, stimuli):
    first = cached(model)(stimuli, layers=["double", "both"])
    again = cached(model)(stimuli, layers=["double", "both"])
    assert model.seen == [2, 2, 1]
    assert again.equals(first)
    assert len(entries()) == 2


def test_a_cached_layer_is_not_computed_again_for_other_layers(model, stimuli):
    cached(model)(stimuli, layers=["double"])
    both = cached(model)(stimuli, layers=["double", "both"])
    np.testing.assert_array_equal(both.values[0], [20, 10, -10])
    assert len(entries()) == 2


def test_the_name_of_model_stimuli_and_files_does_not_matter(model, stimuli, tmp_path):
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
def test_whatever_changes_the_result_misses_the_cache(stimuli, change):
    from functools import partial

    model = Model()
    cached(model)(stimuli, layers=["double"])
    before = len(entries())
    helper, layers = cached(model), ["double"]
    if change == "weight":
        model.weight = 3.0
    elif change == "preprocessing":
        helper = cached(model, first_pixel)
    elif change == "arguments":
        helper = cached(model, partial(brightness))
    elif change == "stimulus":
        Image.fromarray(np.full((4, 4, 3), 99, dtype=np.uint8)).save(stimuli.get_stimulus("s2"))
    elif change == "batch_size":
        helper = cached(model, batch_size=3)
    elif change == "order":
        stimuli = stimuli[::-1]
    else:
        layers = ["both"]
    activations = helper(stimuli, layers=layers)
    with without_cache():
        truth = helper(stimuli, layers=layers)
    assert activations.equals(truth)
    assert len(entries()) == before + 1


@pytest.mark.parametrize("damage", ["empty", "cut", "bit", "text", "other"])
def test_a_damaged_entry_is_computed_anew(model, stimuli, damage):
    good = cached(model)(stimuli, layers=["double"])
    (entry,) = entries()
    content = bytearray(entry.read_bytes())
    if damage == "bit":
        place = content.find(good.values.tobytes())
        assert place > 0
        content[place + 3] ^= 4
    entry.write_bytes(
        {"empty": b"", "cut": content[: len(content) // 2], "bit": content, "text": b"no"}.get(damage, b"")
    )
    if damage == "other":
        np.savez(entry, activations=np.zeros((2, 1)))
    repaired = cached(model)(stimuli, layers=["double"])
    assert repaired.equals(good)
    assert cached(model)(stimuli, layers=["double"]).equals(good)
    assert model.seen == [2, 2, 1] * 2


def test_a_pickle_in_an_entry_is_not_opened(model, stimuli, tmp_path):
    cached(model)(stimuli, layers=["double"])
    (entry,) = entries()
    marker = tmp_path / "executed"

    class Evil:
        def __reduce__(self):
            return (open, (str(marker), "w"))

    np.savez(entry, activations=np.array([Evil()] * 5, dtype=object))
    marker.unlink(missing_ok=True)
    cached(model)(stimuli, layers=["double"])
    assert not marker.exists()


def test_what_is_not_known_is_not_cached(model, stimuli, monkeypatch):
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


def test_an_interrupted_computation_leaves_no_entry(stimuli):
    class Interrupted(Model):
        def __call__(self, inputs, layer_names):
            if self.seen:
                raise KeyboardInterrupt
            return super().__call__(inputs, layer_names)

    with pytest.raises(KeyboardInterrupt):
        cached(Interrupted())(stimuli, layers=["double"])
    assert entries() == []
    np.testing.assert_array_equal(cached(Model())(stimuli, layers=["double"]).values[:, 0], [20, 40, 60, 80, 100])


@pytest.mark.parametrize("batch_size", [0, -1])
def test_a_batch_holds_something(model, batch_size):
    with pytest.raises(ValueError, match="batch_size"):
        extractor(model, batch_size=batch_size)
