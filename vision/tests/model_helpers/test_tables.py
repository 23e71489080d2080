import csv
import dataclasses
import functools
import hashlib

import boto3
import numpy as np
import pytest
import torch
from PIL import Image

from brainscore_core.errors import ChecksumError, DownloadError, LayerNotFoundError
from brainscore_core.testing.synthetic import make_stimulus_set
from brainscore_vision.catalogue.model_tables import Row, TableError, published_rows
from brainscore_vision.model_helpers.activations.images import resize_as_opencv
from brainscore_vision.model_helpers.tables import _load, builder_of, models_of, network_of, renamed
from brainscore_vision.model_helpers.weights import CheckpointError, fetch_checkpoint, read_checkpoint
from brainscore_vision.testing.proofs.tables import constant_weights, put_checkpoint

ROWS = published_rows()
OURS = [row for row in ROWS.values() if row.source and not row.library]


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Return a function that puts a row's checkpoint at its address in the mirror."""
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")

    return lambda row, state: put_checkpoint(row, state, tmp_path / "mirror")


def factories(folder, *rows):
    """Return the models of a table with these rows."""
    path = folder / "models" / "mine" / "models.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow([column.name for column in dataclasses.fields(Row)])
        table.writerows(dataclasses.astuple(row) for row in rows)
    return models_of(str(path.with_name("__init__.py")))


SMALL = Row(identifier="net", source="resnet18", classes="7", V1="layer1", IT="layer4.1.relu", readout="avgpool")


@pytest.mark.parametrize(
    ("weights", "names", "entry"),
    [
        ("https://a.example.org/net.pth?id=3", "", ""),
        ("hub:lab/net@main/net.pth", "module.", "state_dict"),
        ("s3://bucket/folder//net.pth?version=a.B", ".f. lin_cls.=fc. -", "state/model"),
    ],
)
def test_checkpoints_load_from_every_kind_of_address(publish, tmp_path, weights, names, entry):
    row = dataclasses.replace(SMALL, weights=weights, names=names, entry=entry)
    publish(row, constant_weights(row))
    model = factories(tmp_path, row)["net"]()
    assert (model.identifier, dict(model.region_layer_map)) == ("net", {"V1": "layer1", "IT": "layer4.1.relu"})
    network, _ = network_of(row)
    assert all(torch.equal(value, network.state_dict()[name]) for name, value in constant_weights(row).items())


def test_hub_endpoint_can_be_changed(publish, tmp_path, monkeypatch):
    row = dataclasses.replace(SMALL, weights="hub:lab/net@main/net.pth")
    publish(row, constant_weights(row))
    (tmp_path / "mirror/huggingface.co").rename(tmp_path / "mirror/hub.example.org")
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example.org/")
    assert network_of(row)[0].fc.bias.shape == (7,)


def test_first_download_is_pinned_despite_equal_file_names(publish, tmp_path):
    rows = [dataclasses.replace(SMALL, weights=f"https://a.example.org/{seed}/latest", degrees="4") for seed in (1, 2)]
    networks = []
    for seed, row in enumerate(rows):
        publish(row, constant_weights(row, seed))
        networks.append(network_of(row)[0])
    assert networks[0].fc.bias[0] != networks[1].fc.bias[0]
    for copy in (tmp_path / "home").rglob("latest"):
        copy.unlink()
    publish(rows[0], constant_weights(rows[0], 5))
    with pytest.raises(ChecksumError, match="differs from the file that was fetched first"):
        network_of(rows[0])
    assert factories(tmp_path, rows[1])["net"]().visual_degrees() == 4


def test_rejects_a_checkpoint_with_other_shapes(publish):
    row = dataclasses.replace(SMALL, weights="https://a.example.org/net.pth")
    publish(row, constant_weights(dataclasses.replace(row, source="resnet50")))
    with pytest.raises(
        CheckpointError, match=r"(?s)layer1.0.conv1.weight is \(64, 64, 1, 1\); expected \(64, 64, 3, 3"
    ):
        network_of(row)


