import string
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brainscore_core.plugin_management.registrations import Computed, Registration, find_registrations, parse


def read(source):
    return find_registrations(parse(source.encode()))


def found(source):
    registrations, computed = read(source)
    assert computed == []
    return [(entry.registry, entry.identifier, entry.conditional) for entry in registrations]


def identifiers_when_run(source):
    """Run the source and return the identifiers that it registers: the oracle."""
    registry = {}
    exec(compile(source, "<oracle>", "exec"), {"model_registry": registry, "factory": object, "__name__": "plugin"})  # noqa: S102 - sources of this test
    return set(registry)


identifiers = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
quotes = st.sampled_from(["repr", "double", "triple", "concatenated", "raw"])


def spell(identifier, quote):
    if quote == "double":
        return '"' + "".join(f"\\U{ord(character):08x}" for character in identifier) + '"'
    if quote == "triple":
        return f"'''{''.join(f'{chr(92)}U{ord(character):08x}' for character in identifier)}'''"
    if quote == "concatenated":
        middle = len(identifier) // 2
        return f"({identifier[:middle]!r} {identifier[middle:]!r})"
    if quote == "raw" and identifier.isalnum():
        return f"r'{identifier}'"
    return repr(identifier)


STATEMENTS = {
    "plain": "model_registry[{key}] = factory",
    "spaces": "model_registry  [  {key}  ]  =  factory",
    "lines": "model_registry[\n    {key}\n] = lambda: factory(\n    {key})",
    "attribute": "class package: model_registry = model_registry\npackage.model_registry[{key}] = factory",
    "annotated": "model_registry[{key}]: object = factory",
    "twice": "x = model_registry[{key}] = factory",
    "tuple": "x, model_registry[{key}] = 1, factory",
    "renamed": "registry = model_registry\nregistry[{key}] = factory",
    "setdefault": "model_registry.setdefault({key}, factory)",
    "update": "model_registry.update({{{key}: factory}})",
    "merge": "model_registry |= {{{key}: factory}}",
    "variable": "name = {key}\nmodel_registry[name] = factory",
    "loop": "for name in [{key}, 'another']:\n    model_registry[name] = factory",
    "pairs": "for name, cls in [({key}, factory), ('another', factory)]:\n    model_registry[name] = cls",
    "fstring": "for end in ('a', 'b'):\n    model_registry[f'{{{key}}}-{{end}}'] = factory",
    "named in the loop": "for end in (1, 2):\n    name = {key} + f'-{{end}}'\n    model_registry[name] = factory",
    "one variable": "for x in ({key},):\n    model_registry[x] = 1\nfor x in ['p']:\n    model_registry[x] = 2",
    "added": "for end in ['-x', '-y']:\n    model_registry[{key} + end] = factory",
    "constants": "ENDS = ('-x', '-y')\nfor end in ENDS:\n    model_registry[{key} + end] = factory",
    "nested": "for a in ('x', 'y'):\n    for b in ('p', 'q'):\n        model_registry[a + {key} + b] = factory",
    "class body": "class Family:\n    model_registry[{key}] = factory",
    "with": "import contextlib\nwith contextlib.nullcontext():\n    model_registry[{key}] = factory",
    "joined": "names = [{key}]\nmore = names + ['another']\nfor name in more:\n    model_registry[name] = factory",
}


@given(identifier=identifiers, quote=quotes, statement=st.sampled_from(sorted(STATEMENTS)))
@example(identifier="it's", quote="repr", statement="fstring")
def test_every_spelling_is_read_as_it_runs(identifier, quote, statement):
    key = spell(identifier, quote)
    if statement == "fstring":  # before Python 3.12 an f-string cannot contain its own quotes or backslashes
        source = f"key = {key}\n" + STATEMENTS[statement].format(key="key")
    else:
        source = STATEMENTS[statement].format(key=key)
    registrations, computed = read(source)
    assert {entry.identifier for entry in registrations} == identifiers_when_run(source)
    assert not computed
    assert not any(entry.conditional for entry in registrations)


