"""The first name of the data standards: the same modules under it, imported as older tutorials do."""

import importlib

import pytest

import brainio

TODAY = "brainscore_core.supported_data_standards.brainio"


@pytest.mark.parametrize("name", ["assemblies", "fetch", "packaging", "s3", "stimuli", "transform"])
def test_modules_are_those_of_today(name):
    module = importlib.import_module(f"brainio.{name}")
    assert module is importlib.import_module(f"{TODAY}.{name}")
    assert getattr(brainio, name) is module


def test_functions_of_the_package():
    assert brainio.get_assembly is importlib.import_module(TODAY).get_assembly
    assert brainio.assemblies.PropertiesAssembly is brainio.assemblies.PropertyAssembly
    assert brainio.get_stimulus_set is importlib.import_module(TODAY).get_stimulus_set