def test_rejects_a_checkpoint_that_needs_code_of_its_author(publish):
    row = dataclasses.replace(SMALL, weights="https://a.example.org/net.pth", pickle="weights_only=False")
    publish(row, {"network": torch.nn.Linear(1, 1)})
    with pytest.raises(CheckpointError) as raised:
        network_of(row)
    message = " ".join(str(raised.value).split())
    assert "Only code of its author can make its objects of: 'torch.nn.modules.linear.Linear'" in message
    assert "The published plugin of net unpickles this file (weights_only=False), which can run any code" in message


def test_rejects_a_missing_layer(tmp_path):
    row = dataclasses.replace(SMALL, weights="random", V1="layer1.3")
    with pytest.raises(LayerNotFoundError, match=r"has no layer 'layer1\.3'.*Did you mean 'layer1\.\d'"):
        factories(tmp_path, row)["net"]()


def test_rejects_an_unknown_architecture(tmp_path):
    row = dataclasses.replace(SMALL, weights="random", source="resnet19")
    with pytest.raises(TableError, match=r"net: unknown architecture 'resnet19'\. Did you mean 'resnet18'"):
        factories(tmp_path, row)


def test_random_weights_are_reproducible(tmp_path):
    row = dataclasses.replace(SMALL, weights="random")
    before = torch.random.get_rng_state()
    first, second = (network_of(row)[0].fc.weight for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(before, torch.random.get_rng_state())


def test_removed_last_layer_and_cropped_picture(tmp_path):
    row = dataclasses.replace(SMALL, weights="random", classes="0", pictures="square 64, crop 32, half")
    model = factories(tmp_path, row)["net"]().activations_model
    assert model.get_activations(np.zeros((1, 3, 32, 32), np.float32), ["logits"])["logits"].shape == (1, 512)
    stimuli = make_stimulus_set(tmp_path, 1, identifier="one", size_px=64)
    assert model(stimuli, layers=["maxpool"]).sizes["neuroid"] == 64 * 8 * 8


def test_background_output_is_removed():
    row = dataclasses.replace(SMALL, weights="random")
    inputs = torch.ones(1, 3, 32, 32)
    with torch.inference_mode():
        whole, rest = (network_of(each)[0](inputs) for each in (row, dataclasses.replace(row, background="2")))
    torch.testing.assert_close(whole[:, 2:], rest)


def test_input_of_a_layer_can_be_recorded(tmp_path):
    row = dataclasses.replace(SMALL, weights="random", readout="fc.input")
    model = factories(tmp_path, row)["net"]().activations_model
    inputs = np.ones((1, 3, 32, 32), np.float32)
    activations = model.get_activations(inputs, ["fc.input", "avgpool", "logits"])
    assert activations["fc.input"].tolist() == activations["avgpool"].reshape(1, 512).tolist()
    with torch.inference_mode():
        expected = network_of(dataclasses.replace(row, readout="avgpool"))[0](torch.ones(1, 3, 32, 32))
    torch.testing.assert_close(torch.from_numpy(activations["logits"]), expected)


def picture(width, height):
    """Return an image of noise."""
    pixels = np.random.default_rng(width * height).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def centre(image, side):
    """Return the central square of an image."""
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side))


@pytest.mark.parametrize(
    ("pictures", "expected", "mean", "std"),
    [
        ("square 40, unit", lambda image: image.resize((40, 40), Image.Resampling.BILINEAR), 0, 1),
        ("square 40 bicubic, half", lambda image: image.resize((40, 40), Image.Resampling.BICUBIC), 0.5, 0.5),
        ("square 40, crop 31, unit", lambda image: centre(image.resize((40, 40), Image.Resampling.BILINEAR), 31), 0, 1),
        (
            "short 40 bicubic, crop 32, half",
            lambda image: centre(image.resize((80, 40), Image.Resampling.BICUBIC), 32),
            0.5,
            0.5,
        ),
        ("square 40 opencv, crop 32, unit", lambda image: centre(resize_as_opencv(image, 40), 32), 0, 1),
    ],
)
def test_preprocessing_follows_the_steps_of_the_row(tmp_path, pictures, expected, mean, std):
    image = picture(120, 60)
    image.save(tmp_path / "a.png")
    wrapper = _load(dataclasses.replace(SMALL, weights="random", pictures=pictures)).activations_model
    values = np.asarray(expected(image), np.float32).transpose(2, 0, 1) / 255
    np.testing.assert_allclose(
        wrapper._extractor.preprocess([str(tmp_path / "a.png")])[0], (values - mean) / std, atol=1e-6
    )


