"""What a plugin imports is provided by Python, the library or its requirements."""

import pytest
from packaging.specifiers import SpecifierSet

from brainscore_ci.checks.plugin import Surroundings


@pytest.fixture(autouse=True)
def known(bench):
    bench.surroundings = Surroundings(dependencies={"numpy": SpecifierSet(">=2"), "scikit-learn": SpecifierSet()})


def found(bench, code, requirements=None):
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
def test_a_distribution_that_nobody_names(bench, code):
    assert found(bench, code) == [("helpers.py", 2, "error")]
    assert found(bench, code, "timm>=1\n") == []
    # what it requires may bring it along
    assert found(bench, code, "open-clip-torch\n") == [("helpers.py", 2, "hint")]
    assert found(bench, code, f"git+https://github.com/a/b@{'0' * 40}\n") == []


@pytest.mark.parametrize(
    "code",
    [
        "from __future__ import annotations\nimport json, os.path",
        "import numpy as np\nfrom sklearn.svm import SVC",
        "from brainscore_vision import load_dataset\nimport brainscore_core.errors",
        "from . import other\nfrom .other import x\nimport benchmark",
        "try:\n    import timm\nexcept ImportError:\n    timm = None",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import timm",
        *("import brainio", "import model_helpers.activations"),  # another rule is about those
        *("from result_caching import store", "import brainscore"),
    ],
)
def test_what_is_there(bench, code):
    assert found(bench, code) == []


def test_folders_of_the_plugin_are_not_distributions(bench):
    code = "from models.factory import build_model\nfrom modules.norm import A\nimport utils\nimport unknown"
    bench.write(
        **{"net/models/factory.py": "", "net/modules/__init__.py": "", "net/modules/norm.py": "", "net/utils.py": ""}
    )
    assert found(bench, code) == [("helpers.py", 4, "error")]


@pytest.mark.parametrize(("module", "fix"), [("timm", "add timm to"), ("cv2", "add opencv-python to")])
def test_only_known_names_are_recommended(bench, module, fix):
    bench.write(**{"helpers.py": f"import {module}\nimport models"})
    named, unnamed = (one for one in bench.check() if one.rule == "undeclared-import")
    assert named.fix.startswith(fix)
    assert unnamed.fix.startswith("add what provides it to requirements.txt")
    assert "models" not in unnamed.fix


def test_it_is_told_once_and_not_of_tests(bench):
    assert found(bench, "import timm\nimport timm.models\ndef f():\n    from timm import x") == [
        ("helpers.py", 1, "error")
    ]
    bench.write(**{"helpers.py": "", "test.py": "import timm\ndef test(): assert timm.x == 1\n"})
    assert [one for one in bench.check() if one.rule == "undeclared-import"] == []


@pytest.mark.parametrize(
    ("module", "distribution"), [("PIL", "pillow"), ("cv2", "opencv-python-headless"), ("yaml", "PyYAML")]
)
def test_modules_that_are_called_otherwise(bench, module, distribution):
    assert len(found(bench, f"import {module}")) == 1
    assert found(bench, f"import {module}", f"{distribution}\n") == []


def test_nothing_is_said_where_the_library_is_not_known(bench):
    bench.surroundings = Surroundings()
    assert found(bench, "import timm") == []
