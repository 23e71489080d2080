from pathlib import Path

import numpy as np
import pytest
from PIL import Image as PILImage

from brainscore_core.errors import AssemblyError, ConfigurationError, LayerNotFoundError, StimulusError
from brainscore_vision.model_helpers.activations.temporal.core import (
    BlockInferencer,
    CausalInferencer,
    TemporalInferencer,
)
from brainscore_vision.model_helpers.activations.temporal.inputs import Video

FORMATS = {"frames": "TC", "last": "C", "map": "CHW"}


def times_of(clip):
    """Preprocess a clip to the times of its frames, ms."""
    return clip._start + np.arange(len(clip.to_numpy())) * 1000 / clip.fps


class Model:
    """Return each frame's time, the last frame's time and a fixed map; record every clip."""

    def __init__(self):
        self.shown = []

    def __call__(self, inputs, layers):
        self.shown += [list(times) for times in inputs]
        times = np.stack(inputs)
        layer = {
            "frames": times[:, :, np.newaxis],
            "last": times[:, -1:],
            "map": np.broadcast_to(np.arange(24.0).reshape(1, 4, 6), (len(inputs), 1, 4, 6)),
        }
        return {name: layer[name] for name in layers}


def named_length(cls):
    """Make a subclass of an inferencer that shows a picture for the number of ms in its file name."""

    class Named(cls):
        def load_video(self, path):
            return Video.from_img_path(path, float(Path(path).stem), self.fps).set_fps(self.fps)

    return Named


@pytest.fixture
def stimulus(tmp_path):
    def make(duration):
        path = tmp_path / f"{duration}.png"
        PILImage.fromarray(np.zeros((2, 2, 3), dtype=np.uint8)).save(path)
        return str(path)

    return make


def run(inferencer, paths, layer, n_bins=None):
    prepared = inferencer.prepare(paths)
    bins = n_bins or max(len(inferencer.time_bins(each.duration)) for each in prepared)
    return inferencer.run(prepared, [layer], bins)[layer]


def make(cls, model=None, **options):
    options = {"fps": 10, "layer_activation_format": FORMATS, "dtype": np.float32, **options}
    return named_length(cls)(model or Model(), times_of, **options)


def test_whole_videos(stimulus):
    inferencer = make(TemporalInferencer)
    result = run(inferencer, [stimulus(300), stimulus(200)], "frames")
    assert result.shape == (2, 3, 1)
    np.testing.assert_array_equal(result[..., 0], [[0, 100, 200], [0, 100, 0]])  # 0 after the end of a stimulus
    np.testing.assert_array_equal(run(inferencer, [stimulus(300)], "last")[..., 0], [[200] * 3])
    assert inferencer.unit_axes("frames") == "C"


def test_ignored_time_becomes_a_channel_axis(stimulus):
    inferencer = make(TemporalInferencer, time_alignment="ignore_time")
    np.testing.assert_array_equal(run(inferencer, [stimulus(300)], "frames"), [[[[0], [100], [200]]]])
    assert inferencer.unit_axes("frames") == "TC"
    assert inferencer.time_bins(300) == [(0, 300)]


def test_causal_clips_end_at_each_frame(stimulus):
    model = Model()
    result = run(make(CausalInferencer, model), [stimulus(300), stimulus(200)], "last")
    np.testing.assert_array_equal(result[..., 0], [[0, 100, 200], [0, 100, 0]])
    assert model.shown == [[0], [0], [0, 100], [0, 100], [0, 100, 200]]  # clips of the same length share a batch
    steps = run(make(CausalInferencer), [stimulus(300)], "frames")
    np.testing.assert_array_equal(steps[0, :, 0], [0, 100, 200])


@pytest.mark.parametrize(
    ("options", "clips"),
    [
        ({"num_frames": 2}, [[-100, 0], [0, 100], [100, 200]]),
        ({"num_frames": (2, 3)}, [[-100, 0], [0, 100], [0, 100, 200]]),
        ({"num_frames": (1, 2)}, [[0], [0, 100], [100, 200]]),
        ({"num_frames": (1, 3), "temporal_context_strategy": "conservative"}, [[0], [100], [200]]),
        (
            {"duration": (100, 300), "temporal_context_strategy": "fix", "fixed_temporal_context": 200.0},
            [[-100, 0], [0, 100], [100, 200]],
        ),
    ],
)
def test_temporal_context_of_causal_clips(stimulus, options, clips):
    model = Model()
    run(make(CausalInferencer, model, **options), [stimulus(300)], "last")
    assert sorted(model.shown) == sorted(clips)