# -- meaning of the names in brainscore-vision 2.4.2 -------------------------------------------------------------------

TEST_M = {"V1": "layer1.0.conv2.input", "V2": "layer3.0", "V4": "layer3.0.conv2.input", "IT": "layer4.0"}


def test_checkpoint_with_last_layer_fits_a_network_without_it(publish):
    row = dataclasses.replace(ROWS["resnet-18_test_m"], digest="")
    whole = dataclasses.replace(row, names="", classes="")
    publish(whole, constant_weights(whole))
    model = _load(row)
    assert dict(model.region_layer_map) == TEST_M
    inputs = np.random.default_rng(0).normal(size=(1, 3, 64, 64)).astype(np.float32)
    layers = ["layer1.0.bn1", "layer1.0.conv2.input", "avgpool", "fc"]
    found = model.activations_model.get_activations(inputs, layers)
    np.testing.assert_array_equal(found["layer1.0.conv2.input"], np.maximum(found["layer1.0.bn1"], 0))
    assert found["fc"].tolist() == found["avgpool"].reshape(1, 512).tolist()


def test_cifar_network_keeps_the_resolution():
    network = builder_of(ROWS["cifar_resnet18_1"])[0]()
    assert network.conv1(torch.zeros(1, 3, 32, 32)).shape == (1, 64, 32, 32)
    assert network.conv1.kernel_size == (3, 3)


def test_stl10_network_scales_its_features():
    network = builder_of(ROWS["pr1_stl10_disentangled_alpha04"])[0]().eval()
    pictures = torch.rand(2, 3, 96, 96, generator=torch.manual_seed(0))
    with torch.inference_mode():
        features = network(pictures)
        network.fc = torch.nn.Identity()
        unscaled = network(pictures)
    torch.testing.assert_close(features, unscaled / unscaled.square().sum(dim=1, keepdim=True).sqrt())
    assert network.maxpool(network.conv1(pictures)).shape == (2, 64, 96, 96)


@pytest.mark.parametrize("identifier", ["resnet18_fair", "aughost_fair_resnet18"])
def test_fair_networks_keep_the_resolution(identifier):
    network = builder_of(ROWS[identifier])[0]()
    assert network.conv1(torch.zeros(1, 3, 64, 64)).shape == (1, 64, 64, 64)


