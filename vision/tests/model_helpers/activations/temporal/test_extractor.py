from pathlib import Path

import numpy as np
import pytest

from brainscore_core import errors
from brainscore_vision.model_helpers.activations.temporal import core
from brainscore_vision.model_helpers.activations.temporal.inputs import Image, Video

FORMATS = {"conv": "CTHW", "tokens": "TK", "fc": "C"}


def brightness(clip):
    """Preprocess to the mean of each frame."""
    return clip.to_numpy().astype(float).mean(axis=(1, 2, 3))


class Model:
    def __init__(self, weight=1.0):
        self.weight = weight
        self.calls = 0

    def __call__(self, inputs, layers):
        self.calls += 1
        frames = np.stack(inputs) * self.weight
        channels = np.stack([frames, -frames], axis=1)[..., np.newaxis, np.newaxis]  # input, channel, time, 1, 1
        every_other = frames[:, ::2, np.newaxis] + np.arange(3)
        layer = {"conv": channels.repeat(2, axis=3), "tokens": every_other, "fc": frames.sum(axis=1, keepdims=True)}
        return {name: layer[name] for name in layers}


class Named(core.TemporalInferencer):
    """Show a picture for the duration given in its file name: ``<anything>-<ms>.png``."""

    def load_video(self, path):
        return Video.from_img_path(path, float(Path(path).stem.rpartition("-")[2]), self.fps).set_fps(self.fps)


@pytest.fixture
def stimuli(write_stimuli):
    pictures = {"b-400": np.full((2, 2, 3), 20), "a-250": np.full((2, 2, 3), 10)}
    return write_stimuli(pictures, object_name=["x", "y"])


def extractor(model=None, cls=Named, preprocessing=brightness, **options):
    model = model or Model()
    options = {"fps": 10, "layer_activation_format": FORMATS, "dtype": np.float32, **options}
    return core.ActivationsExtractor(
        cls(model, preprocessing, **options), "net", model_digest=lambda: f"model {model.weight}"
    )


def test_labels_and_bins(stimuli):
    result = extractor()(stimuli, layers=["conv", "tokens", "fc"])
    assert result.dims == ("presentation", "neuroid", "time_bin")
    assert result.shape == (2, 2 * 2 * 1 + 3 + 1, 4)
    assert result["stimulus_id"].values.tolist() == ["b-400", "a-250"]
    assert result["object_name"].values.tolist() == ["x", "y"]
    assert result["time_bin_start"].values.tolist() == [0, 100, 200, 300]
    assert result["time_bin_end"].values.tolist() == [100, 200, 300, 400]
    assert result["layer"].values.tolist() == ["conv"] * 4 + ["tokens"] * 3 + ["fc"]
    assert result["channel"].values[:4].tolist() == [0, 0, 1, 1]
    assert result["channel_y"].values[:4].tolist() == [0, 1, 0, 1]
    assert result["channel_token"].values[4:7].tolist() == [0, 1, 2]
    assert np.isnan(result["channel_token"].values[[0, -1]]).all()
    assert result["neuroid_id"].values[[0, 5, 7]].tolist() == ["net.conv.0", "net.tokens.1", "net.fc.0"]
    conv = result.sel(layer="conv").transpose("presentation", "neuroid", "time_bin").values
    np.testing.assert_array_equal(conv[0], [[20] * 4, [20] * 4, [-20] * 4, [-20] * 4])
    # 250 ms are two and a half bins; later bins are NaN.
    np.testing.assert_array_equal(conv[1, 0], [10, 10, 10, np.nan])


def test_short_stimulus_is_unaffected_by_a_longer_one(stimuli):
    together = extractor()(stimuli, layers=["conv"])
    alone = extractor()([str(stimuli.get_stimulus("a-250"))], layers=["conv"])
    assert alone.sizes["time_bin"] == 3
    np.testing.assert_array_equal(alone.values[0], together.values[1, :, :3])


def test_duplicates_are_shown_once(stimuli):
    paths = [str(stimuli.get_stimulus(name)) for name in ("b-400", "a-250", "b-400")]
    result = extractor()(paths, layers=["fc"])
    assert result["stimulus_path"].values.tolist() == paths
    np.testing.assert_array_equal(result.values[0], result.values[2])
    assert np.isnan(result.values[1, 0, 3])


