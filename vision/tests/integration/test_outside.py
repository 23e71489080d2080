"""Models of another checkout, like the published repository, can be listed, loaded, recorded and scored.

Names and contents of its folders are made up, in the styles of the published ones: each combines a way to register a
model with a way to make the network. Small modules replace the libraries that they import, and a file of random numbers
the weights.
"""

import hashlib
import importlib
import itertools
import json
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
import torch

import brainscore_vision
from brainscore_core.git import run_git
from brainscore_core.identity.software import folder_revision
from brainscore_core.plugin_management.registry import FOLDERS
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_core.testing.synthetic import make_stimulus_set
from brainscore_vision import load_model, model_registry
from brainscore_vision.__main__ import main
from brainscore_vision.identity.sources import describe_sources
from brainscore_vision.isolation.prepared import Prepared, box_of
from brainscore_vision.loading import find_plugin_directory, known_identifiers

V1 = "SimulatedCortex2026.V1-pls"
INITS = {
    "relative": """
        from brainscore_vision import model_registry
        from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
        from .model import get_layers, get_model

        model_registry["NAME"] = lambda: ModelCommitment(
            identifier="NAME", activations_model=get_model("NAME"), layers=get_layers("NAME"))
        """,
    "absolute": """
        from brainscore_vision import model_registry
        from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
        from brainscore_vision.models.FOLDER.model import get_layers, get_model

        model_registry['NAME'] = lambda: ModelCommitment(identifier='NAME', activations_model=get_model('NAME'),
                                                         layers=get_layers('NAME'), behavioral_readout_layer='fc')
        """,
    "regions": """
        from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
        from brainscore_vision import model_registry
        from .model import *

        MAP = {"V1": "conv1", "V2": "conv1", "V4": "conv2", "IT": "conv2"}


        def commit(identifier):
            return ModelCommitment(identifier=identifier, activations_model=get_model(identifier),
                                   layers=get_layers(identifier), region_layer_map=MAP, visual_degrees=7)


        for identifier in ["NAME", "NAME-again"]:
            model_registry[identifier] = lambda identifier=identifier: commit(identifier)
        """,
    "file": """
        import json
        from pathlib import Path

        import brainscore_vision
        from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
        from . import model as own

        MAP = json.loads((Path(__file__).parent / "region_layer_map" / "NAME.json").read_text())
        brainscore_vision.model_registry["NAME"] = lambda: ModelCommitment(
            "NAME", own.get_model("NAME"), own.get_layers("NAME"), region_layer_map=MAP)
        """,
    "constants": """
        from brainscore_vision import model_registry
        from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
        from brainscore_vision.models.FOLDER import model
        from brainscore_vision.models.FOLDER.model import LAYERS as layers

        IDENTIFIER = "NAME"
        model_registry[IDENTIFIER] = lambda: ModelCommitment(
            identifier=IDENTIFIER, activations_model=model.get_model(IDENTIFIER), layers=layers)
        """,
}

