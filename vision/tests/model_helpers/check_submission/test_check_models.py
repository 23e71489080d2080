"""Checks of models: real work on small pictures, and clear words for what is wrong."""

import sys
from collections import OrderedDict
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from brainscore_core.errors import LayerNotFoundError
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
from brainscore_vision.model_helpers.check_submission.check_models import (
    ModelCheckError,
    check_base_models,
    check_brain_models,
    check_models,
)


def good(paths, layer_names):
    pixels = np.stack([np.asarray(Image.open(path), dtype=float)[:4, :4, 0] for path in paths])
    if unknown := set(layer_names) - {"early", "late"}:
        raise LayerNotFoundError(f"no layer {unknown}")
    return OrderedDict((name, pixels.reshape(len(paths), -1)) for name in layer_names)


def base_model(function=good, identifier="mine"):
    return ActivationsExtractorHelper(function, preprocessing=None, identifier=identifier)


def commitment(function=good, regions=("V1",)):
    return ModelCommitment(
        "mine", base_model(function), ["early", "late"], region_layer_map=dict.fromkeys(regions, "early")
    )


def plugin(model, layers=("early", "late"), names=("mine",)):
    module = ModuleType("my_plugin")
    module.get_model_list = lambda: list(names)
    module.get_model = lambda name: model
    module.get_layers = lambda name: list(layers)
    return module


def test_a_base_model_that_works(monkeypatch):
    module = plugin(base_model())
    check_base_models(module)
    monkeypatch.setitem(sys.modules, "my_plugin", module)
    check_base_models("my_plugin")
    check_models("my_plugin")


def with_nan(paths, layer_names):
    return OrderedDict((name, values * np.nan) for name, values in good(paths, layer_names).items())


def constant(paths, layer_names):
    return OrderedDict((name, np.ones((len(paths), 5))) for name in layer_names)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (plugin(base_model(with_nan)), "not finite"),
        (plugin(base_model(constant)), "same activations"),
        (plugin(base_model(), layers=()), "get_layers"),
        (plugin(base_model(), names=()), "no names"),
        (plugin(None), "None"),
        (plugin(base_model(identifier=False)), "identifier"),
        (ModuleType("empty"), "get_model_list"),
        ("a_module_that_is_not_there", "a_module_that_is_not_there"),
    ],
)
def test_what_is_wrong_with_a_base_model_is_said(module, message):
    with pytest.raises(ModelCheckError, match=message):
        check_base_models(module)


def test_a_listed_layer_that_does_not_exist():
    with pytest.raises(LayerNotFoundError):
        check_base_models(plugin(base_model(), layers=("early", "latest")))


def test_brain_models():
    check_brain_models(plugin(commitment()))
    check_brain_models(plugin(commitment(regions=())))  # it can still do a task
    with pytest.raises(ModelCheckError, match="expected a BrainModel"):
        check_brain_models(plugin(base_model()))
    with pytest.raises(ModelCheckError, match="not finite"):
        check_brain_models(plugin(commitment(with_nan)))


def test_a_brain_model_that_can_do_nothing():
    from brainscore_vision.model_interface import BrainModel

    class Idle(BrainModel):
        identifier = "mine"

        def visual_degrees(self):
            return 8

    with pytest.raises(ModelCheckError, match="neither be recorded from nor do a task"):
        check_brain_models(plugin(Idle()))
