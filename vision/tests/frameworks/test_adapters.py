"""Models of timm, transformers, open_clip, torchvision and ONNX Runtime, with random weights.

Inputs must equal those that the framework itself makes, and activations those that the network computes from them.
Pixels are compared exactly: both sides run the same code of the framework.
"""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import open_clip
import pytest
import timm
import torch
import torchvision
import transformers
from PIL import Image
from torch import nn

from brainscore_core.errors import AssemblyError, ConfigurationError, CorruptFileError, LayerNotFoundError
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.model_helpers.adapters import as_brain_model

TINY = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
    "image_size": 32, "patch_size": 8,
}  # fmt: skip
TEXT = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}


@pytest.fixture
def stimuli(tmp_path):
    """Return three pictures of different sizes and modes."""
    generator = np.random.default_rng(0)
    pictures = {
        "wide": Image.fromarray(generator.integers(0, 256, (60, 90, 3), dtype=np.uint8)),
        "grey": Image.fromarray(generator.integers(0, 256, (300, 280), dtype=np.uint8)),
        "clear": Image.fromarray(generator.integers(0, 256, (256, 256, 4), dtype=np.uint8)),
    }
    stimulus_set = StimulusSet({"stimulus_id": list(pictures)})
    stimulus_set.stimulus_paths = {name: tmp_path / f"{name}.png" for name in pictures}
    for name, picture in pictures.items():
        picture.save(stimulus_set.get_stimulus(name))
    return stimulus_set


def open_pictures(stimuli):
    return [Image.open(stimuli.get_stimulus(each)).convert("RGB") for each in stimuli["stimulus_id"]]


def record(model, stimuli, region="IT"):
    model.start_recording(region, time_bins=[(70, 170)])
    return model.look_at(stimuli)


def outputs_of(network, layer, inputs):
    """Return a module's output, without our code."""
    kept = []
    handle = network.get_submodule(layer).register_forward_hook(lambda _module, _inputs, output: kept.append(output))
    network.eval()
    with torch.no_grad():
        network(inputs)
    handle.remove()
    output = kept[-1]
    return (output if isinstance(output, torch.Tensor) else output[0]).flatten(1).numpy()


TIMM = {
    "vit_tiny_patch16_224": (["blocks.0", "blocks.11"], 12, "head"),
    "deit_tiny_patch16_224": (["blocks.0", "blocks.11"], 12, "head"),
    "convnext_atto": (["stages.0", "stages.3"], 4, "head.fc"),
    "swin_tiny_patch4_window7_224": (["layers.0", "layers.3"], 4, "head.fc"),
    "resnet18": (["act1", "layer4"], 5, "fc"),
    "efficientnet_b0": (["blocks.0", "blocks.6"], 5, "classifier"),
}


@pytest.mark.parametrize("architecture", TIMM)
def test_timm_inputs_and_activations(architecture, stimuli):
    (first, last), count, classifier = TIMM[architecture]
    network = timm.create_model(architecture)
    model = as_brain_model(network, region_layer_map={"IT": last})
    assert model.identifier.startswith(f"{architecture}@")
    listed = as_brain_model(network).layers
    assert (listed[0], listed[-1], len(listed)) == (first, last, count)
    wrapper = model.activations_model
    assert wrapper.get_layer("logits") is network.get_submodule(classifier)
    config = timm.data.resolve_model_data_config(network)
    transform = timm.data.create_transform(**config, is_training=False)
    inputs = torch.stack([transform(image) for image in open_pictures(stimuli)])
    np.testing.assert_array_equal(wrapper._extractor.preprocess(paths_of(stimuli)), inputs)
    np.testing.assert_allclose(record(model, stimuli).values, outputs_of(network, last, inputs), rtol=1e-4, atol=1e-4)


def paths_of(stimuli):
    return [str(stimuli.get_stimulus(each)) for each in stimuli["stimulus_id"]]


def test_timm_with_another_size_and_without_a_classifier(stimuli):
    network = timm.create_model("vit_tiny_patch16_224", img_size=64, num_classes=0)
    model = as_brain_model(network, layers=["blocks.1"])
    assert record(model, stimuli).shape == (3, (16 + 1) * 192)