def other_brightness(clip):
    return clip.to_numpy().astype(float).mean(axis=(1, 2, 3)) + 1


@pytest.mark.parametrize(
    ("change", "changes"),
    [
        ("nothing", {}),
        ("weight", {"model": Model(2.0)}),
        ("preprocessing", {"preprocessing": other_brightness}),
        ("fps", {"fps": 20}),
        ("type", {"dtype": np.float16}),
        ("alignment", {"time_alignment": "estimate_layer_fps"}),
        ("axes", {"layer_activation_format": {"conv": "CTWH"}}),
        ("size", {"max_spatial_size": 1}),
        ("inferencer", {"cls": core.CausalInferencer, "img_duration": 400}),
        ("blocks", {"cls": core.BlockInferencer, "img_duration": 400, "num_frames": 2}),
        ("duration", {"cls": core.TemporalInferencer, "img_duration": 300}),
    ],
)
def test_cache_key_covers_everything_that_changes_activations(stimuli, change, changes):
    first = extractor()(stimuli, layers=["conv"])
    model = changes.pop("model", Model())
    again = extractor(model, **changes)
    cached = again(stimuli, layers=["conv"])
    assert (model.calls == 0) == (change == "nothing")
    assert cached.equals(again(stimuli, layers=["conv"], stimuli_identifier=False))
    if change == "nothing":
        assert cached.equals(first)


def test_cached_stimulus_keeps_its_length_next_to_a_longer_one(stimuli):
    helper = extractor()
    helper(stimuli, layers=["conv"])
    assert helper([str(stimuli.get_stimulus("a-250"))], layers=["conv"]).shape == (1, 4, 3)
    assert helper(stimuli, layers=["conv"]).shape == (2, 4, 4)


def test_picture_models_have_no_time_bins(stimuli):
    inferencer = core.Inferencer(
        lambda inputs, layers: {"map": np.stack(inputs)}, lambda image: image.to_numpy() / 10.0, {"map": "HWC"}, Image
    )
    result = core.ActivationsExtractor(inferencer, "net")(stimuli, layers=["map"])
    assert result.dims == ("presentation", "neuroid")
    np.testing.assert_array_equal(result.values, np.repeat([[2.0], [1.0]], 12, axis=1))


def test_stochastic_models_give_differing_trials(stimuli):
    def noisy(inputs, layers):
        return {"fc": np.random.rand(len(inputs), 1)}  # noqa: NPY002 - such a model

    inferencer = Named(noisy, brightness, fps=10, layer_activation_format=FORMATS)
    helper = core.ActivationsExtractor(inferencer, "net", stochastic=True)
    result = helper(stimuli, layers=["fc"], number_of_trials=3)
    assert result["repetition"].values.tolist() == [0, 1, 2] * 2
    assert len(set(result.values[:, 0, 0].tolist())) == 6
    assert result.equals(helper(stimuli, layers=["fc"], number_of_trials=3))


def test_errors_name_the_problem(stimuli):
    with pytest.raises(errors.ConfigurationError, match="takes videos"):
        extractor()(stimuli, layers=["fc"], require_variance=True)
    with pytest.raises(errors.LayerNotFoundError, match="has no layer 'logits'"):
        extractor()(stimuli, layers=None)
    with pytest.raises(errors.StimulusError, match=r"a-250.png' lasts 250 ms and .*b-400.png' 400 ms"):
        extractor(time_alignment="ignore_time")(stimuli, layers=["conv"])
    stimuli.stimulus_paths["a-250"].unlink()
    with pytest.raises(errors.MissingStimulusError, match="a-250"):
        extractor()(stimuli, layers=["fc"])


@pytest.mark.filterwarnings("error")
def test_rejects_values_too_large_for_the_dtype(stimuli):
    with pytest.raises(
        errors.AssemblyError, match=r"'fc' gave values that are not finite .* stimulus '.*b-400.png'.*65,504"
    ):
        extractor(Model(1000.0), dtype=np.float16)(stimuli, layers=["fc"])


def test_inferencer_has_the_current_field_of_view():
    helper = extractor()
    assert helper.inferencer.visual_degrees == 8
    helper.set_visual_degrees(12)
    assert helper.inferencer.visual_degrees == 12
