from pathlib import Path

import pytest

from brainscore_core.errors import ConfigurationError, DuplicateIdentifierError, UnknownIdentifierError
from brainscore_core.plugin_management.registry import KINDS, duplicate_identifier, kind_named, unknown_identifier


@pytest.mark.parametrize(
    ("name", "registry"),
    [
        ("model", "model_registry"),
        ("models", "model_registry"),
        ("data", "data_registry"),
        ("stimulus_set", "stimulus_set_registry"),
        ("stimulus_sets", "stimulus_set_registry"),
        ("benchmarks", "benchmark_registry"),
        ("metric", "metric_registry"),
    ],
)
def test_kind_is_found_by_singular_and_plural(name, registry):
    assert kind_named(name).registry == registry


def test_unknown_kind_error_lists_the_kinds():
    with pytest.raises(ConfigurationError, match=r"'modle'.*'model'"):
        kind_named("modle")


def test_unknown_identifier_error_has_count_suggestion_and_folder():
    error = unknown_identifier(
        KINDS["model"], "alexnt", library="brainscore_vision", known=["alexnet", *map(str, range(682))]
    )
    assert isinstance(error, UnknownIdentifierError)
    assert str(error) == (
        "No model is registered as 'alexnt' (683 known). Did you mean 'alexnet'? "
        "Models live in brainscore_vision/models."
    )


def test_unknown_identifier_error_points_to_another_kind():
    error = unknown_identifier(KINDS["model"], "IT-pls", library="lib", known=[], elsewhere=[KINDS["benchmark"]])
    assert "'IT-pls' is the identifier of a benchmark: use load_benchmark('IT-pls')." in str(error)


@pytest.mark.parametrize(
    ("kind", "ending"), [("data", "Data live in lib/data."), ("stimulus_set", "Stimulus sets live in lib/data.")]
)
def test_unknown_identifier_error_names_the_folder(kind, ending):
    assert str(unknown_identifier(KINDS[kind], "x", library="lib", known=[])).endswith(ending)


def test_duplicate_identifier_error_names_every_place():
    error = duplicate_identifier(KINDS["metric"], "pls", [(Path("a/__init__.py"), 3), (Path("b/__init__.py"), 9)])
    assert isinstance(error, DuplicateIdentifierError)
    assert "a/__init__.py:3 and b/__init__.py:9" in str(error).replace("\\", "/")
