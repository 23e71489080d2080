"""Code that does the same has the same digest, whatever its comments and layout."""

import pytest

from brainscore_core.plugin_management.source import SourceFile

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
def test_comments_docstrings_and_layout_leave_the_digest(old, new):
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
def test_changed_code_changes_the_digest(old, new):
    assert old in CODE
    assert digest(CODE.replace(old, new)) != digest(CODE)


def test_nesting_changes_the_digest():
    assert digest("if a:\n    b\nc\n") != digest("if a:\n    b\n    c\n")
    assert digest("f(a, *b)\n") != digest("f(*a, b)\n")
    assert digest("x = {**a, b: c}\n") != digest("x = {b: c, **a}\n")


def test_digest_is_the_same_in_every_python_version():
    """The value was computed by Python 3.11; records store digests, so other versions must compute the same."""
    assert digest("def f(x: int = 1, /) -> None:\n    return [*x, ...]\n").startswith("f8736178943d4b27")


def test_files_that_are_not_python_are_digested_as_text():
    assert digest("a # b", "a.txt") != digest("a", "a.txt")
    assert digest("def (:  # b") != digest("def (:")
    assert digest(DEEP) != digest(DEEP + "y = 1\n")
