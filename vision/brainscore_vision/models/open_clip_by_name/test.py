"""Names of open_clip if it is not installed; otherwise see vision/tests/frameworks/test_libraries.py."""

import sys

import pytest

from brainscore_core.errors import RequirementsError
from brainscore_vision import load_model


def test_missing_library_error_names_the_remedy(monkeypatch):
    for module in ("open_clip", "open_clip.models"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        RequirementsError, match=r"'open_clip:ViT-B-32/openai' needs the package .*pip install open_clip_torch"
    ):
        load_model("open_clip:ViT-B-32/openai")
