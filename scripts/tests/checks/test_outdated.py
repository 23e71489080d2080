"""Names from the predecessor packages are reported, and renamed where that is safe."""

import ast
import textwrap

import pytest

from brainscore_ci.__main__ import main
from brainscore_ci.checks.imports import current_name, fixed_source
from brainscore_ci.checks.metadata import QUESTIONS, check_metadata, fixed_metadata

IO = "brainscore_core.supported_data_standards.brainio"
CASES = [
    ("from brainio.stimuli import StimulusSet", f"from {IO}.stimuli import StimulusSet", "hint"),
    ("import brainio", f"import {IO}", "hint"),
    ("import brainio.assemblies as a", f"import {IO}.assemblies as a", "hint"),
    ("from brainio.assemblies import PropertiesAssembly", f"from {IO}.assemblies import PropertyAssembly", "hint"),
    ("import brainscore", "import brainscore_vision", "hint"),
    ("from brainscore.benchmarks import A", "from brainscore_vision.benchmarks import A", "hint"),
    ("from brainscore.benchmarks.screen import a", "from brainscore_vision.benchmark_helpers.screen import a", "hint"),
    (
        "from brainscore.metrics.image_level_behavior import I2n",
        "from brainscore_vision.metrics.i1i2 import I2n",
        "hint",
    ),
    ("from brainscore import get_assembly", "from brainscore_vision import load_dataset as get_assembly", "hint"),
    (
        "from model_tools.activations.pytorch import load_images",
        "from brainscore_vision.model_helpers.activations.pytorch import load_images",
        "error",
    ),
    (
        "from model_helpers.activations.pytorch import load_images",
        "from brainscore_vision.model_helpers.activations.pytorch import load_images",
        "error",
    ),
]


@pytest.mark.parametrize(("old", "new", "severity"), CASES)
def test_old_imports_are_reported_and_renamed(bench, old, new, severity):
    bench.write(**{"helpers.py": f"x = 1\n{old}\n"})
    found = [(one.line, one.severity) for one in bench.check() if one.rule == "old-import"]
    assert found == [(2, severity)]
    mended = fixed_source(f"x = 1\n{old}\n".encode(), "brainscore_vision").decode()
    assert mended == f"x = 1\n{new}\n"
    bench.write(**{"helpers.py": mended})
    assert [one for one in bench.check() if one.rule == "old-import"] == []
    assert fixed_source(mended.encode(), "brainscore_vision").decode() == mended


def test_uses_of_old_imports_are_renamed():
    code = """
        import brainscore  # the first tutorial
        from brainio.assemblies import (
            NeuroidAssembly,
            PropertiesAssembly,
        )

        é = brainscore.get_stimulus_set("a"); b = brainscore.utils.LazyLoad(lambda: brainscore.get_assembly("é"))

        def f(brainio, x: PropertiesAssembly) -> "brainscore":
            return brainio.y, x.brainscore.z, PropertiesAssembly(x), NeuroidAssembly
        """
    expected = """
        import brainscore_vision  # the first tutorial
        from brainscore_core.supported_data_standards.brainio.assemblies import (
            NeuroidAssembly,
            PropertyAssembly,
        )

        é = brainscore_vision.load_stimulus_set("a"); b = brainscore_vision.utils.LazyLoad(lambda: brainscore_vision.load_dataset("é"))

        def f(brainio, x: PropertyAssembly) -> "brainscore":
            return brainio.y, x.brainscore.z, PropertyAssembly(x), NeuroidAssembly
        """  # noqa: E501 - a long line of somebody
    mended = fixed_source(textwrap.dedent(code).encode(), "brainscore_vision").decode()
    assert mended == textwrap.dedent(expected)
    ast.parse(mended)


@pytest.mark.parametrize("name", ["brainscore_vision.utils", "brainio2", "brainscored.x", "numpy", "my.brainio"])
def test_other_names_are_not_renamed(name):
    assert current_name(name, "mylibrary") is None


COMPLETE = 'access: public\nlicence: MIT\ncontact: "@jane"\ndoi: 10.1000/x\n'


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("", {"access", "licence", "contact", "citation"}),
        ("# a comment\naccess: private\n", {"licence", "contact", "citation"}),
        ("access: public\nlicense: MIT\nemail: a@b.org\ndoi: 10.1000/x", set()),
        (COMPLETE, set()),
        ("models:\n  a:\n    b: 1\n", None),
        ("- a\n- b\n", None),
        ("a: [\n", None),
    ],
)
def test_fix_adds_missing_metadata_keys(text, added):
    mended = fixed_metadata(text, is_private=False)
    if added is None or text == COMPLETE:
        assert mended == text
        return
    wrong = {finding.message.partition(" ")[0] for finding in check_metadata(mended.encode())}
    assert wrong == set()
    assert {key for key, text in QUESTIONS.items() if text in mended} == added  # these cannot be inferred
    assert {line.partition(":")[0] for line in mended.splitlines()[len(text.splitlines()) :]} == added
    assert fixed_metadata(mended, is_private=False) == mended


def test_fix_corrects_mechanical_findings_and_lists_files(tree, monkeypatch, capsys):
    model = "import brainscore\n\ndef get():\n    return brainscore.get_assembly('a')\n"
    tree.plugin("models/old", registers=[("model", "old")], model__py=model)
    monkeypatch.chdir(tree.path)
    assert main(["check", "old"]) == 0
    assert "old-import: brainscore is now called brainscore_vision" in capsys.readouterr().out
    main(["check", "old", "--fix"])
    said = capsys.readouterr().out
    folder = "vision/brainscore_vision/models/old"
    assert said.splitlines()[:2] == [f"fixed {folder}/model.py", f"fixed {folder}/metadata.yml"]
    assert "old-import" not in said
    assert "placeholder: the citation is a placeholder" in said  # this cannot be inferred
    assert (tree.path / folder / "model.py").read_text() == (
        "import brainscore_vision\n\ndef get():\n    return brainscore_vision.load_dataset('a')\n"
    )
    main(["check", "old", "--fix"])
    assert "mended" not in capsys.readouterr().out