@pytest.mark.parametrize(
    ("identifier", "column", "published"),
    [
        # The last of the published layers is the readout, unless one is named.
        ("hk_model_1", "readout", "fc"),
        ("r50_tvpt", "readout", "layer4"),
        ("resnet50_less_variation_iteration=1", "readout", "fc"),
        ("resnet50-SIN", "readout", "avgpool"),
        ("vgg_16", "readout", "classifier.3"),
        ("convnext_base_fb_in1k", "readout", "head"),
        ("dinov2_vitg14_lc", "readout", "linear_head"),
        ("dinov2_vitl14_reg_lc_featread", "readout", "linear_head.input"),
        ("AdvProp_efficientnet-b2", "readout", "blocks.6.1"),
        # A map passed as an argument is preferred to one in a file.
        ("resnet18_fair", "region_layer_map", {"V1": "layer1", "V2": "layer2", "V4": "layer3", "IT": "layer4"}),
        ("resnet_50_mapping0_1", "region_layer_map", {"V1": "maxpool", "V2": "layer2", "V4": "layer3", "IT": "layer4"}),
        ("resnet101_ecoset_full", "V1", "layer1.0.bn1"),
        ("convnext_small_imagenet_10_seed-0", "V4", "features.4.0"),
        # A file named after another model is not read; the name of the commitment counts.
        ("alexnet_private_submission", "region_layer_map", {}),
        ("alexnet_ks_torevert", "IT", "features.12"),
        ("eBarlow_augself_linear_1", "layers", "layer4"),
        ("resnet18_random", "layers", "layer1 layer2 layer3 layer4 avgpool"),
        ("resnet_50_mapping0_1", "degrees", ""),
        ("alexnet_fov12", "degrees", "12"),
        ("resnet50_st_wzc_2_323", "pictures", "short 256, crop 224, unit"),
        ("resnet50_st_wzc", "pictures", "square 224, unit"),
        ("resnet_101_v2", "pictures", "short 256, crop 224, half"),
        ("resnet_152_v2", "pictures", "short 341, crop 299, half"),
        ("resnet18_imagenet21kP", "pictures", "short 256 bicubic, crop 224, imagenet"),
        ("mobilenet_v2_1_4_224", "pictures", "square 224, imagenet"),
        ("custom_model_cv_18_dagger_408", "pictures", "square 256, crop 224, imagenet"),
        ("cvt_cvt-13-224-in1k_4_LucyV4", "pictures", "square 224 bicubic, library"),
        ("resnet50_imagenet_full", "pictures", "square 256 opencv, crop 224, imagenet"),
        ("mobilenet_v2_1_0_224", "background", "1"),
        # A block calls its rectifier twice: its outputs are the input of the second convolution and of the next block.
        ("resnet-18_test_m", "region_layer_map", TEST_M),
        ("cifar_resnet18_1", "source", "resnet18_conv3"),
        ("mehrer2020_alexnet_training_seed_06", "classes", "565"),
        ("mehrer2020_alexnet_training_seed_01_fov4", "degrees", "4"),
        ("resnet50_st_wzc_20260926_seed5_epoch90", "pictures", "short 256, crop 224, unit"),
        ("resnet50_dvd_pure10deg_wzc_20260913_seed0_epoch90", "readout", "avgpool"),
    ],
)
def test_rows_state_the_published_values(identifier, column, published):
    assert getattr(ROWS[identifier], column) == published


def test_every_row_states_its_readout_and_layers():
    """Rows of CORnet-S in steps are left out: `_in_steps` defines their readout and layers."""
    rows = [row for row in ROWS.values() if row.source and (row.source != "cornet_s" or row.region_layer_map)]
    assert [row.identifier for row in rows if not row.readout] == []
    assert [row.identifier for row in rows if not row.region_layer_map and not row.layers] == []
    assert len(rows) == 530


def test_addresses_of_gram_aligned_networks_contain_the_timm_name():
    rows = [row for row in ROWS.values() if row.identifier.endswith("_gram_aligned_dinov3")]
    folders = [f"/{row.source.removeprefix('timm:')}_gram_aligned_dinov3/" for row in rows]
    assert [folder in row.weights for folder, row in zip(folders, rows, strict=True)] == [True] * 4


# -- checkpoints in their published layouts ----------------------------------------------------------------------------


@functools.cache
def random_weights(source, classes):
    """Return `constant_weights` of a row with this source and these classes, cached."""
    return constant_weights(dataclasses.replace(SMALL, source=source, classes=classes))


def save_as_published(publish, row, layout, misspelt=""):
    """Put random weights, in the published layout, where a row looks for them; return the row."""
    row = dataclasses.replace(row, digest="")
    content = layout.content(random_weights(row.source, row.classes), misspelt)
    publish(dataclasses.replace(row, names="", entry=""), content)
    return row


