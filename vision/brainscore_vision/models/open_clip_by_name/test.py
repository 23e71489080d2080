"""Names of open_clip: without it; with it see vision/tests/frameworks/test_libraries.py."""

import sys

import pytest

from brainscore_core.errors import RequirementsError
from brainscore_vision import load_model


def test_without_the_library_the_remedy_is_named(monkeypatch):
    for module in ("open_clip", "open_clip.models"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        RequirementsError, match=r"'open_clip:ViT-B-32/openai' needs the package .*pip install open_clip_torch"
    ):
        load_model("open_clip:ViT-B-32/openai")
