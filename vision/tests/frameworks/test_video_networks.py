import numpy as np
import pytest
import torch
from torchvision.models import video

from brainscore_vision.model_helpers.activations.temporal.core import BlockInferencer
from brainscore_vision.model_helpers.activations.temporal.model import PytorchWrapper
from brainscore_vision.model_helpers.activations.temporal.utils import get_specified_layers
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment


def preprocessing(clip):
    frames = torch.Tensor(clip.to_numpy() / 255.0).permute(0, 3, 1, 2)
    return torch.nn.functional.interpolate(frames, size=(32, 32)).permute(1, 0, 2, 3)


def grid(_layer, layer_name, _inputs, output):
    """Arrange the tokens of a block on their grid, without the class token, as published plugins do."""
    if not layer_name.startswith("blocks"):
        return output
    tokens, (steps, rows, columns) = output
    return tokens[:, 1:].reshape(len(tokens), steps, rows, columns, -1)


@pytest.fixture
def stimuli(write_stimuli):
    rng = np.random.default_rng(0)
    return write_stimuli({name: rng.integers(0, 256, (40, 40, 3)) for name in "ab"})


@pytest.mark.parametrize("name", ["r3d_18", "mc3_18", "r2plus1d_18"])
def test_residual_video_networks_match_torchvision(name, stimuli):
    torch.manual_seed(0)
    network = getattr(video, name)(weights=None).eval()
    formats = {"stem": "CTHW", **{f"layer{number}": "CTHW" for number in range(1, 5)}, "avgpool": "CTHW", "fc": "C"}
    wrapper = PytorchWrapper(name, network, preprocessing, fps=16, layer_activation_format=formats, dtype=np.float32)
    assert get_specified_layers(wrapper) == list(formats)
    result = wrapper(stimuli, layers=["layer4", "fc"])
    assert result.sizes["time_bin"] == 16
    clips = torch.stack(
        [preprocessing(wrapper._extractor.inferencer.load_stimulus(stimuli.get_stimulus(n))) for n in "ab"]
    )
    with torch.no_grad():
        expected = network(clips).numpy()
    fc = result.sel(layer="fc").transpose("presentation", "neuroid", "time_bin").values
    np.testing.assert_allclose(fc, np.repeat(expected[..., np.newaxis], 16, axis=2), atol=1e-5)
    model = ModelCommitment(name, wrapper, list(formats), region_layer_map={"IT": "layer4"})
    model.start_recording("IT", time_bins=[(70, 170), (170, 270)])
    assert model.look_at(stimuli).sizes["time_bin"] == 2


def test_transformer_of_16_frames_records_every_layer(stimuli):
    torch.manual_seed(0)
    network = video.mvit.MViT(
        spatial_size=(32, 32),
        temporal_size=16,
        block_setting=[video.mvit.MSBlockConfig(1, 16, 16, [3, 3, 3], [3, 3, 3], [1, 1, 1], [1, 2, 2])] * 2,
        residual_pool=False,
        residual_with_cls_embed=False,
        rel_pos_embed=False,
        proj_after_attn=False,
        num_classes=10,
    ).eval()
    formats = {"conv_proj": "CTHW", "blocks.0": "THWC", "blocks.1": "THWC", "head": "C"}
    wrapper = PytorchWrapper(
        "mvit", network, preprocessing, grid, fps=20, num_frames=16, layer_activation_format=formats,
        inferencer_cls=BlockInferencer,
    )  # fmt: skip
    result = wrapper(stimuli, layers=list(formats))
    assert result.dims == ("presentation", "neuroid", "time_bin")
    assert result.sizes["time_bin"] == 20  # 1000 ms, from two pieces of 800 ms
    assert set(result["layer"].values) == set(formats)
    assert np.isfinite(result.values).all()
    assert not any(module._forward_hooks for module in network.modules())
