import csv
import dataclasses
import hashlib

import boto3
import numpy as np
import pytest
import torch

from brainscore_core.errors import ChecksumError, DownloadError, LayerNotFoundError
from brainscore_core.testing.synthetic import make_stimulus_set
from brainscore_vision import load_model
from brainscore_vision.catalogue.model_tables import Row, TableError, published_rows
from brainscore_vision.model_helpers.tables import models_of, network_of, renamed
from brainscore_vision.model_helpers.weights import CheckpointError, fetch_checkpoint, read_checkpoint
from brainscore_vision.models.cornet_s import model as cornet_s
from brainscore_vision.testing.proofs.tables import constant_weights, put_checkpoint
from brainscore_vision.testing.random_weights import random_weights

OURS = [row for row in published_rows().values() if row.source and not row.library and not row.is_alias]


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Return the function that puts a row's checkpoint where the mirror has its address."""
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
def test_a_checkpoint_of_any_address_and_form(publish, tmp_path, weights, names, entry):
    row = dataclasses.replace(SMALL, weights=weights, names=names, entry=entry)
    publish(row, constant_weights(row))
    model = factories(tmp_path, row)["net"]()
    assert (model.identifier, dict(model.region_layer_map)) == ("net", {"V1": "layer1", "IT": "layer4.1.relu"})
    network, _ = network_of(row)
    assert all(torch.equal(value, network.state_dict()[name]) for name, value in constant_weights(row).items())


def test_another_hub_has_the_checkpoints_of_the_hub(publish, tmp_path, monkeypatch):
    row = dataclasses.replace(SMALL, weights="hub:lab/net@main/net.pth")
    publish(row, constant_weights(row))
    (tmp_path / "mirror/huggingface.co").rename(tmp_path / "mirror/hub.example.org")
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example.org/")
    assert network_of(row)[0].fc.bias.shape == (7,)


def test_the_first_download_is_pinned_and_files_of_one_name_do_not_meet(publish, tmp_path):
    rows = [dataclasses.replace(SMALL, weights=f"https://a.example.org/{seed}/latest", degrees="4") for seed in (1, 2)]
    networks = []
    for seed, row in enumerate(rows):
        publish(row, constant_weights(row, seed))
        networks.append(network_of(row)[0])
    assert networks[0].fc.bias[0] != networks[1].fc.bias[0]
    for copy in (tmp_path / "home").rglob("latest"):
        copy.unlink()
    publish(rows[0], constant_weights(rows[0], 5))
    with pytest.raises(ChecksumError, match="is another file than the one that was fetched first"):
        network_of(rows[0])
    assert factories(tmp_path, rows[1])["net"]().visual_degrees() == 4


def test_a_checkpoint_of_other_shapes(publish):
    row = dataclasses.replace(SMALL, weights="https://a.example.org/net.pth")
    publish(row, constant_weights(dataclasses.replace(row, source="resnet50")))
    with pytest.raises(
        CheckpointError, match=r"(?s)layer1.0.conv1.weight is \(64, 64, 1, 1\); expected \(64, 64, 3, 3"
    ):
        network_of(row)


def test_a_layer_that_is_not_there(tmp_path):
    row = dataclasses.replace(SMALL, weights="random", V1="layer1.3")
    with pytest.raises(LayerNotFoundError, match=r"has no layer 'layer1\.3'.*Did you mean 'layer1\.\d'"):
        factories(tmp_path, row)["net"]()


def test_an_architecture_that_is_not_there(tmp_path):
    row = dataclasses.replace(SMALL, weights="random", source="resnet19")
    with pytest.raises(TableError, match=r"net: there is no architecture 'resnet19'\. Did you mean 'resnet18'"):
        factories(tmp_path, row)


def test_random_weights_are_the_same_each_time(tmp_path):
    row = dataclasses.replace(SMALL, weights="random")
    before = torch.random.get_rng_state()
    first, second = (network_of(row)[0].fc.weight for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(before, torch.random.get_rng_state())


def test_another_name_of_a_model():
    with random_weights(cornet_s):
        assert load_model("CORnet-S").identifier == "cornet_s"


def test_without_the_last_layer_and_with_a_cropped_picture(tmp_path):
    row = dataclasses.replace(SMALL, weights="random", classes="0", pictures="half-64/32")
    model = factories(tmp_path, row)["net"]().activations_model
    assert model.get_activations(np.zeros((1, 3, 32, 32), np.float32), ["logits"])["logits"].shape == (1, 512)
    stimuli = make_stimulus_set(tmp_path, 1, identifier="one", size_px=64)
    assert model(stimuli, layers=["maxpool"]).sizes["neuroid"] == 64 * 8 * 8


def test_names_that_no_rule_fits_stay_unless_they_are_dropped():
    assert renamed({"a.module.b.c": 1, "d": 2}, "module.") == {"b.c": 1, "d": 2}
    assert renamed({"a.module.b.c": 1, "d": 2}, "module.=x. -") == {"x.b.c": 1}


# -- all of them -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_version_and_digest_hold_in_a_local_s3(stand_in_s3, tmp_path, monkeypatch):
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
def test_all_rows_with_architectures_of_ours_load_and_are_recorded_from(publish, tmp_path, monkeypatch):
    monkeypatch.setenv("RESULTCACHING_DISABLE", "1")
    rows = {row.identifier: dataclasses.replace(row, digest="") for row in OURS}
    models = factories(tmp_path, *rows.values())
    designs = {}  # rows of a design differ in their names and addresses alone
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
        if (row.source, row.pictures) not in seen:  # the whole way, from a file to an assembly
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
