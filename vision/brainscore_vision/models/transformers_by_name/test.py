"""Names of transformers if it is not installed; otherwise see vision/tests/frameworks/test_libraries.py."""

import sys

import pytest

from brainscore_core.errors import RequirementsError
from brainscore_vision import load_model


def test_missing_library_error_names_the_remedy(monkeypatch):
    for module in ("transformers", "transformers.models"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        RequirementsError,
        match=r"'transformers:google/vit-base-patch16-224' needs the package .*pip install transformers",
    ):
        load_model("transformers:google/vit-base-patch16-224")
