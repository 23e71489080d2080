"""Folder names, identifiers and names in code follow from the name that a user types."""

import keyword
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_ci.planning.areas import is_plugin_folder_name
from brainscore_ci.scaffold.names import camel_case, folder_name, free_name, kind_names
from brainscore_core.errors import ConfigurationError


def test_kind_names_are_ordered_and_checked():
    assert kind_names(("benchmark", "data")) == ("data", "benchmark")
    assert kind_names(("models", "Metrics")) == ("metric", "model")
    assert kind_names(("data", "data")) == ("data",)
    with pytest.raises(ConfigurationError, match="Did you mean 'benchmark'"):
        kind_names(("benchmrk",))


@pytest.mark.parametrize("name", ["myexperiment2024", "MyExperiment2024", "a", "my_metric_2"])
def test_folder_name_is_lower_case(name):
    assert folder_name(name) == name.lower()


@pytest.mark.parametrize(
    ("name", "proposed"),
    [
        ("my-model", "my_model"),
        ("2024smith", "my_2024smith"),
        ("class", "my_class"),
        ("Class", "my_class"),
        ("x$(touch pwned)", "x_touch_pwned"),
        ("../../etc", "etc"),
        ("a\nb", "a_b"),
        ("", "my"),
        ("é", "my"),
        ("x" * 80, "x" * 60),
    ],
)
def test_unusable_name_gets_a_proposal(name, proposed):
    with pytest.raises(ConfigurationError, match=re.escape(f"Use '{proposed}'")):
        folder_name(name)
    assert folder_name(proposed) == proposed


@given(st.text(max_size=80))
def test_folder_name_is_a_python_identifier(name):
    try:
        folder = folder_name(name)
    except ConfigurationError as error:
        proposed = re.search("Use '(.*?)'", str(error))[1]
        folder = folder_name(proposed)
    assert folder.isidentifier()
    assert folder == folder.lower()
    assert is_plugin_folder_name(folder)
    assert not keyword.iskeyword(folder)


def test_camel_case_and_free_names():
    assert camel_case("my_metric") == "MyMetric"
    assert camel_case("MyExperiment2024.v2-x") == "MyExperiment2024V2X"
    assert free_name("a", {"b"}) == "a"
    assert free_name("smith2024", {"smith2024"}) == "smith2024b"
    assert free_name("net", {"net", "net_2"}) == "net_3"
    letters = {f"smith2024{letter}" for letter in "bcdefghijklmnopqrstuvwxyz"} | {"smith2024"}
    assert free_name("smith2024", letters) == "smith2024_2"