def tiny_transformers():
    sizes = {"hidden_sizes": [8, 8, 8, 8], "depths": [1, 1, 2, 1]}
    without_mlp = {key: value for key, value in TINY.items() if key != "intermediate_size"}
    return {
        "vit": (transformers.ViTForImageClassification(transformers.ViTConfig(**TINY)), "vit.layers.1", 2),
        "convnext": (transformers.ConvNextModel(transformers.ConvNextConfig(**sizes)), "encoder.stages.3", 4),
        "dinov2": (transformers.Dinov2Model(transformers.Dinov2Config(**without_mlp)), "encoder.layer.1", 2),
        "clip_vision_model": (
            transformers.CLIPVisionModel(transformers.CLIPVisionConfig(**TINY)),
            "encoder.layers.1",
            2,
        ),
        "resnet": (
            transformers.ResNetModel(transformers.ResNetConfig(embedding_size=8, **sizes)),
            "encoder.stages.3",
            4,
        ),
    }


@pytest.mark.parametrize("kind", tiny_transformers())
def test_transformers_inputs_and_activations(kind, stimuli):
    network, last, count = tiny_transformers()[kind]
    processor = transformers.ViTImageProcessor(size={"height": 32, "width": 32})
    inputs = processor(images=open_pictures(stimuli), return_tensors="pt")["pixel_values"]
    model = as_brain_model(network, preprocessing=processor, region_layer_map={"IT": last})
    assert model.identifier.startswith(f"{kind}@")
    listed = as_brain_model(network, preprocessing=processor).layers
    assert (listed[-1], len(listed)) == (last, count)
    np.testing.assert_array_equal(model.activations_model._extractor.preprocess(paths_of(stimuli)), inputs)
    np.testing.assert_allclose(record(model, stimuli).values, outputs_of(network, last, inputs), rtol=1e-4, atol=1e-5)
    if kind == "vit":
        assert model.activations_model.get_layer("logits") is network.classifier


def test_transformers_finds_the_processor_saved_with_the_weights(stimuli, tmp_path):
    folder = tmp_path / "saved"
    transformers.ViTModel(transformers.ViTConfig(**TINY)).save_pretrained(folder)
    processor = transformers.ViTImageProcessor(size={"height": 32, "width": 32}, image_mean=[0.1, 0.2, 0.3])
    network = transformers.ViTModel.from_pretrained(folder)
    with pytest.raises(ConfigurationError, match=r"no image processor.*AutoImageProcessor\.from_pretrained"):
        as_brain_model(network)
    processor.save_pretrained(folder)
    model = as_brain_model(network, layers=["layers.1"])
    inputs = processor(images=open_pictures(stimuli), return_tensors="pt")["pixel_values"]
    np.testing.assert_array_equal(model.activations_model._extractor.preprocess(paths_of(stimuli)), inputs)


def test_transformers_runs_only_the_image_tower(stimuli):
    network = transformers.CLIPModel(transformers.CLIPConfig(vision_config=TINY, text_config=TEXT))
    processor = transformers.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    for layer in ("encoder.layers.1", "vision_model.encoder.layers.1"):
        model = as_brain_model(network, preprocessing=processor, layers=[layer])
        assert record(model, stimuli).shape == (3, (16 + 1) * 16)
    with pytest.raises(LayerNotFoundError, match=r"encoder\.layers"):
        as_brain_model(network, preprocessing=processor, layers=["text_model.encoder.layers.0"])


def test_missing_processor_error_says_what_to_pass():
    with pytest.raises(ConfigurationError, match=r"preprocessing=AutoImageProcessor\.from_pretrained"):
        as_brain_model(transformers.ViTModel(transformers.ViTConfig(**TINY)))


def test_open_clip_inputs_and_activations(stimuli):
    network, _, preprocess = open_clip.create_model_and_transforms("ViT-B-32-quickgelu")
    inputs = torch.stack([preprocess(image) for image in open_pictures(stimuli)])
    for given in ({}, {"preprocessing": preprocess}):
        model = as_brain_model(network, layers=["visual.transformer.resblocks.1"], **given)
        np.testing.assert_array_equal(model.activations_model._extractor.preprocess(paths_of(stimuli)), inputs)
    np.testing.assert_allclose(
        record(model, stimuli).values,
        outputs_of(network.visual, "transformer.resblocks.1", inputs), rtol=1e-4, atol=1e-4,
    )  # fmt: skip
    assert len(as_brain_model(network).layers) == 12