@given(identifier=identifiers, before=st.sampled_from(["# ", "x = ", "def f():\n    return ", "print("]))
def test_text_that_looks_like_a_registration_is_ignored(identifier, before):
    text = f"model_registry[{identifier!r}] = 1"
    source = f"{before}{text!r}" + (")" if before.endswith("(") else "")
    assert read(source) == ([], [])


@given(st.text(string.printable, max_size=200))
def test_any_text_is_read_or_raises_syntax_error(text):
    try:
        registrations, computed = find_registrations(parse(b"model_registry['x'] = 1\n" + text.encode()))
    except SyntaxError:
        return
    assert registrations or computed


def test_docstrings_and_comments_register_nothing():
    source = '''"""Register with ``benchmark_registry['<identifier>'] = ...``, such as benchmark_registry['no.1']."""
from brainscore_vision import benchmark_registry
# benchmark_registry['no.2'] = X
benchmark_registry["Lab2026.IT-pls"] = lambda: Benchmark(
    region='IT', layers=LAYERS['x'])
'''
    assert found(source) == [("benchmark_registry", "Lab2026.IT-pls", False)]


def test_registrations_have_their_line_numbers():
    registrations, computed = read("\n\nmodel_registry['a'] = 1\n\nmodel_registry[compute()] = 2\n")
    assert registrations == [Registration("model_registry", "a", 3)]
    assert computed == [Computed("model_registry", 5)]


@pytest.mark.parametrize(
    "source",
    [
        "if PACKAGING_FIXED:\n    data_registry['x'] = f",
        "if a:\n    pass\nelse:\n    data_registry['x'] = f",
        "try:\n    import timm\n    data_registry['x'] = f\nexcept ImportError:\n    pass",
        "try:\n    import timm\nexcept ImportError:\n    data_registry['x'] = f",
        "while more():\n    data_registry['x'] = f",
        "for _ in unknown():\n    data_registry['x'] = f",
        "for name in ['x', 'y']:\n    if name == 'y':\n        break\n    data_registry['x'] = f",
        "match kind:\n    case 1:\n        data_registry['x'] = f",
    ],
)
def test_registrations_that_may_not_run_are_conditional(source):
    assert ("data_registry", "x", True) in found(source)


def test_registration_repeated_outside_a_condition_is_unconditional():
    assert found("if a:\n    data_registry['x'] = f\ndata_registry['x'] = g") == [("data_registry", "x", False)]


def test_registration_in_finally_is_unconditional():
    assert found("try:\n    pass\nfinally:\n    data_registry['x'] = f") == [("data_registry", "x", False)]


@pytest.mark.parametrize(
    "source",
    [
        *("if __name__ == '__main__':\n    model_registry['x'] = f", "if TYPE_CHECKING:\n    model_registry['x'] = f"),
        *("if typing.TYPE_CHECKING:\n    model_registry['x'] = f", "for name in []:\n    model_registry[name] = f"),
        *("model_registry = {}\nmodel_registry['x'] = f", "x = model_registry['x']", "del model_registry['x']"),
        "names['x'] = f",
    ],
)
def test_source_that_registers_nothing_gives_nothing(source):
    assert read(source) == ([], [])


