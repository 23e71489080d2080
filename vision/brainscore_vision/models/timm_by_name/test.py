"""Names of timm if it is not installed; otherwise see vision/tests/frameworks/test_libraries.py."""

import sys

import pytest

from brainscore_core.errors import RequirementsError
from brainscore_vision import load_model


def test_missing_library_error_names_the_remedy(monkeypatch):
    for module in ("timm", "timm.models"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(RequirementsError, match=r"'timm:resnet18.a1_in1k' needs the package .*pip install timm"):
        load_model("timm:resnet18.a1_in1k")
