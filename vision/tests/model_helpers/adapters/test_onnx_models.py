"""ONNX without its packages; for tests with them see frameworks/test_adapters.py."""

import pytest

from brainscore_core.errors import RequirementsError
from brainscore_vision.model_helpers.adapters import as_brain_model


@pytest.mark.parametrize("given", ["net.onnx", "folder/NET.ONNX"])
def test_missing_onnx_error_says_what_to_install(monkeypatch, given):
    from importlib import import_module

    def absent(name, *args):
        if name == "onnx":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return import_module(name, *args)

    monkeypatch.setattr("importlib.import_module", absent)
    with pytest.raises(RequirementsError, match=r"needs the package 'onnx'.*pip install onnx onnxruntime"):
        as_brain_model(given, preprocessing="imagenet-8")