def test_torchvision_inputs_and_activations(stimuli):
    network = torchvision.models.resnet18()
    weights = torchvision.models.ResNet18_Weights.IMAGENET1K_V1
    with pytest.raises(ConfigurationError, match=r"ResNet_Weights\.IMAGENET1K_V1|weights\.transforms\(\)"):
        as_brain_model(network)
    inputs = torch.stack([weights.transforms()(image) for image in open_pictures(stimuli)])
    for given in (weights, weights.transforms()):
        model = as_brain_model(network, preprocessing=given, region_layer_map={"IT": "layer4.1"})
        np.testing.assert_array_equal(model.activations_model._extractor.preprocess(paths_of(stimuli)), inputs)
    np.testing.assert_allclose(
        record(model, stimuli).values, outputs_of(network, "layer4.1", inputs), rtol=1e-4, atol=1e-4
    )
    assert as_brain_model(network, preprocessing=weights).layers == [
        f"layer{a}.{b}" for a in range(1, 5) for b in (0, 1)
    ]
    vit = torchvision.models.vit_b_16()
    assert len(as_brain_model(vit, preprocessing="imagenet-224").layers) == 12


@pytest.mark.parametrize("same", ["timm", "transformers", "torchvision", "open_clip"])
def test_activations_are_cached_by_network_and_preprocessing(same, stimuli):
    processor = transformers.ViTImageProcessor(size={"height": 32, "width": 32})
    make = {
        "timm": lambda: (timm.create_model("resnet18"), "layer4", None),
        "transformers": lambda: (tiny_transformers()["vit"][0], "vit.layers.1", processor),
        "torchvision": lambda: (
            torchvision.models.resnet18(), "layer4", torchvision.models.ResNet18_Weights.IMAGENET1K_V1,
        ),
        "open_clip": lambda: (open_clip.create_model("ViT-B-32-quickgelu"), "transformer.resblocks.1", None),
    }[same]  # fmt: skip
    network, layer, preprocessing = make()
    activity = record(as_brain_model(network, layers=[layer], preprocessing=preprocessing), stimuli).values
    same_again = as_brain_model(network, layers=[layer], preprocessing=preprocessing)
    same_again.activations_model._extractor.get_activations = lambda *_: pytest.fail("it was computed again")
    np.testing.assert_array_equal(record(same_again, stimuli).values, activity)
    other = as_brain_model(make()[0], layers=[layer], preprocessing=preprocessing, identifier="other")
    assert not np.allclose(record(other, stimuli).values, activity)


class Small(nn.Module):
    """A small network to export."""

    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.conv, self.relu, self.fc = nn.Conv2d(3, 4, 4, stride=4), nn.ReLU(), nn.Linear(4, 5)

    def forward(self, images):
        return self.fc(self.relu(self.conv(images)).mean((2, 3)))


def export(path, seed=0, batch="batch", dynamo=False, kind=Small):
    dynamic = {"dynamic_axes": {"images": {0: "batch"}}} if batch == "batch" and not dynamo else {}
    example = torch.zeros(2 if batch == "batch" else batch, 3, 16, 16)
    network = kind(seed).eval()
    torch.onnx.export(
        network, (example,), str(path), dynamo=dynamo, input_names=["images"], output_names=["scores"],
        external_data=True, **dynamic,
    )  # fmt: skip
    return network


class TokensFirst(Small):
    def forward(self, images):
        return self.conv(images).flatten(2).permute(2, 0, 1)  # 16 tokens of 4 channels


def test_onnx_file_with_tokens_before_the_batch(stimuli, tmp_path):
    network = export(tmp_path / "tokens.onnx", kind=TokensFirst)
    model = as_brain_model(tmp_path / "tokens.onnx", preprocessing="imagenet-16", batch_size=2)
    inputs = torch.from_numpy(model.activations_model.preprocess(paths_of(stimuli)))
    with torch.no_grad():
        expected = network(inputs).transpose(0, 1).flatten(1)
    np.testing.assert_allclose(record(model, stimuli).values, expected, rtol=1e-4, atol=1e-5)
    export(tmp_path / "fixed.onnx", kind=TokensFirst, batch=2)
    with pytest.raises(AssemblyError, match=r"'scores' of model 'fixed@.*shape \(16, 2, 4\) for 2 pictures"):
        record(as_brain_model(tmp_path / "fixed.onnx", preprocessing="imagenet-16"), stimuli)


