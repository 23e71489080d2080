"""A plugin's imports are provided by Python, the library or its requirements."""

import pytest
from packaging.specifiers import SpecifierSet

from brainscore_ci.checks.findings import Surroundings


@pytest.fixture(autouse=True)
def library_dependencies(bench):
    bench.surroundings = Surroundings(dependencies={"numpy": SpecifierSet(">=2"), "scikit-learn": SpecifierSet()})


def violations(bench, code, requirements=None):
    bench.write(**{"helpers.py": code, "requirements.txt": requirements})
    return [
        (one.path.rpartition("/")[2], one.line, one.severity)
        for one in bench.check()
        if one.rule == "undeclared-import"
    ]


@pytest.mark.parametrize(
    "code",
    [
        *("x = 1\nimport timm", "x = 1\nfrom timm.models import create_model", "def f():\n    import timm"),
        *("class A:\n    from timm import x", "try:\n    import timm\nfinally:\n    pass"),
        "with open('x'):\n    import timm",
    ],
)
def test_undeclared_distribution_is_an_error(bench, code):
    assert violations(bench, code) == [("helpers.py", 2, "error")]
    assert violations(bench, code, "timm>=1\n") == []
    # it may be a requirement of that distribution
    assert violations(bench, code, "open-clip-torch\n") == [("helpers.py", 2, "hint")]
    assert violations(bench, code, f"git+https://github.com/a/b@{'0' * 40}\n") == []


@pytest.mark.parametrize(
    "code",
    [
        "from __future__ import annotations\nimport json, os.path",
        "import numpy as np\nfrom sklearn.svm import SVC",
        "from brainscore_vision import load_dataset\nimport brainscore_core.errors",
        "from . import other\nfrom .other import x\nimport benchmark",
        "try:\n    import timm\nexcept ImportError:\n    timm = None",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import timm",
        *("import brainio", "import model_helpers.activations"),  # covered by another rule
        *("from result_caching import store", "import brainscore"),
    ],
)
def test_available_imports_are_allowed(bench, code):
    assert violations(bench, code) == []


def test_plugin_folders_are_not_distributions(bench):
    code = "from models.factory import build_model\nfrom modules.norm import A\nimport utils\nimport unknown"
    bench.write(
        **{"net/models/factory.py": "", "net/modules/__init__.py": "", "net/modules/norm.py": "", "net/utils.py": ""}
    )
    assert violations(bench, code) == [("helpers.py", 4, "error")]


@pytest.mark.parametrize(("module", "fix"), [("timm", "add timm to"), ("cv2", "add opencv-python to")])
def test_fix_names_only_known_distributions(bench, module, fix):
    bench.write(**{"helpers.py": f"import {module}\nimport models"})
    named, unnamed = (one for one in bench.check() if one.rule == "undeclared-import")
    assert named.fix.startswith(fix)
    assert unnamed.fix.startswith("add the distribution that provides it to requirements.txt")
    assert "models" not in unnamed.fix


def test_undeclared_import_is_reported_once_and_not_in_tests(bench):
    assert violations(bench, "import timm\nimport timm.models\ndef f():\n    from timm import x") == [
        ("helpers.py", 1, "error")
    ]
    bench.write(**{"helpers.py": "", "test.py": "import timm\ndef test(): assert timm.x == 1\n"})
    assert [one for one in bench.check() if one.rule == "undeclared-import"] == []


@pytest.mark.parametrize(
    ("module", "distribution"), [("PIL", "pillow"), ("cv2", "opencv-python-headless"), ("yaml", "PyYAML")]
)
def test_modules_named_unlike_their_distribution(bench, module, distribution):
    assert len(violations(bench, f"import {module}")) == 1
    assert violations(bench, f"import {module}", f"{distribution}\n") == []


def test_no_findings_if_the_library_is_unknown(bench):
    bench.surroundings = Surroundings()
    assert violations(bench, "import timm") == []
