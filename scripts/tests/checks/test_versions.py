"""A benchmark's version rises when its results may have changed."""

import pytest

from brainscore_ci.checks.registrations import code_changed

BEFORE = b'''
from a import b
BIBTEX = "x"

def make():
    """Say something."""
    return NeuralBenchmark(identifier="Author2024.IT-pls", version=1, visual_degrees=8)
'''


@pytest.mark.parametrize(
    ("now", "changed"),
    [
        (BEFORE, False),
        (BEFORE.replace(b'"Author', b"'Author").replace(b'-pls"', b"-pls'"), False),
        (b"# comment\n" + BEFORE, False),
        (BEFORE.replace(b"Say", b"Tell"), False),
        (BEFORE.replace(b'BIBTEX = "x"', b'BIBTEX = "y"'), False),
        (BEFORE.replace(b"from a import b", b"from a import c, b\nimport d"), False),
        (BEFORE + b"def other():\n    pass\n", False),
        (BEFORE.replace(b"=8", b"=9"), True),
        (BEFORE.replace(b"from a import b", b"from c import b"), True),
        (BEFORE.replace(b"version=1", b"version=2"), True),
        (b"", True),
        (b"def (", True),
    ],
    ids=range(12),
)
def test_code_changed(now, changed):
    assert code_changed(BEFORE, now) is changed


def check(bench, before, now, folder="benchmarks"):
    init = {"benchmarks": "benchmark_registry['Author2024.IT-pls'] = 1", "metrics": "metric_registry['m'] = 1"}[folder]
    bench.write(folder, __init____py=init, benchmark__py=now)
    earlier = {"__init__.py": init.encode(), "benchmark.py": before, "test.py": b"anything"}
    found = [one for one in bench.check(folder, earlier=earlier) if one.rule == "version"]
    return [(one.path.rpartition("/")[2], one.line) for one in found]


def test_changed_benchmark_needs_a_new_version(bench):
    changed = BEFORE.replace(b"=8", b"=9")
    assert check(bench, BEFORE, BEFORE) == []
    assert check(bench, BEFORE, changed) == [("benchmark.py", 7)]
    assert check(bench, BEFORE, changed.replace(b"version=1", b"version=2")) == []
    assert check(bench, BEFORE.replace(b"version=1", b"version=3"), changed) == [("benchmark.py", 7)]
    assert check(bench, BEFORE, changed, folder="metrics") == []


def test_version_may_be_a_variable(bench):
    named = BEFORE.replace(b"version=1", b"version=VERSION")
    changed = named.replace(b"=8", b"=9")
    assert check(bench, b"VERSION = 1\n" + named, b"VERSION = 1\n" + changed) == [("benchmark.py", 8)]
    assert check(bench, b"VERSION = 1\n" + named, b"VERSION = 2\n" + changed) == []


def test_only_a_new_reason_excuses_the_version(bench):
    reason = b"\n# same scores: only a variable was renamed\n"
    changed = BEFORE.replace(b"=8", b"=9")
    assert check(bench, BEFORE, changed + reason) == []
    assert check(bench, BEFORE + reason, changed + reason) == [("benchmark.py", 7)]
    assert check(bench, BEFORE, changed + b"# same scores:\n") == [("benchmark.py", 7)]


def test_removed_code_is_a_change(bench):
    earlier = {"helper.py": b"def f():\n    return 1\n", "benchmark.py": BEFORE}
    bench.write(benchmark__py=BEFORE)
    found = [one for one in bench.check(earlier=earlier) if one.rule == "version"]
    assert "helper.py" in found[0].message


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ("version=1, bibtex=BIBTEX, ceiling_func=f", []),
        ("version=1, bibtex=BIBTEX, ceiling=1", []),
        ("version=1, bibtex='', ceiling_func=f", ["an empty bibtex"]),
        ("parent='IT'", ["no bibtex", "no ceiling_func", "no version"]),
        ("**given", []),
    ],
)
def test_benchmark_states_version_citation_and_ceiling(bench, arguments, problems):
    make = f"make = NeuralBenchmark(identifier='A', {arguments})\n"
    bench.write(benchmark__py=f"BIBTEX = '@misc{{a, title={{b}}}}'\n{make}")
    messages = [finding.message for finding in bench.check() if finding.rule == "benchmark-argument"]
    assert messages == [f"the benchmark has {problem}" for problem in problems]