def test_every_checkpoint_has_a_published_layout(layouts):
    """A new row, or a changed rule of a row, needs a line in `published_layouts.csv`."""
    rows = [row for row in ROWS.values() if row.weights not in {"", "random"}]
    lines = {row.identifier: [each for each in layouts if each.is_of(row)] for row in rows}
    assert [name for name, found in lines.items() if not found] == []
    wrong = [name for name, found in lines.items() if {each.library for each in found} != {ROWS[name].library}]
    assert wrong == []
    assert [str(each) for each in layouts if not any(map(each.is_of, rows))] == []
    entries = {name: {each.entry or "." for each in found} for name, found in lines.items()}
    looked = {name: set((ROWS[name].entry or ".").split("|")) for name in entries}
    assert [name for name in entries if entries[name] != looked[name]] == []
    assert len(rows) == 454


def test_rule_of_every_row_gives_the_names_of_its_network(layouts):
    """Tests rows with our own architectures; `frameworks/test_tables.py` tests the others."""
    for row in OURS:
        for layout in [each for each in layouts if each.is_of(row)]:
            expected = random_weights(row.source, row.classes)
            content = dict.fromkeys([*layout.beside, *map(layout.name, expected)])
            assert renamed(content, row.names).keys() == expected.keys(), (row.identifier, str(layout))


def test_checkpoint_in_its_published_layout_loads(publish, published_layout):
    row = save_as_published(publish, next(filter(published_layout.is_of, OURS)), published_layout)
    network, _ = network_of(row)
    expected = random_weights(row.source, row.classes)
    loaded = {name.replace(".conv2.output.", ".conv2."): values for name, values in network.state_dict().items()}
    assert all(torch.equal(values, expected[name]) for name, values in loaded.items())


def test_checkpoints_with_prefixes_load(publish, layouts):
    """35 checkpoints that once failed to load; the other four are from timm."""
    rows = [row for row in OURS if row.identifier.startswith(("ReAlnet", "Soumyadeep", "resnet50_finetune_cutmix_"))]
    assert len(rows) == 35
    for row in rows:
        (layout,) = [each for each in layouts if each.is_of(row)]
        saved = save_as_published(publish, row, layout)
        assert network_of(saved)[0].state_dict().keys() == random_weights(row.source, row.classes).keys()


@pytest.mark.parametrize("rule", sorted({row.names for row in OURS if row.weights != "random"}))
def test_error_shows_a_misspelt_name_in_file_and_network(publish, layouts, rule):
    row = next(row for row in OURS if row.names == rule and row.weights != "random")
    layout = next(each for each in layouts if each.is_of(row))
    first = next(iter(random_weights(row.source, row.classes)))
    with pytest.raises(CheckpointError) as raised:
        network_of(save_as_published(publish, row, layout, misspelt=layout.name(first)))
    message = " ".join(str(raised.value).split())
    assert f"1 missing: {first}" in message
    assert f" {layout.name(first)}_ " in message


def test_error_shows_a_lost_prefix_before_dropped_names(publish, layouts):
    row = dataclasses.replace(ROWS["resnet50_robust_l2_eps1"], digest="")
    layout = next(each for each in layouts if each.is_of(row))
    content = layout.content(random_weights(row.source, row.classes))
    weights = content["model"]
    weights["wrong.conv1.weight"] = weights.pop("module.model.conv1.weight")
    content["model"] = {**{f"module.attacker.model.layer1.{i}.bias": torch.zeros(1) for i in range(20)}, **weights}
    publish(dataclasses.replace(row, names="", entry=""), content)
    with pytest.raises(CheckpointError, match=r"(?s)1 missing:\s+conv1\.weight.*wrong\.conv1\.weight -> dropped"):
        network_of(row)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("realnet. -", "realnet.module.V1.conv1.weight -> module.V1.conv1.weight"),
        ("realnet.network. -", "realnet.module.V1.conv1.weight -> dropped"),
    ],
)
def test_error_shows_how_a_wrong_rule_changes_names(publish, layouts, names, message):
    row = ROWS["ReAlnet01"]
    saved = save_as_published(publish, row, next(each for each in layouts if each.is_of(row)))
    with pytest.raises(CheckpointError) as raised:
        network_of(dataclasses.replace(saved, names=names))
    assert message in str(raised.value)
    assert "missing: V1.conv1.weight" in " ".join(str(raised.value).split())
    assert f"The row's rule {names!r} makes of" in str(raised.value)


