"""Recordings equal each layer's output: all layers of many architectures against a reference without hooks.

The reference replaces the `forward` of every module by one that immediately copies its output. For comparison, the
tests also keep views, like the hook of the published system, and show where these end up with other values.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

import numpy as np
import pytest
import torch
from torch import nn

from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper

# --- architectures ----------------------------------------------------------------------------------------------------

TIMM = (
    "resnet10t", "resnet18", "resnet26d", "seresnext26d_32x4d", "skresnet18", "resnest14d", "res2net50_14w_8s",
    "densenet121", "dla46_c", "efficientnet_lite0", "efficientnet_b0", "mobilenetv2_050", "mobilenetv3_small_050",
    "mnasnet_small", "fbnetc_100", "lcnet_035", "tinynet_e", "ghostnet_050", "mixnet_s", "hardcorenas_a", "rexnet_100",
    "regnetx_002", "regnety_002", "repvgg_a0", "hrnet_w18_small", "xception41", "selecsls42", "ese_vovnet19b_slim",
    "cspresnet50", "dpn48b", "gernet_s", "eca_nfnet_l0", "convnext_atto", "convnextv2_atto", "edgenext_xx_small",
    "mobilevit_xxs", "mobilevitv2_050", "efficientvit_b0", "fastvit_t8", "poolformer_s12", "pvt_v2_b0",
    "twins_pcpvt_small", "swin_tiny_patch4_window7_224", "vit_tiny_patch16_224", "cait_xxs24_224",
    "xcit_nano_12_p16_224", "levit_128s", "convit_tiny", "coat_lite_tiny", "resmlp_12_224", "visformer_tiny",
    "coatnet_pico_rw_224", "nest_tiny", "focalnet_tiny_srf", "davit_tiny", "inception_next_tiny", "hgnet_tiny",
    "tresnet_m", "mvitv2_tiny", "hiera_tiny_224", "starnet_s1", "mambaout_femto", "cs3darknet_focus_s",
    "gmlp_ti16_224", "vovnet39a", "nf_resnet50",
)  # fmt: skip

TORCHVISION = (
    "alexnet", "squeezenet1_1", "googlenet", "shufflenet_v2_x0_5", "mnasnet0_5", "mobilenet_v2", "mobilenet_v3_small",
    "resnet18", "resnet50", "densenet121", "efficientnet_b0", "regnet_y_400mf", "lraspp_mobilenet_v3_large", "r3d_18",
)  # fmt: skip

TRANSFORMERS = ("vit", "dinov2", "resnet", "convnext", "segformer", "clip_vision_model", "swin", "beit")


class Block(nn.Module):
    """A residual block that adds to the output of its last layer in place, and rectifies in place."""

    def __init__(self, norm=None):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.norm = norm or nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)  # used twice

    def forward(self, x):
        out = self.norm(self.conv2(self.relu(self.conv1(x))))
        out += x
        return self.relu(out)


class Views(nn.Module):
    """Layers that return views of their inputs, which later operations change."""

    def __init__(self):
        super().__init__()
        self.flat, self.first, self.same, self.last = nn.Flatten(), Half(), nn.Identity(), nn.Linear(32, 2)

    def forward(self, x):
        flat = self.flat(x[:, :1, :8, :8])
        half = self.same(self.first(flat))
        flat.relu_()
        half[:, 0] = 7
        half.mul_(2).sub_(1)
        return self.last(half)


class Half(nn.Module):
    def forward(self, x):
        return x.chunk(2, dim=1)[0]


class Twice(nn.Module):
    """One layer under two names, and one that runs three times."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 3, 3, padding=1)
        self.second = self.first
        self.scale = Scale()

    def forward(self, x):
        for _ in range(3):
            x = self.scale(x)
        return self.second(self.first(x))


class Scale(nn.Module):
    def forward(self, x):
        return x.mul_(1.5)


Pair = namedtuple("Pair", "hidden attention")


@dataclasses.dataclass
class Answer:
    hidden: torch.Tensor
    attention: torch.Tensor


class Several(nn.Module):
    """Layers that return several tensors, all of which are changed in place afterwards."""

    def __init__(self, pack):
        super().__init__()
        self.layer = Pack(pack)

    def forward(self, x):
        a, b = x.mean(dim=(2, 3)), x.amax(dim=(2, 3))
        out = self.layer(a, b)
        a.zero_(), b.add_(1)
        return out


