"""Names of timm: without it; with it see vision/tests/frameworks/test_libraries.py."""

import sys

import pytest

from brainscore_core.errors import RequirementsError
from brainscore_vision import load_model


def test_without_the_library_the_remedy_is_named(monkeypatch):
    for module in ("timm", "timm.models"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(RequirementsError, match=r"'timm:resnet18.a1_in1k' needs the package .*pip install timm"):
        load_model("timm:resnet18.a1_in1k")