def test_names_without_a_matching_rule_stay_unless_dropped():
    assert renamed({"a.module.b.c": 1, "d": 2}, "module.") == {"b.c": 1, "d": 2}
    assert renamed({"a.module.b.c": 1, "d": 2}, "module.=x. -") == {"x.b.c": 1}


# -- all rows ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_version_and_digest_are_checked_in_a_local_s3(stand_in_s3, tmp_path, monkeypatch):
    own = {"ENDPOINT_URL": stand_in_s3, "ACCESS_KEY_ID": "me", "SECRET_ACCESS_KEY": "x", "DEFAULT_REGION": "us-east-1"}
    for name, value in own.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))
    client = boto3.client("s3")
    client.create_bucket(Bucket="weights")
    client.put_bucket_versioning(Bucket="weights", VersioningConfiguration={"Status": "Enabled"})
    versions = []
    for seed in range(2):
        torch.save(constant_weights(SMALL, seed), tmp_path / "net.pth")
        body = (tmp_path / "net.pth").read_bytes()
        answer = client.put_object(Bucket="weights", Key="a/net.pth", Body=body)
        versions.append((answer["VersionId"], hashlib.sha1(body, usedforsecurity=False).hexdigest()))
    for seed, (version, sha1) in enumerate(versions):
        row = dataclasses.replace(SMALL, weights=f"s3://weights/a/net.pth?version={version}", digest=sha1)
        assert torch.equal(network_of(row)[0].fc.bias, constant_weights(SMALL, seed)["fc.bias"])
    with pytest.raises(ChecksumError, match=f"expected sha1 {versions[1][1]}"):
        network_of(dataclasses.replace(row, weights=f"s3://weights/a/net.pth?version={versions[0][0]}"))
    with pytest.raises(DownloadError, match="there is no such file or version"):
        network_of(dataclasses.replace(row, weights="s3://weights/a/other.pth"))


@pytest.mark.slow
def test_all_rows_with_own_architectures_load_and_record(publish, tmp_path, monkeypatch):
    monkeypatch.setenv("RESULTCACHING_DISABLE", "1")
    rows = {row.identifier: dataclasses.replace(row, digest="") for row in OURS}
    models = factories(tmp_path, *rows.values())
    designs = {}  # rows of one design differ only in their names and addresses
    for row in rows.values():
        weights = row.weights if row.weights == "random" else ""
        designs.setdefault(dataclasses.replace(row, identifier="", weights=weights), row)
    stimuli = make_stimulus_set(tmp_path, 1, identifier="one", size_px=64)
    recorded, seen = 0, set()
    for row in designs.values():
        if row.weights != "random":
            publish(row, constant_weights(row))
        model = models[row.identifier]()
        assert model.visual_degrees() == float(row.degrees or 8)
        if not row.region_layer_map:
            continue
        assert dict(model.region_layer_map) == row.region_layer_map
        layers = sorted(set(row.region_layer_map.values()))
        side = 224 if row.source == "alexnet_v2" else 64  # others take any size, and small ones faster
        activations = model.activations_model.get_activations(np.ones((1, 3, side, side), np.float32), layers)
        assert set(activations) == set(layers)
        assert all(np.isfinite(values).all() for values in activations.values()), row.identifier
        recorded += 1
        if (row.source, row.pictures) not in seen:  # end to end, from a file to an assembly
            seen.add((row.source, row.pictures))
            model.start_recording("IT", [(70, 170)])
            activity = model.look_at(stimuli)
            assert set(activity["layer"].values) == {row.IT}
            assert np.isfinite(activity.values).all()
    addresses = {row.weights: row for row in rows.values()}
    for weights in set(addresses).difference(row.weights for row in designs.values()):
        publish(addresses[weights], {})
        assert read_checkpoint(fetch_checkpoint(weights), entry=addresses[weights].entry or None) == {}
    assert len(rows) >= 370
    assert recorded >= 90
