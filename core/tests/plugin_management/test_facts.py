"""The loads and imports of a plugin are read from its source without running it."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.plugin_management.source import SourceFile, filled, read_texts


def facts(source):
    return SourceFile("model.py", content=source.encode()).facts


def loads(source):
    return [(load.kind, load.literal) for load in facts(source).loads]


def test_literal_loads_are_found():
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
def test_composed_identifiers_become_patterns(argument, matches, differs):
    (load,) = facts(f"load_dataset({argument})").loads
    assert load.literal is None
    assert filled(load.pattern, matches) is not None
    assert load.says_nothing is (differs is None)
    assert differs is None or filled(load.pattern, differs) is None


def test_imports_are_found_with_their_level():
    source = """
import brainscore_vision.metrics.rdm.metric as m
from brainscore_vision.models import alexnet
from ..other.model import Wrapper
from . import helper
import_module('brainscore_vision.data.odd-name')
"""
    found = {(each.module, each.level) for each in facts(source).imports}
    assert {
        ("brainscore_vision.metrics.rdm.metric", 0),
        ("brainscore_vision.models.alexnet", 0),
        ("other.model", 2),
        ("helper", 1),
        ("brainscore_vision.data.odd-name", 0),
    } <= found


@pytest.mark.parametrize(
    ("content", "reason"), [(b"def broken(:\n", "invalid syntax"), (b"x = 1\0", "null bytes"), (b"(" * 10_000, "")]
)
def test_unparsable_source_has_a_problem_and_no_loads(content, reason):
    file = SourceFile("model.py", content=content)
    assert file.problem[0] == 1
    assert reason in file.problem[1]
    assert file.tree is None
    assert file.facts.loads == ()


def test_too_deeply_nested_source_has_no_loads():
    file = SourceFile("model.py", content=b"load_metric(" + b"+".join([b"'a'"] * 20_000) + b")\n")
    assert file.facts.loads == ()


def test_texts_and_patterns_are_found():
    found = facts("""a = 'one'; b = "two"  # don't miss 'three'\nc = f'A.{x}-pls' + 'it\\'s'\n""")
    assert {"one", "two", "A.", "-pls", "it's"} <= found.texts
    assert "three" not in found.texts
    assert any(filled(pattern, "A.IT-pls") for pattern in found.patterns)
    assert not any(filled(pattern, "B") for pattern in found.patterns)


def test_texts_and_patterns_are_found_without_parsing():
    facts = read_texts(b"""a = 'one'; b = "two"  # don't miss 'three'\nc = f'A.{x}-pls' + 'it\\'s'\n""")
    assert {"one", "two", "three", "A.{x}-pls"} <= facts.texts
    assert any(filled(pattern, "A.IT-pls") for pattern in facts.patterns)
    assert not any(filled(pattern, "B") for pattern in facts.patterns)


PIECES = st.lists(st.text("ab.*\\[]\n", max_size=4), min_size=1, max_size=5)


@given(pieces=PIECES, fillings=st.lists(st.text("ab.\n", max_size=3), min_size=5, max_size=5), text=st.text("ab.\n"))
def test_patterns_match_like_regular_expressions(pieces, fillings, text):
    pattern = tuple(pieces)
    made = "".join(piece + filling for piece, filling in zip(pieces, [*fillings[: len(pieces) - 1], ""], strict=False))
    spans = filled(pattern, made)
    edges = [0, *(edge for span in spans for edge in span), len(made)]
    assert tuple(made[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)) == pattern
    assert (filled(pattern, text) is None) is (re.fullmatch(r"[\s\S]*".join(map(re.escape, pieces)), text) is None)


def test_pattern_with_many_gaps_is_matched_fast():
    started = time.process_time()
    assert filled(("", *["a"] * 199, "ab"), "a" * 199 + "b") is None
    assert time.process_time() - started < 1


def test_every_python_construct_is_searched():
    source = """
async def f(a=g('1'), *b: g('2'), c=g('3'), **d) -> g('4'):
    async with g('5') as x, g('6'): pass
    async for y in g('7'): await g('8')
    match g('9'):
        case {g.a: [1, *rest], **others} if g('10'): yield g('11')
        case C('12', x='13') | '14': pass
    try: raise g('15') from g('16')
    except* g('17') as error: del g('18')[g('19'):g('20')]
    return [g('21') for z in g('22') if g('23')], {g('24'): g('25'), **g('26')}, {*g('27')}, lambda q=g('28'): g('29')
@g('30')
class K(g('31'), metaclass=g('32')):
    v: g('33') = g('34') if g('35') else not g('36')
    w = f'{g("37"):{g("38")}}' + (n := g('39')) * -g('40') < g('41') and g('42')
    global k
    assert g('43'), g('44')
    while g('45'): x[g('46')] += g('47')
"""
    texts = facts(source).texts
    assert [number for number in range(1, 48) if str(number) not in texts] == []


def test_name_imported_for_two_loaders_counts_as_both():
    source = """
def f():
    from brainscore_vision import load_metric as get
    return get('a')

def g():
    from brainscore_vision import load_dataset as get
    return get('b')
"""
    assert {("metric", "a"), ("data", "b")} <= set(loads(source))
