"""What code does has one digest, however it is written."""

import pytest

from brainscore_core.plugin_management.source.files import SourceFile

CODE = '''
"""Module."""
GAIN = 2  # of the filter
"""What GAIN is."""

def f(x, *, y: int = 1) -> str:
    """Add."""
    return f"{x!r:>{y}}" + u"a" if x else None


class A:
    """A class."""
'''
DEEP = "x = " + "+".join(["'a'"] * 5_000) + "\n"


def digest(text, path="a.py"):
    return SourceFile(path, content=text.encode()).code_digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # of the filter", ""),
        ("# of", "# and of"),
        ('    """Add."""\n', ""),
        ('"""Module."""', "'''Another.'''"),
        ('"""What GAIN is."""\n', ""),
        ("GAIN = 2", "GAIN = (\n    2\n)"),
        ("GAIN = 2", "GAIN = 0x2"),
        ('u"a"', "'a'"),
        ("\n\n\n", "\n"),
        ('    """A class."""', "    '''Of another thing.'''"),
    ],
)
def test_comments_docstrings_and_layout_do_not_count(old, new):
    assert old in CODE
    assert digest(CODE.replace(old, new)) == digest(CODE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(("GAIN = 2", "GAIN = 3"), ("GAIN = 2", "GAIN = 2.0"), ("GAIN = 2", "GAIN = '2'"), ("GAIN = 2", "GAIN += 2")),
        *(("*, y", "y"), ("!r", "!s"), (":>", ":<"), ('u"a"', '"b"'), ('u"a"', 'b"a"')),
        *(("else None", "else 0"), (" if x else None", ""), ("y: int = 1", "y: int"), ("class A", "class B")),
        ('    return f"', '    x\n    return f"'),
    ],
)
def test_everything_else_does(old, new):
    assert old in CODE
    assert digest(CODE.replace(old, new)) != digest(CODE)


def test_nesting_counts():
    assert digest("if a:\n    b\nc\n") != digest("if a:\n    b\n    c\n")
    assert digest("f(a, *b)\n") != digest("f(*a, b)\n")
    assert digest("x = {**a, b: c}\n") != digest("x = {b: c, **a}\n")


def test_the_digest_is_that_of_every_version_of_python():
    """Made by Python 3.11; records keep it, so another version of Python must find the same."""
    assert digest("def f(x: int = 1, /) -> None:\n    return [*x, ...]\n").startswith("f8736178943d4b27")


def test_what_is_no_python_counts_as_text():
    assert digest("a # b", "a.txt") != digest("a", "a.txt")
    assert digest("def (:  # b") != digest("def (:")
    assert digest(DEEP) != digest(DEEP + "y = 1\n")