class Pack(nn.Module):
    def __init__(self, pack):
        super().__init__()
        self.pack = pack

    def forward(self, a, b):
        return self.pack(a, b)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn, self.last = kind(48, 5, num_layers=2, batch_first=True), nn.Linear(5, 2)

    def forward(self, x):
        out, _ = self.rnn(x[..., :16].transpose(1, 2).flatten(2))
        return self.last(out.relu_()[:, -1])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.norm = nn.MultiheadAttention(16, 4, batch_first=True), nn.LayerNorm(16)

    def forward(self, x):
        tokens = x[:, 0, :8, :16]
        out, _ = self.attention(tokens, tokens, tokens)
        out += tokens
        return self.norm(out)


OWN = {
    "rectified in place": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.Conv2d(4, 2, 1)),
    "hard activations": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.Hardswish(True), nn.Conv2d(4, 4, 1), nn.SiLU(True), nn.Identity(), nn.Dropout(0.5, True),
        nn.BatchNorm2d(4), nn.LeakyReLU(0.1, True), nn.Conv2d(4, 4, 1), nn.ELU(inplace=True),
    ),
    "residual": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), Block(), Block(nn.Identity()), Block(nn.GroupNorm(2, 4))),
    "views": Views,
    "twice": Twice,
    "tuple": lambda: Several(lambda a, b: (a, b)),
    "nested tuple": lambda: Several(lambda a, b: (None, (a, [b]))),
    "dict": lambda: Several(lambda a, b: {"a": a, "b": {"c": b}}),
    "named tuple": lambda: Several(Pair),
    "dataclass": lambda: Several(Answer),
    "RNN": lambda: Recurrent(nn.RNN),
    "LSTM": lambda: Recurrent(nn.LSTM),
    "GRU": lambda: Recurrent(nn.GRU),
    "attention": Attention,
}  # fmt: skip


def make_timm(name):
    import timm

    try:
        return timm.create_model(name, img_size=64, num_classes=10)
    except TypeError:  # architectures that accept any size
        return timm.create_model(name, num_classes=10)


def make_torchvision(name):
    import torchvision

    own = {"googlenet": {"init_weights": False}, "lraspp_mobilenet_v3_large": {"weights_backbone": None}}
    return torchvision.models.get_model(name, weights=None, **own.get(name, {}))


def make_transformers(name):
    import transformers

    small = {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "image_size": 64,
        "embed_dim": 16, "depths": [1, 1, 1, 1], "num_heads": [1, 2, 2, 4], "patch_size": 16,
        "hidden_sizes": [8, 16, 32, 64], "embedding_size": 8,
    }  # fmt: skip
    kind = transformers.CONFIG_MAPPING[name]
    known = vars(kind())
    options = {key: value for key, value in small.items() if key in known}
    if name in ("vit", "dinov2", "beit", "clip_vision_model"):
        options.pop("hidden_sizes", None)
    if name == "swin":
        options.update(patch_size=4, window_size=2)
        options.pop("hidden_size")
    elif name == "convnext":
        options["patch_size"] = 4
    elif name == "segformer":
        options.update(num_attention_heads=[1, 2, 2, 4])
    return transformers.AutoModel.from_config(kind(**options))


MAKERS = {
    **{f"timm {name}": (make_timm, name) for name in TIMM},
    **{f"torchvision {name}": (make_torchvision, name) for name in TORCHVISION},
    **{f"transformers {name}": (make_transformers, name) for name in TRANSFORMERS},
    **{f"own {name}": (lambda name: OWN[name](), name) for name in OWN},
}


def make(architecture):
    """Make a network with seeded random weights, in evaluation mode, with normalisation that has an effect."""
    torch.manual_seed(0)
    maker, name = MAKERS[architecture]
    net = maker(name).eval()
    for part in net.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            # Many networks start with residual branches of weight 0, which would hide a mistake.
            nn.init.uniform_(part.weight, 0.5, 1.5)
            nn.init.normal_(part.bias, std=0.5)
    return net


def images(architecture):
    shape = (2, 3, 4, 64, 64) if "r3d" in architecture else (2, 3, 64, 64)
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


# Modules whose `forward` is called directly, bypassing hooks: they are reported as layers without output.
NOT_CALLED = {"timm hrnet_w18_small": [f"downsamp_modules.{index}" for index in range(3)]}


# --- the reference ----------------------------------------------------------------------------------------------------