def test_blocks_are_contiguous_to_the_end(stimulus):
    model = Model()
    inferencer = make(BlockInferencer, model, num_frames=2)
    result = run(inferencer, [stimulus(300)], "frames")
    assert model.shown == [[0, 100], [200, 300]]  # the second block repeats the last frame beyond the end
    np.testing.assert_array_equal(result[0, :, 0], [0, 100, 200])
    np.testing.assert_array_equal(run(inferencer, [stimulus(400)], "last")[0, :, 0], [100, 100, 300, 300])
    model.shown.clear()
    run(make(BlockInferencer, model), [stimulus(300)], "last")
    assert model.shown == [[0, 100, 200]]


def test_large_maps_are_averaged_down_to_the_limit(stimulus):
    full = np.arange(24.0).reshape(4, 6)
    for most, expected in (
        (3, full.reshape(2, 2, 3, 2).mean(axis=(1, 3))),
        (0.5, full.reshape(2, 2, 3, 2).mean(axis=(1, 3))),
        (6, full),
        (100, full),
    ):
        result = run(make(TemporalInferencer, max_spatial_size=most), [stimulus(100)], "map")
        np.testing.assert_allclose(result[0, 0, 0], expected)


def test_rejects_clips_that_the_model_cannot_take(stimulus):
    for options, what in (({"num_frames": 4}, "3 frames"), ({"duration": (0, 200)}, "300 ms")):
        inferencer = TemporalInferencer(
            Model(), times_of, fps=10, layer_activation_format=FORMATS, img_duration=300, **options
        )
        with pytest.raises(StimulusError, match=f"has {what}.*the model takes"):
            inferencer.load_stimulus(stimulus(300))
    still = TemporalInferencer(Model(), times_of, fps=10, layer_activation_format=FORMATS, convert_img_to_video=False)
    with pytest.raises(StimulusError, match="is a picture"):
        still.load_stimulus(stimulus(300))


@pytest.mark.parametrize(
    ("cls", "options", "match"),
    [
        (TemporalInferencer, {"fps": 0}, "fps is 0"),
        (TemporalInferencer, {"time_alignment": "evenly"}, "Did you mean 'evenly_spaced'"),
        (TemporalInferencer, {"layer_activation_format": {"a": "TXY"}}, "'a' is 'TXY'"),
        (TemporalInferencer, {"layer_activation_format": {"a": "CC"}}, "different letters"),
        (TemporalInferencer, {"max_spatial_size": 1.5}, "max_spatial_size is 1.5"),
        (CausalInferencer, {"time_alignment": "evenly_spaced"}, "'per_frame_aligned'"),
        (BlockInferencer, {"num_frames": 10, "duration": 300}, "exclude each other"),
        (BlockInferencer, {"temporal_context_strategy": "long"}, "'greedy', 'conservative'"),
        (BlockInferencer, {"temporal_context_strategy": "fix"}, "fixed_temporal_context is None"),
        (
            BlockInferencer,
            {"temporal_context_strategy": "fix", "fixed_temporal_context": 500, "num_frames": 2},
            "expected 200 to 200 ms",
        ),
    ],
)
def test_rejects_invalid_settings(cls, options, match):
    with pytest.raises(ConfigurationError, match=match):
        make(cls, **options)


def test_rejects_layers_that_contradict_their_declared_format(stimulus):
    inferencer = make(TemporalInferencer, layer_activation_format={"frames": "TCHW", "last": "C"})
    with pytest.raises(AssemblyError, match=r"'frames' gave shape \(3, 1\) for one clip.*'TCHW'.*process_output"):
        run(inferencer, [stimulus(300)], "frames")
    with pytest.raises(LayerNotFoundError, match=r"lists frames, last\. Did you mean 'last'"):
        run(inferencer, [stimulus(300)], "lats")
    growing = make(
        TemporalInferencer,
        lambda inputs, layers: {"map": np.zeros((len(inputs), 1, len(inputs[0]), 1))},
        layer_activation_format={"map": "CHW"},
    )
    with pytest.raises(AssemblyError, match=r"shapes \(1, 2, 1\), \(1, 3, 1\) for different stimuli"):
        run(growing, [stimulus(300), stimulus(200)], "map")
