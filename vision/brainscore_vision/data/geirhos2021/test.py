"""Check that the published packages are registered and load where the network allows."""

import ast
import re
from pathlib import Path

import pytest

from brainscore_vision import load_dataset

REGISTRATIONS = ast.parse((Path(__file__).parent / "__init__.py").read_text())


def registered(registry):
    return sorted(
        node.targets[0].slice.value
        for node in REGISTRATIONS.body
        if isinstance(node, ast.Assign) and node.targets[0].value.id == registry
    )


def test_images_and_choices_are_registered_under_the_same_17_names():
    assert registered("data_registry") == registered("stimulus_set_registry")
    assert len(registered("data_registry")) == 17


def test_digests_are_sha1():
    digests = [
        node.value
        for node in ast.walk(REGISTRATIONS)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch("[0-9a-f]{40}", node.value)
    ]
    assert len(digests) == 51
    assert len(set(digests)) == 50  # edges and silhouettes share the table, as their images have the same names


@pytest.mark.network
@pytest.mark.parametrize("identifier", registered("data_registry"))
def test_images_and_choices_fit_together(identifier):
    assembly = load_dataset(identifier)
    assert assembly.stimulus_set.identifier == identifier
    assert set(assembly.stimulus_set["stimulus_id"]) == set(assembly["stimulus_id"].values)
