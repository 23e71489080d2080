"""Files are small, plain and parse; metadata follow the schema."""

import os
import sys

import pytest

METADATA = "access: public\nlicence: MIT\ncontact: jane@example.org\ndoi: 10.1000/182\n"


@pytest.mark.parametrize("name", ["weights.pth", "a.PT", "x/data.nc", "features.h5", "stimuli.zip", "cache.pkl"])
def test_binary_files_are_errors(bench, name):
    assert bench.errors(**{name: b"\0"}) == [("binary-file", name, 1)]


def test_files_over_1_mb_are_errors(bench):
    assert bench.errors(**{"table.csv": b"x" * 1_000_000}) == []
    assert bench.errors(**{"table.csv": b"x" * 1_000_001}) == [("file-size", "table.csv", 1)]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_are_not_followed(bench, tmp_path):
    (tmp_path / "secret").write_text("model_registry['x'] = 1\nimport torch\ntorch.load('x')\n")
    folder = bench.write()
    (folder / "link.py").symlink_to(tmp_path / "secret")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    assert bench.places(bench.check()) == [("symlink", name, 1) for name in ("link.py", "loop", "pipe")]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names or fold them")
@pytest.mark.parametrize("name", ["a\nb.txt", " a.txt", "a.", "\x1b[31m.txt", "\udcff.txt"])
def test_unportable_file_names_are_errors(bench, name):
    assert [place[0] for place in bench.errors(**{name: b"x"})] == ["file-name"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems fold names")
def test_names_differing_only_in_case_are_errors(bench):
    assert bench.errors(**{"a.txt": b"x", "A.txt": b"x"}) == [("file-name", "a.txt", 1)]


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("model.py", "# fileencoding=utf-7\n# +AAo-import os\n", 1),
        ("benchmark.py", "# coding: nonsense\nx = 1", 1),
        ("helpers.py", "#!/usr/bin/env python\n# -*- coding: latin-1 -*-\n", 2),
        ("model.py", "x = 1\nif user != 'user\u202e \u2066# admin\u2069 \u2066':\n    pass\n", 2),
        ("README.md", "text \u2067 text\n", 1),
    ],
)
def test_hidden_text_is_an_error(bench, name, content, line):
    found = bench.errors(**{name.replace(".", "__"): content.encode()})
    assert ("hidden-text", name, line) in found
    assert "syntax" not in {rule for rule, _, _ in found}


@pytest.mark.parametrize("cookie", ["", "# coding: utf-8\n", "# -*- coding: UTF_8 -*-\n", "#\n#\n# coding: latin-1\n"])
def test_ordinary_text_hides_nothing(bench, cookie):
    assert bench.errors(model__py=f"{cookie}NAME = 'Müller, \u05d0\u05d1'\n".encode()) == []


@pytest.mark.parametrize(
    "content", [b"def (", b"x = 1\n  y = 2\n", b"\0", b"\xff\xfe", b"(" * 5000, "x = '\udcff'"], ids=range(6)
)
def test_unparsable_python_is_reported(bench, content):
    content = content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")
    assert ("syntax", "benchmark.py", 1) in [
        (rule, path, min(line, 1)) for rule, path, line in bench.errors(benchmark__py=content)
    ]
    assert ("syntax", "notes.py") in [
        place[:2] for place in bench.hints(**{"notes.py": content, "benchmark__py": "BIBTEX = ''"})
    ]


def test_tabs_parse_and_deep_code_is_a_syntax_error_at_most(bench):
    assert bench.errors(benchmark__py=b"BIBTEX = ''\nif True:\n\tname = 1\n") == []
    found = bench.errors(benchmark__py="BIBTEX = ''\nx = " + " + ".join(["'a'"] * 3000) + "\n")
    assert {rule for rule, _, _ in found} <= {"syntax"}


@pytest.mark.usefixtures("defined_names")
@pytest.mark.parametrize(
    ("content", "undefined"),
    [
        ("def make():\n    return nump.zeros(3)\n", [2]),  # pyflakes: F821
        ("def make():\n    return [x for x in range(3)] + y\n", [2]),
        ("class A:\n    b = 1\n    def c(self):\n        return b\n", [4]),
        ("def make(a: Missing) -> None:\n    return a\n", [1]),
        ("def make(a: 'Missing') -> None:\n    return a\n", [1]),
        ("def make():\n    return late\nx = late\n", [2]),
        ("x = y\nz = y\n", [1]),
        ("try:\n    unicode\nexcept ValueError:\n    pass\n", [2]),
        ("try:\n    unicode\nexcept NameError:\n    unicode = str\n", []),
        ("try:\n    basestring\nexcept NameError:\n    pass\n", []),
        ("from math import *\nx = sqrt(2)\n", []),
        ("import os.path as place\nx = place.join(__file__, __name__)\n", []),
        ("def make():\n    global cache\n    cache = 1\ndef read():\n    return cache\n", []),
        ("class A:\n    name = __qualname__\n    def c(self):\n        return __class__, super()\n", []),
        ("def make(*a, **b):\n    with open(a[0]) as f:\n        return [(g := f), b, g]\n", []),
        ("for i in range(3):\n    pass\nelse:\n    print(i)\n", []),
        ("def late():\n    return defined_below\ndefined_below = 1\n", []),
    ],
)
def test_undefined_names_are_errors(bench, content, undefined):
    assert bench.errors(extra__py=content) == [("undefined-name", "extra.py", line) for line in undefined]


def test_setup_py_gets_a_hint(bench):
    assert bench.hints(**{"setup.py": "from setuptools import setup\nsetup()\n"}) == [("setup", "setup.py", 1)]


def test_metadata_errors(bench):
    assert bench.errors(**{"metadata.yml": METADATA}) == []
    assert bench.errors(**{"metadata.yml": METADATA + "license: MIT\n"}) == [("metadata", "metadata.yml", 5)]
    assert bench.errors(**{"metadata.yml": METADATA, "metadata.yaml": METADATA}) == [("metadata", "metadata.yaml", 1)]


def test_new_plugins_should_have_metadata(bench):
    bench.write()
    assert [(one.rule, one.severity) for one in bench.check(earlier={})] == [("metadata", "hint")]
    assert bench.check(earlier=None) == []
