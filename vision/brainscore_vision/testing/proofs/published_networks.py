"""Test a network by its layers and contract, and with the published weights by its answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image

from brainscore_core.identity.digest import file_digest
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.loading import load_model
from brainscore_vision.testing.models import ModelContract

if TYPE_CHECKING:
    import torch
    from torch import nn

    from brainscore_vision.model_interface import BrainModel

__all__ = ["PublishedNetworkProof", "build_random", "published_instead", "random_weights"]

# -- random weights ----------------------------------------------------------------------------------------------------
# Random values in place of published weights.

Network = TypeVar("Network", bound="nn.Module")


def build_random(build: Callable[[], Network], seed: int = 0) -> Network:
    """Return a network in evaluation mode with random weights; no layer vanishes or explodes.

    Convolutions and linear layers are normal with variance 2 / fan-in, normalisations as after some training: means
    around 0, variances and factors around 1. The global random state is unchanged.
    """
    import torch  # slow to import

    with torch.device("meta"):
        network = build()
    network.to_empty(device="cpu")
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
                fan_in = module.weight[0].numel()
                module.weight.normal_(std=(2 / fan_in) ** 0.5, generator=random)
                if module.bias is not None:
                    module.bias.normal_(std=0.01, generator=random)
            elif isinstance(module, torch.nn.BatchNorm2d):
                for positive in (module.weight, module.running_var):
                    positive.uniform_(0.5, 1.5, generator=random)  # type: ignore[union-attr]  # affine, with statistics
                for either in (module.bias, module.running_mean):
                    either.normal_(std=0.1, generator=random)  # type: ignore[union-attr]  # the same
                module.num_batches_tracked.zero_()  # type: ignore[union-attr]  # the same
    return network.eval()


@contextmanager
def random_weights(module: ModuleType) -> Iterator[None]:
    """Let a plugin's ``model.py`` load random weights, without network access.

    Examples
    --------
    In the ``test.py`` of a model::

        class TestMine(ModelContract):
            identifier = "mine"

            def load(self):
                with random_weights(model):
                    return super().load()
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "load_weights", lambda build, _: build_random(build))
        yield


@contextmanager
def published_instead(
    module: ModuleType, state: Mapping[str, torch.Tensor], folder: Path, name: str | None = None
) -> Iterator[None]:
    """Replace published weights by others, which tests fetch and verify offline.

    `state` is saved under the name of the published file into a mirror in `folder`, and the digest in the plugin's
    ``WEIGHTS`` is replaced; `name` is the key if these are several.
    """
    import torch  # as above

    pinned = module.WEIGHTS if name is None else module.WEIGHTS[name]
    parts = urlsplit(pinned.url)
    path = folder / "mirror" / str(parts.hostname) / parts.path.lstrip("/")
    path.parent.mkdir(parents=True)
    torch.save(dict(state), path)
    weights = dataclasses.replace(pinned, sha256=file_digest(path, "sha256"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WEIGHTS", weights if name is None else {**module.WEIGHTS, name: weights})
        patch.setenv("BRAINSCORE_MIRROR", str(folder / "mirror"))
        patch.setenv("BRAINSCORE_HOME", str(folder / "home"))
        patch.setenv("BRAINSCORE_OFFLINE", "1")
        yield


# -- proof -------------------------------------------------------------------------------------------------------------


class PublishedNetworkProof(ModelContract):
    """Set the identifier, the plugin's module, and its layers' shapes, and inherit these.

    Examples
    --------
    In ``test.py``::

        from brainscore_vision.models.mynetwork import model

        class TestMyNetwork(PublishedNetworkProof):
            identifier = "mynetwork"
            plugin = model
            shapes = {"features.2": (64, 27, 27), "logits": (1000,)}
    """

    plugin: ModuleType
    shapes: Mapping[str, tuple[int, ...]]

    def load(self) -> BrainModel:
        """Load it with random weights, without a network."""
        with random_weights(self.plugin):
            return load_model(self.identifier)

    def test_layers_have_the_expected_shapes(self) -> None:
        """Each layer responds, and no more than these are listed."""
        pictures = np.random.default_rng(0).normal(size=(1, 3, 224, 224)).astype(np.float32)
        layers = [*self.listed_layers(), "logits"]
        assert len(layers) == len(set(layers))
        activations = self.loaded.activations_model.get_activations(pictures, layers)
        shapes = {layer: values.shape for layer, values in activations.items()}
        assert shapes == {layer: (1, *shape) for layer, shape in self.shapes.items()}
        assert all(values.std() > 0 for values in activations.values())

    def listed_layers(self) -> list[str]:
        """Return the layers that the plugin lists."""
        return list(self.plugin.LAYERS)

    def test_unknown_name_is_refused(self) -> None:
        """A misspelt name does not get this network."""
        with pytest.raises(ValueError, match="no model 'alexnt'; expected"):
            self.plugin.get_model("alexnt")

    @pytest.mark.network
    def test_published_weights_recognise_a_cup_of_coffee(self, tmp_path: Path) -> None:
        """Espresso, cup or coffee mug is among its first five answers."""
        coffee = pytest.importorskip("skimage.data", reason="scikit-image has the picture").coffee()
        Image.fromarray(coffee[:, 100:500]).save(tmp_path / "coffee.png")
        stimuli = StimulusSet({"stimulus_id": ["coffee"]})
        stimuli.stimulus_paths = {"coffee": tmp_path / "coffee.png"}
        model: Any = load_model(self.identifier)
        logits = model.activations_model(stimuli, layers=["logits"]).values[0]
        assert {967, 968, 504} & set(np.argsort(logits)[-5:])