@pytest.mark.parametrize(("batch", "dynamo"), [("batch", False), (1, False), (2, False), (2, True)])
def test_onnx_file_outputs_and_inner_layers(batch, dynamo, stimuli, tmp_path):
    network = export(tmp_path / "small.onnx", batch=batch, dynamo=dynamo)
    model = as_brain_model(tmp_path / "small.onnx", preprocessing="imagenet-16")
    assert model.layers == ["scores"]
    assert model.identifier.startswith("small@")
    inputs = torch.from_numpy(model.activations_model.preprocess(paths_of(stimuli)))
    with torch.no_grad():
        conv = network.relu(network.conv(inputs))
        np.testing.assert_allclose(record(model, stimuli).values, network(inputs), rtol=1e-4, atol=1e-5)
    graph = onnx.load(str(tmp_path / "small.onnx")).graph
    relu = next(node for node in graph.node if node.op_type == "Relu")
    for layer in (relu.name, relu.output[0]):
        within = as_brain_model(str(tmp_path / "small.onnx"), preprocessing="imagenet-16", layers=[layer])
        np.testing.assert_allclose(record(within, stimuli).values, conv.flatten(1), rtol=1e-4, atol=1e-5)
    model.start_task("probabilities", stimuli.assign(image_label=["a", "b", "a"]))
    assert model.look_at(stimuli).sizes["choice"] == 2


def test_external_onnx_weights_are_part_of_the_identity(stimuli, tmp_path):
    # The graph file stays the same; only the separate file of weights differs.
    def activity():
        return record(as_brain_model(path, preprocessing="imagenet-16", identifier="same"), stimuli).values

    path = tmp_path / "small.onnx"
    export(path, seed=0, batch=3, dynamo=True)
    graph = path.read_bytes()
    first, name = activity(), as_brain_model(path, preprocessing="imagenet-16").identifier
    other = tmp_path / "other" / "small.onnx"
    other.parent.mkdir()
    export(other, seed=1, batch=3, dynamo=True)
    beside = path.with_name("small.onnx.data")
    assert beside.is_file()
    beside.write_bytes(other.with_name("small.onnx.data").read_bytes())
    assert path.read_bytes() == graph
    assert not np.allclose(activity(), first)
    assert as_brain_model(path, preprocessing="imagenet-16").identifier != name


def test_onnx_session_offers_only_its_outputs(stimuli, tmp_path):
    network = export(tmp_path / "small.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "small.onnx"))
    model = as_brain_model(session, preprocessing="imagenet-16")
    inputs = torch.from_numpy(model.activations_model.preprocess(paths_of(stimuli)))
    with torch.no_grad():
        np.testing.assert_allclose(record(model, stimuli).values, network(inputs), rtol=1e-4, atol=1e-5)
    with pytest.raises(LayerNotFoundError, match="It has scores"):
        as_brain_model(session, preprocessing="imagenet-16", layers=["/relu/Relu"])


def test_onnx_errors_name_the_problem(stimuli, tmp_path):
    path = tmp_path / "small.onnx"
    with pytest.raises(ConfigurationError, match="does not exist"):
        as_brain_model(path)
    path.write_bytes(b"no model" * 50)
    with pytest.raises(CorruptFileError, match="cannot be read as an ONNX model"):
        as_brain_model(path)
    export(path)
    with pytest.raises(ConfigurationError, match=r"'images' \['batch', 3, 16, 16\].*preprocessing='imagenet-16'"):
        as_brain_model(path)
    with pytest.raises(LayerNotFoundError, match=r"no layer 'relu/Relu'\. Did you mean '/relu/Relu'"):
        as_brain_model(path, preprocessing="imagenet-16", layers=["relu/Relu"])
    with pytest.raises(
        ConfigurationError, match=r"gives inputs of shape \(\d, 3, 8, 8\); expected \['batch', 3, 16, 16\]"
    ):
        record(as_brain_model(path, preprocessing="imagenet-8"), stimuli)