# Code that makes a network; `weights` below is a file of its weights.
NETWORKS = {
    "torchvision": "import torchvision.models\nnetwork = lambda: torchvision.models.__dict__['resnet50'](weights=None)",
    "timm": "import timm\nnetwork = lambda: timm.create_model('resnetv2_50.a1h_in1k', pretrained=True).eval()",
    "url": """
        from urllib.request import urlretrieve
        import torch
        import torchvision


        def network():
            file = Path(tempfile.mkdtemp()) / "weights.pth"
            urlretrieve("WEIGHTS_URL", file)
            net = torch.nn.DataParallel(torchvision.models.alexnet(pretrained=False))
            net.module.load_state_dict(torch.load(file, map_location="cpu")["state_dict"])
            return net.module
        """,
    "drive": """
        import gdown
        import torch
        import torchvision.models as models


        def network():
            file = str(Path(__file__).parent / "downloaded.pth")
            if not os.path.exists(file):
                gdown.download("https://drive.example/uc?id=1", file, quiet=True)
            net = models.resnet50()
            net.load_state_dict({k.replace("module.", ""): v for k, v in torch.load(file)["state_dict"].items()})
            return net
        """,
    "bucket": """
        import torch
        import torchvision
        from brainscore_core.supported_data_standards.brainio.s3 import load_weight_file


        def network():
            file = load_weight_file(bucket="brainscore-storage", folder_name="brainscore-vision/models",
                                    relative_path="FOLDER/weights.pth", version_id="null", sha1="SHA1")
            net = torchvision.models.resnet18(weights=None)
            net.load_state_dict(torch.load(file)["state_dict"])
            return net
        """,
    "folder": """
        import torch
        import torchvision
        from brainscore_vision.model_helpers import download_weights


        def network():
            here = Path(tempfile.mkdtemp())
            download_weights(bucket="brainscore-storage", folder_path="brainscore-vision/models/FOLDER",
                             filename_version_sha=[("weights.pth", "null", "SHA1")], save_directory=here)
            net = torchvision.models.vgg16()
            net.load_state_dict(torch.load(here / "weights.pth")["state_dict"])
            return net
        """,
    "hub": """
        from huggingface_hub import hf_hub_download
        import timm
        import torch


        def network():
            net = timm.create_model("vit_base_patch16_224", pretrained=False)
            net.load_state_dict(torch.load(hf_hub_download("lab/net", filename="net.pth"))["state_dict"])
            return net
        """,
    "own": """
        from .helpers.blocks import Net
        from brainscore_vision.models.FOLDER.helpers import blocks


        def network():
            assert blocks.Net is Net
            return Net()
        """,
    "beside": """
        sys.path.append(os.path.dirname(__file__))
        from helpers_of_FOLDER import Net as network
        """,
    "neighbour": """
        from brainscore_vision.models.relative_wrapper.model import PytorchWrapper, network
        """,
    "wrapper": """
        from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper
        import torchvision.models

        network = torchvision.models.resnet18


        class PytorchWrapper(PytorchWrapper):
            def _build_extractor(self, identifier, preprocessing, get_activations, *args, **kwargs):
                return ActivationsExtractorHelper(identifier=identifier, get_activations=get_activations,
                                                  preprocessing=preprocessing, batch_size=2, *args, **kwargs)
        """,
}

MODEL = """
    import functools
    import os
    import sys
    import tempfile
    from pathlib import Path

    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
    from brainscore_vision.model_helpers.check_submission import check_models

    #NETWORK

    LAYERS = ["conv1", "conv2"]


    def get_model_list():
        return ["NAME"]


    def get_model(name):
        assert name.startswith("NAME")
        preprocessing = functools.partial(load_preprocess_images, image_size=32)
        wrapper = PytorchWrapper(identifier=name, model=network(), preprocessing=preprocessing)
        wrapper.image_size = 32
        return wrapper


    def get_layers(name):
        assert name.startswith("NAME")
        return LAYERS


    def get_bibtex(model_identifier):
        return ""


    if __name__ == "__main__":
        check_models.check_base_models(__name__)
    """

TEST = """
    import pytest
    import brainscore_vision


    @pytest.mark.travis_slow
    def test_has_identifier():
        assert brainscore_vision.load_model("NAME").identifier == "NAME"
    """

NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self.conv1, self.relu = nn.Conv2d(3, 4, 5, stride=4), nn.ReLU()
        self.conv2, self.fc = nn.Conv2d(4, 6, 3), nn.Linear(6, 10)

    def forward(self, images):
        return self.fc(self.conv2(self.relu(self.conv1(images))).mean((2, 3)))
"""

LIBRARIES = {
    "torchvision/__init__.py": "from . import models",
    "torchvision/models/__init__.py": f"{NET}\nresnet18 = resnet50 = alexnet = vgg16 = Net",
    "timm/__init__.py": f"{NET}\ncreate_model = lambda name, pretrained=False, **kwargs: Net()",
    "gdown/__init__.py": "import shutil\ndownload = lambda url, file, quiet=False: shutil.copy(WEIGHTS, file)",
    "huggingface_hub/__init__.py": "hf_hub_download = lambda repo, filename: WEIGHTS",
}


def names():
    """Return the identifier of each folder: ``<way to register>-<way to make the network>``."""
    return [f"{init}-{network}" for init, network in itertools.product(INITS, NETWORKS)]


def write_checkout(folder: Path, weights: Path, sha1: str) -> Path:
    """Write a checkout of a repository like the published one, with a folder for each of `names`."""
    models = folder / "brainscore_vision" / "models"
    for name in names():
        init, network = name.split("-")
        own = f"{init}_{network}"
        content = {"NAME": name, "FOLDER": own, "SHA1": sha1, "WEIGHTS_URL": weights.as_uri()}
        model = dedent(MODEL).replace("#NETWORK", dedent(NETWORKS[network]))
        files = {"__init__.py": dedent(INITS[init]), "model.py": model, "test.py": dedent(TEST)}
        files |= {f"region_layer_map/{name}.json": '{"IT": "conv2"}'} if init == "file" else {}
        files |= {"helpers/__init__.py": "", "helpers/blocks.py": NET} if network == "own" else {}
        files |= {f"helpers_of_{own}.py": NET} if network == "beside" else {}
        files |= {"requirements.txt": "torch\ntorchvision\n"} if network in ("url", "drive") else {}
        for file, text in files.items():
            path = models / own / file
            path.parent.mkdir(parents=True, exist_ok=True)
            for key, value in content.items():
                text = text.replace(key, value)
            path.write_text(text)
    (models / "__init__.py").touch()
    return folder


def write_libraries(folder: Path, weights: Path) -> None:
    """Write replacements of the libraries that these models import."""
    for file, text in LIBRARIES.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"WEIGHTS = {str(weights)!r}\n{text}\n")


TAKEN = """
from brainscore_vision import load_model, model_registry
from brainscore_vision.models.pixels import model
for name in ("pixels", "pixels-too"):
    model_registry[name] = lambda name=name: model.Pixels(name)
