"""`brainio`, the first name of the data standards, still gives the same modules, as older tutorials import them."""

import importlib

import pytest

import brainio

TODAY = "brainscore_core.supported_data_standards.brainio"


@pytest.mark.parametrize("name", ["assemblies", "fetch", "packaging", "s3", "stimuli", "transform"])
def test_old_module_names_give_the_current_modules(name):
    module = importlib.import_module(f"brainio.{name}")
    assert module is importlib.import_module(f"{TODAY}.{name}")
    assert getattr(brainio, name) is module


def test_old_package_name_gives_the_current_functions():
    assert brainio.get_assembly is importlib.import_module(TODAY).get_assembly
    assert brainio.assemblies.PropertiesAssembly is brainio.assemblies.PropertyAssembly
    assert brainio.get_stimulus_set is importlib.import_module(TODAY).get_stimulus_set
