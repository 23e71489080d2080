"""Requirements name distributions that can be installed and cannot change unnoticed."""

import pytest
from packaging.specifiers import SpecifierSet

from brainscore_ci.checks.findings import Surroundings

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    "line",
    [
        "timm>=1.0",
        "timm==1.0.3 ; python_version < '3.13'",
        "timm[extra] >=1,<3  # why",
        "--only-binary timm",
        f"git+https://github.com/a/b@{COMMIT}",
        f"git+https://github.com/a/b@{COMMIT}#egg=b",
        f"git+https://github.com/a/b@{COMMIT[:7]}",
        f"b @ git+https://github.com/a/b@{COMMIT}",
        f"https://example.org/b-1-py3-none-any.whl#sha256={'0' * 64}",
        "timm \\\n  --hash=sha256:0",
        "",
    ],
)
def test_sound_requirement_passes(bench, line):
    assert bench.errors(**{"requirements.txt": f"# comment\n{line}\n"}) == []


@pytest.mark.parametrize(
    "line",
    [
        "git+https://github.com/a/b",
        "git+https://github.com/a/b@main",
        f"git+https://github.com/a/b@{COMMIT[:6]}",
        f"git+http://github.com/a/b@{COMMIT}",
        f"git+ssh://git@github.com/a/b@{COMMIT}",
        *("b @ git+https://github.com/a/b@v1", "git@github.com:a/b.git", "-e git+https://github.com/a/b"),
        *("https://example.org/b-1-py3-none-any.whl", "./wheels/b.whl", "../b", "/etc/b", "-r /etc/passwd"),
        *("-r ../other.txt", "--index-url https://example.org/simple", "--extra-index-url=https://example.org/simple"),
        *("--trusted-host example.org", "-f https://example.org", "imp", "collections", "pathlib>=1", "timm=1.0"),
        *("two words", "$(touch pwned)"),
    ],
)
def test_unsafe_requirement_is_an_error(bench, line):
    assert bench.errors(**{"requirements.txt": f"# comment\n{line}\n"}) == [("requirements", "requirements.txt", 2)]


@pytest.mark.parametrize("line", ["-e .", ".", "brainscore_vision", "brain-score @ git+https://github.com/a/b", "Timm"])
def test_needless_requirement_gets_a_hint(bench, line):
    assert bench.hints(**{"requirements.txt": f"timm\n{line}\n"}) == [("requirements", "requirements.txt", 2)]


@pytest.mark.parametrize(
    ("line", "hinted"), [("numpy<2", True), ("numpy==1.26.4", True), ("numpy>=1,<3", True), ("numpy>=2.1", False)]
)
def test_bound_below_the_library_gets_a_hint(bench, line, hinted):
    bench.surroundings = Surroundings(dependencies={"numpy": SpecifierSet(">=2")})
    found = bench.hints(**{"requirements.txt": f"{line}\nscipy<9\n"})
    assert found == ([("requirements", "requirements.txt", 1)] if hinted else [])
    if line == "numpy<2":
        assert "no version satisfies both" in bench.check()[0].message


def test_reads_other_encodings(bench):
    first_line = ("requirements", "requirements.txt", 1)
    assert bench.errors(**{"requirements.txt": "timm>=1\n".encode("utf-16")}) == [first_line]
    assert bench.errors(**{"requirements.txt": b"\xef\xbb\xbftimm>=1\r\n"}) == []
    assert bench.errors(**{"requirements.txt": "-r more.txt\n", "more.txt": "timm\n"}) == []


@pytest.mark.parametrize(
    "line",
    [
        *("git+https://github.com/a/b@main", "--index-url https://example.org/simple"),
        *("https://example.org/${HOME}/b.whl", "https://example.org/b-1-py3-none-any.whl", "-c limits.txt"),
        "timm --config-settings=x=y",
    ],
)
def test_included_requirements_are_checked(bench, line):
    files = {"requirements.txt": "-r more.txt\n", "more.txt": f"timm\n{line}\n", "limits.txt": "timm<2\n"}
    assert bench.errors(**files) == [("requirements", "more.txt", 2)]


@pytest.mark.parametrize(
    "requirement", ["b @ git+https://github.com/a/b", "b @ https://h/${X}/b.whl", "--pre", "b\\n--pre", "./b", "imp"]
)
def test_setup_py_requirements_are_checked(bench, requirement):
    text = f"from setuptools import setup\nsetup(install_requires=['{requirement}'])\n"
    assert bench.errors(**{"setup.py": text}) == [("requirements", "setup.py", 2)]


def test_files_outside_the_folder_are_not_read(bench):
    (bench.path / "secret.txt").write_text("the $ecret\n")
    bench.write(**{"requirements.txt": "-r ../../secret.txt\n"})
    (found,) = [one for one in bench.check() if one.is_error]
    assert "ecret\n" not in found.message
    assert "not in the plugin's folder" in found.message
