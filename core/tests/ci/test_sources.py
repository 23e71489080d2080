"""Test reading from source what it loads and imports."""

import re

import pytest

from brainscore_core.ci.sources import read_source, read_texts


def loads(source):
    return [(load.kind, load.literal) for load in read_source(source.encode()).loads]


def test_literal_loads():
    source = """
from brainscore_vision import load_dataset, load_metric as metric
import brainscore_vision

def make():
    load_dataset("A.public")
    metric('pls', crossvalidation_kwargs=dict(splits=3))
    brainscore_vision.load_stimulus_set(identifier='S')
    brainscore_vision.load_ceiling("internal_consistency")
    other.load_model("m")
    load_benchmarks("no loader")
"""
    assert loads(source) == [
        ("data", "A.public"),
        ("metric", "pls"),
        ("stimulus_set", "S"),
        ("metric", "internal_consistency"),
        ("model", "m"),
    ]


@pytest.mark.parametrize(
    ("argument", "matches", "differs"),
    [
        ("f'A.{region}'", "A.IT", "B.IT"),
        ("'A.' + region", "A.IT", "B.IT"),
        ("'A.%s-pls' % region", "A.IT-pls", "A.IT-rdm"),
        ("'A.{}-{m}'.format(region, m='x')", "A.V4-x", "A.V4"),
        ("name", "anything", None),
        ("names[0]", "anything", None),
        ("**kwargs", "anything", None),
        ("", "anything", None),
    ],
)
def test_identifiers_that_are_put_together(argument, matches, differs):
    (load,) = read_source(f"load_dataset({argument})".encode()).loads
    assert load.literal is None
    assert re.fullmatch(load.pattern, matches)
    assert load.says_nothing is (differs is None)
    assert differs is None or not re.fullmatch(load.pattern, differs)


def test_imports():
    source = b"""
import brainscore_vision.metrics.rdm.metric as m
from brainscore_vision.models import alexnet
from ..other.model import Wrapper
from . import helper
import_module('brainscore_vision.data.odd-name')
"""
    found = {(each.module, each.level) for each in read_source(source).imports}
    assert {
        ("brainscore_vision.metrics.rdm.metric", 0),
        ("brainscore_vision.models.alexnet", 0),
        ("other.model", 2),
        ("helper", 1),
        ("brainscore_vision.data.odd-name", 0),
    } <= found


def test_source_that_does_not_parse():
    facts = read_source(b"def broken(:\n", "plugin/model.py")
    assert facts.problem.startswith("plugin/model.py:1: ")
    assert facts.loads == ()


def test_null_bytes_are_a_problem_not_a_crash():
    assert read_source(b"x = 1\0").problem is not None


def test_texts_without_parsing():
    facts = read_texts(b"""a = 'one'; b = "two"  # don't miss 'three'\nc = f'A.{x}-pls' + 'it\\'s'\n""")
    assert {"one", "two", "three", "A.{x}-pls"} <= facts.texts
    assert any(re.fullmatch(pattern, "A.IT-pls") for pattern in facts.patterns)
    assert not any(re.fullmatch(pattern, "B") for pattern in facts.patterns)
