"""Test a network by its layers and contract, and with the published weights by its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.loading import load_model
from brainscore_vision.testing.models import ModelContract
from brainscore_vision.testing.random_weights import random_weights

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import ModuleType

    from brainscore_vision.model_interface import BrainModel

__all__ = ["PublishedNetworkProof"]


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

    def test_another_name_is_refused(self) -> None:
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