"""
THEIR_MODEL = """
class Pixels:
    def __init__(self, name):
        self.identifier = f"their {name}"

    def look_at(self, stimuli): ...
"""
BROKEN = "from brainscore_vision import model_registry\nmodel_registry['broken' = 1"


@pytest.fixture(scope="module")
def made_folder(tmp_path_factory):
    """Write the checkout, the libraries that it imports and the weights that it fetches; return their folder."""
    folder = tmp_path_factory.mktemp("made")
    content: dict[str, type] = {}
    exec(NET, content)  # noqa: S102 - a text of these tests
    weights = folder / "weights.pth"
    torch.save({"state_dict": content["Net"]().state_dict()}, weights)
    write_libraries(folder / "libraries", weights)
    checkout = write_checkout(folder / "checkout", weights, hashlib.sha1(weights.read_bytes()).hexdigest())  # noqa: S324 - as published
    for own in (plugin.name for plugin in (checkout / "brainscore_vision/models").iterdir() if plugin.is_dir()):
        stored = folder / "mirror/brainscore-storage/brainscore-vision/models" / own / weights.name
        stored.parent.mkdir(parents=True)
        stored.symlink_to(weights)
    for file, text in (("pixels/__init__", TAKEN), ("pixels/model", THEIR_MODEL), ("broken/__init__", BROKEN)):
        path = checkout / f"brainscore_vision/models/{file}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "made"]):
        assert run_git(checkout, *words).status == 0
    return folder


@pytest.fixture
def checkout(made_folder, monkeypatch):
    """Let the library find the plugins of the checkout during the test."""
    monkeypatch.setenv("BRAINSCORE_PLUGINS", str(made_folder / "checkout"))
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(made_folder / "mirror"))
    monkeypatch.syspath_prepend(made_folder / "libraries")
    packages = [importlib.import_module(f"brainscore_vision.{folder}") for folder in FOLDERS]
    paths, registered, known = [list(package.__path__) for package in packages], dict(model_registry), set(sys.modules)
    yield made_folder / "checkout"
    for package, path in zip(packages, paths, strict=True):
        package.__path__[:] = path
    for name in [
        name
        for name in set(sys.modules) - known
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(made_folder))
    ]:
        del sys.modules[name]
    model_registry.clear()
    model_registry.update(registered)


def test_all_models_are_listed_without_import(checkout):
    before = set(sys.modules)
    listed = known_identifiers("model")
    assert len(names()) >= 40
    assert {*names(), "pixels", "pixels-too"} <= set(listed)
    folders = {name: find_plugin_directory("model", name) for name in names()}
    assert folders["file-hub"] == checkout.resolve() / "brainscore_vision/models/file_hub"
    assert find_plugin_directory("model", "pixels").is_relative_to(brainscore_vision.__path__[0])
    assert not [name for name in set(sys.modules) - before if "models." in name or name in ("torchvision", "timm")]


def test_all_models_load(checkout):
    failures = {}
    for name in names():
        try:
            assert load_model(name).identifier == name
        except Exception as error:  # noqa: BLE001 - all are reported together
            failures[name] = f"{type(error).__name__}: {error}"
    assert failures == {}
    assert (load_model("pixels").identifier, load_model("pixels-too").identifier) == ("pixels", "their pixels-too")
    own = "brainscore_vision.models.pixels@1"
    assert [name for name, *_ in describe_sources([own]) if "models." in name] == [own, f"{own}.model"]  # none of ours


STYLES = [f"{list(INITS)[number % len(INITS)]}-{network}" for number, network in enumerate(NETWORKS)]


@pytest.mark.slow
@pytest.mark.parametrize("name", STYLES)
def test_one_model_of_each_style_records(checkout, tmp_path, name):
    model = load_model(name)
    model.layer_model.region_layer_map["IT"] = "conv2"  # some models leave the choice to the benchmarks
    model.start_recording("IT", time_bins=[(70, 170)])
    activity = model.look_at(make_stimulus_set(tmp_path, 3, size_px=32))
    assert dict(activity.sizes) == {"presentation": 3, "neuroid": 6 * 5 * 5}
    assert np.isfinite(activity.values).all()
    assert activity.values.std(axis=0).max() > 0


@pytest.mark.slow
@pytest.mark.usefixtures("shared_caches")
def test_record_of_an_outside_model_states_its_commit(checkout, monkeypatch, tmp_path, capfd):
    monkeypatch.delenv("BRAINSCORE_PLUGINS")
    record, where = tmp_path / "record.json", ["--plugins", str(checkout)]
    assert main(["score", *where, "--model", "regions-own", "--benchmark", V1, "--record", str(record)]) == 0
    content = json.loads(record.read_text())
    commit = run_git(checkout, "rev-parse", "HEAD").stdout.decode().strip()
    assert content["outside_plugins"] == {"models/regions_own": commit}
    assert content["model_revision"] == folder_revision(checkout / "brainscore_vision/models/regions_own")
    capfd.readouterr()
    assert main(["list", "models", "--where", f"--plugins={checkout}"]) == 0
    rows = dict(line.split("\t") for line in capfd.readouterr().out.splitlines())
    assert rows["regions-own-again"] == f"{checkout.resolve()}/brainscore_vision/models/regions_own"
    assert main(["info", "absolute-url", *where]) == 0
    assert "torchvision" in capfd.readouterr().out
    assert main(["info", "absolute-url"]) == 2  # without the option they are not found
    assert [main(["list", "models", "--plugins", *path]) for path in ([str(tmp_path / "none")], [])] == [2, 2]
    told = capfd.readouterr().err
    assert f"names {tmp_path / 'none'}, which does not exist. Expected a folder with data, metrics" in told
    assert "--plugins needs a path" in told
    assert main(["check", "absolute-timm", "pixels-too", *where]) == 1
    told = capfd.readouterr().out
    assert "'pixels' is already registered by the library" in told
    assert "absolute_timm/model.py:11: undeclared" in told


def test_box_has_only_the_plugins_that_a_model_uses(checkout, tmp_path):
    models = checkout.resolve() / "brainscore_vision/models"
    boxes = {
        name: box_of(Prepared(model=name, python=Path(sys.executable), home=tmp_path))
        for name in ("regions-own", "constants-neighbour", "pixels")
    }
    readable = {name: [path for path in box.readable if path.is_relative_to(models)] for name, box in boxes.items()}
    init = models / "__init__.py"
    assert readable["regions-own"] == [init, models / "regions_own"]
    assert readable["constants-neighbour"] == [init, models / "constants_neighbour", models / "relative_wrapper"]
    assert readable["pixels"] == [init]
    places = [box.environment["BRAINSCORE_PLUGINS"] for box in boxes.values()]
    assert places == [str(models.parent), str(models.parent), ""]
    assert models in boxes["pixels"].hidden


@pytest.mark.slow
@pytest.mark.skipif(bool(why_no_box()), reason=str(why_no_box()))
@pytest.mark.usefixtures("shared_caches")
def test_outside_model_is_scored_in_a_box(checkout, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(f"[tool.brainscore]\nplugins = [{str(checkout)!r}]")
    monkeypatch.delenv("BRAINSCORE_PLUGINS")
    pair = ["--model", "regions-own", "--benchmark", V1]
    assert main(["score", *pair, "--isolation", "box", "--record", str(tmp_path / "records")]) == 0
    (file,) = (tmp_path / "records").glob("*/*.json")
    content = json.loads(file.read_text())
    assert (content["status"], content["isolation"]) == ("scored", "box")
    assert [*content["outside_plugins"]] == ["models/regions_own"]
