import sys

import pytest

from brainscore_core.errors import ConfigurationError
from brainscore_vision.model_helpers.adapters.files import ModelFileError, load_from_file


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_it.py").write_text("ANSWER = 42\n")
    path = tmp_path / "mine.py"
    path.write_text(
        "import beside_it\n\n"
        "def make():\n    return beside_it.ANSWER\n\n"
        "def late():\n    import beside_it\n    return beside_it\n\n"
        "def nothing():\n    pass\n\n"
        "def fails():\n    raise ValueError('no weights here')\n\n"
        "number = 3\n"
    )
    return path


def test_function_is_called_and_may_import_neighbouring_files(file):
    assert load_from_file(f"{file}:make") == 42
    assert load_from_file(f"{file}:late").ANSWER == 42


def test_changed_file_is_run_again(file):
    assert load_from_file(f"{file}:make") == 42
    file.write_text("def make():\n    return 'changed'\n")
    assert load_from_file(f"{file}:make") == "changed"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (":mak", r"'mak' does not exist in .*mine\.py\. Did you mean 'make'\? It has make, late, nothing, fails\."),
        (":number", "'number' is not a function"),
        ("", r"without the function.*expected mine\.py:function\. It has make"),
        (":", "without the function"),
        (":nothing", r"nothing\(\) in .* returned None"),
    ],
)
def test_unusable_function_is_an_error(file, function, message):
    with pytest.raises(ConfigurationError, match=message):
        load_from_file(f"{file}{function}")


@pytest.mark.parametrize("reference", ["absent.py:make", "no_python.txt:make", "absent.py"])
def test_missing_file_is_an_error(reference):
    with pytest.raises(ConfigurationError, match=r"The file .* does not exist; expected an existing file"):
        load_from_file(reference)


def test_error_of_a_failing_function_names_the_line(file):
    with pytest.raises(ModelFileError, match=r"fails\(\) in .*mine\.py raised ValueError: no weights here \(line 14\)"):
        load_from_file(f"{file}:fails")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import absent_package\n", r"ModuleNotFoundError: .*absent_package.* \(line 1\)"),
        ("\ndef (:\n", r"SyntaxError: .*\(line 2\)"),
    ],
)
def test_error_of_a_failing_file_names_the_line(file, text, message):
    file.write_text(text)
    with pytest.raises(ModelFileError, match=message):
        load_from_file(f"{file}:make")
