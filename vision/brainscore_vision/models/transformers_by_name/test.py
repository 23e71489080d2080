"""Names of transformers: without it; with it see vision/tests/frameworks/test_libraries.py."""

import sys

import pytest

from brainscore_core.errors import RequirementsError
from brainscore_vision import load_model


def test_without_the_library_the_remedy_is_named(monkeypatch):
    for module in ("transformers", "transformers.models"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        RequirementsError,
        match=r"'transformers:google/vit-base-patch16-224' needs the package .*pip install transformers",
    ):
        load_model("transformers:google/vit-base-patch16-224")