def copies(output, label=""):
    """Return copies of all tensors in an output, by code independent of the library."""
    if isinstance(output, torch.Tensor):
        return {label: output.detach().clone()}
    if isinstance(output, Mapping):
        pairs = output.items()
    elif hasattr(output, "_asdict"):
        pairs = output._asdict().items()
    elif isinstance(output, (list, tuple)):
        pairs = enumerate(output)
    else:
        pairs = vars(output).items() if dataclasses.is_dataclass(output) else ()
    return {key: tensor for name, part in pairs for key, tensor in copies(part, f"{label}[{name}]").items()}


def run_wrapped(net, batch):
    """Run a network whose modules all copy their outputs; return the copies by name of module and part."""
    kept = {}

    def wrap(name, module):
        forward = module.forward

        def copying(*args, **kwargs):
            output = forward(*args, **kwargs)
            kept[name] = copies(output)
            return output

        had = vars(module).get("forward")
        module.forward = copying
        return had

    before = [(module, wrap(name, module)) for name, module in net.named_modules() if name]
    try:
        with torch.no_grad():
            net(batch.clone())
    finally:
        for module, had in before:
            if had is None:
                del module.forward
            else:
                module.forward = had
    return {f"{name}{label}": tensor for name, parts in kept.items() for label, tensor in parts.items()}


def wrapper_of(net):
    return PytorchWrapper(net, preprocessing=None, identifier="net", device="cpu")


# --- recording with views ---------------------------------------------------------------------------------------------


def run_with_views(net, batch):
    """Keep views of modules' outputs, as the published hook does on a CPU."""
    kept, handles = {}, []
    for name, module in net.named_modules():
        if name:

            def keep(_module, _inputs, output, name=name):
                if isinstance(output, torch.Tensor):
                    kept[name] = output.cpu().data.numpy()

            handles.append(module.register_forward_hook(keep))
    with torch.no_grad():
        net(batch.clone())
    for handle in handles:
        handle.remove()
    return kept


# --- tests ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", MAKERS)
def test_all_layers_equal_a_run_without_hooks(architecture):
    net, batch = make(architecture), images(architecture)
    wrapper = wrapper_of(net)
    recorded = wrapper.get_activations(batch, list(run_wrapped(net, batch)))
    expected = run_wrapped(net, wrapper._to_input(batch))  # the memory layout affects the last digits
    for name in NOT_CALLED.get(architecture, ()):
        del expected[name]
    assert expected
    assert set(recorded) == set(expected)
    assert [name for name in expected if not np.array_equal(recorded[name], expected[name].numpy())] == []
    assert not any(part._forward_hooks for part in net.modules())


def changed_by_views(architecture):
    """Return the values of views, the outputs of layers, and the names of layers where they differ."""
    net, batch = make(architecture), images(architecture)
    expected, views = run_wrapped(net, batch), run_with_views(net, batch)
    return views, expected, {name for name in views if not np.array_equal(views[name], expected[name].numpy())}


def test_views_do_not_change_the_published_layers():
    _, _, changed = changed_by_views("torchvision alexnet")
    assert changed == {f"features.{number}" for number in (0, 3, 6, 8, 10)} | {"classifier.1", "classifier.4"}
    assert not changed & {"features.2", "features.7", "features.12"}  # the published layer map
    for name in ("resnet18", "resnet50"):
        assert not changed_by_views(f"torchvision {name}")[2] & {"conv1", "layer1", "layer2", "layer3", "layer4"}


def test_view_of_the_last_normalisation_holds_the_block_output():
    views, expected, _ = changed_by_views("torchvision resnet18")
    np.testing.assert_array_equal(views["layer1.0.bn2"], expected["layer1.0"].numpy())


def test_fused_encoder_of_pytorch_agrees():
    # Without hooks it runs as one operation, so there is a reference for the whole but not for the layers inside.
    torch.manual_seed(0)
    net = nn.Sequential(OrderedDict(encoder=nn.TransformerEncoderLayer(16, 2, 32, batch_first=True))).eval()
    batch = torch.randn(2, 5, 16)
    with torch.no_grad():
        expected = net(batch)
    recorded = wrapper_of(net).get_activations(batch, ["encoder", "encoder.linear1"])
    np.testing.assert_allclose(recorded["encoder"], expected.numpy(), atol=1e-5)
    assert recorded["encoder.linear1"].shape == (2, 5, 32)