@pytest.mark.parametrize(
    "source",
    [
        "model_registry[name] = f",
        "model_registry[f'{size}-model'] = f",
        "for name in os.listdir('.'):\n    model_registry[name] = f",
        "model_registry.update(make_all())",
        "model_registry.update(**families)",
        "model_registry.update({name: f for name in names if name})",
        "def register(name):\n    model_registry[name] = f\nregister('x')",
        "def register():\n    model_registry['x'] = f\nregister()",
        "register_family(model_registry)",
        "names = ['a']\nnames.append('b')\nfor name in names:\n    model_registry[name] = f",
        "names = {'a': 1}\nnames['b'] = 2\nfor name in names:\n    model_registry[name] = f",
        "name = 'a'\nif x:\n    name = 'b'\nmodel_registry[name] = f",
        "model_registry['%s-%s' % ('a', size)] = f",
        "model_registry['{}'.format([size])] = f",
        "for i in range(10 ** 12):\n    model_registry[str(i)] = f",
        "for i in range(100000000000000000000):\n    model_registry[str(i)] = f",
        "from .names import NAMES\nfor name in NAMES:\n    model_registry[name] = f",
        # These could be resolved by running a part of the source, but are not: identifiers have to be written out.
        "for name, f in {'a': f, 'b': f}.items():\n    model_registry[name] = f",
        "for end in range(3):\n    model_registry['%s-%d' % ('a', end)] = f",
        "for i, end in enumerate('ab'):\n    model_registry['{}.{}'.format(i, end)] = f",
        "model_registry.update({name + 'x': f for name in ('a', 'b')})",
        "names = ['a']\nnames += ['another']\nfor name in names:\n    model_registry[name] = f",
        "for name in [each for each in ('a', 'b')]:\n    model_registry[name] = f",
        "for letter in 'ab':\n    model_registry[letter] = f",
        "model_registry['A'.lower()] = f",
        "model_registry[NAMES[0]] = f",
        "for name in ('a', 'b'):\n    name += '-x'\n    model_registry[name] = f",
        "name = 'a'\nfor name in ('b', 'c'):\n    model_registry[name] = f",
        "for name in ('a', 'b'):\n    from os import name\n    model_registry[name] = f",
        "for name in ('a', 'b'):\n    pass\nmodel_registry[(name := 'c')] = f",
        "size = 'x'\ndel size\nmodel_registry[size] = f",
        "size = 'x'\ndef size(): pass\nmodel_registry[size] = f",
        "match kind:\n    case size: pass\nsize = 'x'\nmodel_registry[size] = f",
    ],
)
def test_identifier_known_only_at_run_time_is_computed(source):
    registrations, computed = read(source)
    assert not registrations
    assert {entry.registry for entry in computed} == {"model_registry"}


@pytest.mark.parametrize("depth", [3, 6])
def test_nested_loops_stop_at_a_limit(depth):
    loops = "".join("    " * level + f"for v{level} in {tuple(range(100))}:\n" for level in range(depth))
    registrations, computed = read(loops + "    " * depth + f"model_registry[f'{{v{depth - 1}}}'] = f")
    assert computed == [Computed("model_registry", depth + 1)]
    assert len(registrations) <= 1000


def test_doubling_values_stop_at_a_limit():
    doubling = "x = 'a'\ny = 2\nfor i in (1, 2, 3):\n    x = x + x\n    y = y * y\nmodel_registry[x] = f"
    assert read(doubling) == ([], [Computed("model_registry", 6)])
    doubling = "x0 = 'a'\n" + "".join(f"x{i + 1} = f'{{x{i}}}' + x{i}\n" for i in range(100))
    assert read(f"{doubling}model_registry[x100] = f") == ([], [Computed("model_registry", 102)])


def test_registry_imported_under_another_name_is_followed():
    assert found("from brainscore_vision import model_registry as models\nmodels['x'] = f") == [
        ("model_registry", "x", False)
    ]


def test_declared_encodings_are_honoured():
    source = "# -*- coding: latin-1 -*-\nmodel_registry['é'] = f".encode("latin-1")
    assert find_registrations(parse(source))[0][0].identifier == "é"


def test_syntax_errors_are_raised_even_without_registrations():
    with pytest.raises(SyntaxError):
        parse(b"def (")


@pytest.mark.parametrize(
    "expression",
    [
        "'%1500000000d' % 1",
        "f'{1:1500000000}'",
        "'x' * 1500000000",
        "'{:1500000000}'.format(1)",
        "f'{0x" + "f" * 5000 + "}'",  # more digits than Python converts to text
        "10 ** 10 ** 10",
    ],
)
def test_expression_that_needs_gigabytes_is_computed(expression):
    tracemalloc.start()
    try:
        found = read(f"NAME = {expression}\nmodel_registry[NAME] = f\nmodel_registry[{expression}] = f\n")
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == ([], [Computed("model_registry", 2), Computed("model_registry", 3)])
    assert peak_bytes < 10_000_000
