"""Names used in a plugin's files are followed to their assignment."""

import ast

import pytest

from brainscore_core.plugin_management.source import read_plugin

FILES = {
    "__init__.py": """
        from .places import BUCKET as FROM, path
        from elsewhere import OTHER
        OWN = make("own")
        TWICE = make(1)
        TWICE = make(2)
        STATED: str = make("stated")
        LATER: str
        """,
    "places.py": "BUCKET = make('places')\npath = make('p')\npath.add(1)\ndef make(name): return name\n",
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("OWN", ("__init__.py", "make('own')")),
        ("STATED", ("__init__.py", "make('stated')")),
        ("FROM", ("places.py", "make('places')")),
        ("TWICE", None),  # the value depends on the time of use
        ("path", None),  # it is changed later
        ("LATER", None),
        ("OTHER", None),
        ("nothing", None),
    ],
)
def test_assigned_finds_the_value_of_a_name(tmp_path, name, expected):
    for file, text in FILES.items():
        (tmp_path / file).write_text("\n".join(line.strip() for line in text.splitlines()))
    found = read_plugin(tmp_path, "library.data.mine").assigned("__init__.py", name)
    assert (found if found is None else (found[0], ast.unparse(found[1]))) == expected
