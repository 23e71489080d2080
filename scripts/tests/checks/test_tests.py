"""A test file counts if at least one of its tests can fail."""

import pytest


def errors_in(bench, code):
    return [place[:2] for place in bench.errors(test__py=code)]


@pytest.mark.parametrize(
    "code",
    [
        "def test_it():\n    assert load() == 2",
        "class TestIt:\n    def test_it(self):\n        assert load() == 2",
        "import pytest\ndef test_it():\n    with pytest.raises(ValueError):\n        load()",
        "import numpy as np\ndef test_it():\n    np.testing.assert_allclose(load(), 1)",
        (
            "from brainscore_vision.benchmark_helpers import check_standard_format\n"
            "def test_it():\n    check_standard_format(load())"
        ),
        (
            "from brainscore_vision.benchmark_helpers.test_helper import StandardizedTests\n"
            "def test_it():\n    StandardizedTests().ceilings_test('x', expected=1)"
        ),
        "from brainscore_core.testing import ModelContract\nclass TestIt(ModelContract):\n    identifier = 'x'",
        "import unittest\nclass Case(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(load(), 1)",
        "def helper(x):\n    assert x == 1\ndef test_it():\n    helper(load())",
        (
            "class TestIt:\n    def _check(self, x):\n        assert x == 1\n"
            "    def test_it(self):\n        self._check(load())"
        ),
        "def test_a():\n    pass\ndef test_b():\n    assert load()",
        "async def test_it():\n    assert load() == 2",
        "if True:\n    def test_it():\n        assert load() == 2",
        "def test_it():\n    raise AssertionError('x')",
    ],
    ids=range(14),
)
def test_accepts_tests_that_can_fail(bench, code):
    assert errors_in(bench, code) == []


@pytest.mark.parametrize(
    "code",
    [
        *("", "# def test_it():\n#     assert load() == 2\n", "def helper():\n    assert load() == 2"),
        *("def test_it():\n    pass", "def test_it():\n    assert True", "def test_it():\n    assert 1, 'message'"),
        "def test_it():\n    assert (load() == 2, 'a tuple is true')",
        "def test_it():\n    assert 1 == 1",
        "def test_it():\n    load()",
        "import pytest\n@pytest.mark.skip\ndef test_it():\n    assert load() == 2",
        "import pytest\n@pytest.mark.skip(reason='x')\ndef test_it():\n    assert load() == 2",
        "import pytest\ndef test_it():\n    pytest.skip('x')\n    assert load() == 2",
        "def test_it():\n    return\n    assert load() == 2",
        "class Helper:\n    def test_it(self):\n        assert load() == 2",
        "def helper(x):\n    helper(x)\ndef test_it():\n    helper(1)",
        "class Base:\n    pass\nclass TestIt(Base):\n    def test_it(self):\n        pass",
    ],
    ids=range(16),
)
def test_rejects_tests_that_cannot_fail(bench, code):
    assert errors_in(bench, code) == [("tests", "test.py")]


def test_test_file_is_required(bench):
    assert bench.errors(test__py=None) == [("tests", "test.py", 1)]
    bench.write(**{"test_more.py": "def test_it():\n    assert load()\n", "test__py": None})
    assert [one.rule for one in bench.check() if one.is_error] == ["tests"]


def test_redefined_tests_get_a_hint(bench):
    code = "def test_it():\n    assert load()\ndef test_it():\n    assert load()\n"
    assert bench.hints(test__py=code) == [("tests", "test.py", 3)]
