"""The model tutorial runs as written, with AlexNet, whose weights come from a local file."""

import functools
import importlib
import sys
import textwrap

import pytest

import brainscore_vision
from brainscore_core.errors import ChecksumError
from brainscore_core.plugin_management.index import PluginIndex, library_roots, make_importable, plugin_at
from brainscore_core.plugin_management.registry import FOLDERS, KINDS
from brainscore_vision import load_model, model_registry, score
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
from brainscore_vision.model_helpers.architectures.alexnet import AlexNet
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
from brainscore_vision.models.alexnet import model as plugin
from brainscore_vision.testing.proofs.published_networks import build_random, published_instead

PUBLISHED = plugin.WEIGHTS  # as in the plugin, before any test


@pytest.fixture
def weights(tmp_path):
    with published_instead(plugin, build_random(AlexNet).state_dict(), tmp_path):
        yield


@pytest.fixture
def myalexnet():
    """Register a model as in the tutorial."""
    preprocessing = functools.partial(load_preprocess_images, image_size=224)
    model_registry["myalexnet"] = lambda: ModelCommitment(
        identifier="myalexnet",
        activations_model=PytorchWrapper(build_random(AlexNet), preprocessing, identifier="myalexnet"),
        layers=["features.5", "features.12"],
        region_layer_map={"IT": "features.12"},
    )
    yield
    del model_registry["myalexnet"]


@pytest.mark.slow
@pytest.mark.usefixtures("shared_caches")
def test_alexnet_and_a_copy_get_the_same_score(weights, myalexnet):
    for name in ("alexnet", "myalexnet"):
        assert load_model(name).identifier == name
    result = brainscore_vision.score("alexnet", "SimulatedCortex2026.IT-pls")
    assert 0 < float(result) < 1  # random features predict something
    assert result.attrs["error"] > 0
    mine = score(model_identifier="myalexnet", benchmark_identifier="SimulatedCortex2026.IT-pls")
    assert float(mine) == float(result)  # the same network and layer


@pytest.fixture
def forget_new_plugins():
    """Forget the new plugins after the test: other tests check all plugins."""
    packages = [brainscore_vision, *(importlib.import_module(f"brainscore_vision.{folder}") for folder in FOLDERS)]
    paths = [(package.__path__, list(package.__path__)) for package in packages]
    known = set(sys.modules)
    yield
    for path, before in paths:
        path[:] = before
    for name in set(sys.modules) - known:
        if name.startswith("brainscore_vision.models.my_new_net"):
            del sys.modules[name]
    del model_registry["my_new_net"]
    assert "my_new_net" not in model_registry
    assert "my_new_net" not in PluginIndex(library_roots("brainscore_vision")).identifiers(KINDS["model"])


@pytest.mark.usefixtures("forget_new_plugins")
def test_new_folder_registers_a_model(tmp_path):
    folder = tmp_path / "models" / "my_new_net"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(
        textwrap.dedent("""
            from brainscore_vision import model_registry
            from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
            from .model import get_model, LAYERS

            model_registry['my_new_net'] = lambda: ModelCommitment(
                identifier='my_new_net', activations_model=get_model(), layers=LAYERS)
        """)
    )
    (folder / "model.py").write_text(
        textwrap.dedent("""
            import functools
            from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
            from brainscore_vision.model_helpers.architectures.alexnet import AlexNet
            from brainscore_vision.testing.proofs.published_networks import build_random

            LAYERS = ['features.2', 'features.12']


            def get_model():
                preprocessing = functools.partial(load_preprocess_images, image_size=224)
                return PytorchWrapper(identifier='my_new_net', model=build_random(AlexNet), preprocessing=preprocessing)
        """)
    )
    make_importable(plugin_at(folder, "brainscore_vision"))
    assert load_model("my_new_net").layers == ["features.2", "features.12"]
    assert "my_new_net" in PluginIndex(library_roots("brainscore_vision")).identifiers(KINDS["model"])


@pytest.mark.slow
def test_other_weights_in_the_mirror_do_not_become_alexnet(weights, monkeypatch):
    # The digest is in the code: no setting makes other weights pass as the published ones.
    monkeypatch.setattr(plugin, "WEIGHTS", PUBLISHED)
    with pytest.raises(ChecksumError, match=f"expected sha256 {PUBLISHED.sha256}"):
        load_model("alexnet")
