import re
import subprocess
import sys
from collections import OrderedDict
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from brainscore_core.errors import AssemblyError, LayerNotFoundError
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
from brainscore_vision.model_helpers.check_submission.check_models import (
    ModelCheckError,
    check_base_models,
    check_brain_models,
    check_models,
)
from brainscore_vision.model_helpers.check_submission.checks import embedded_benchmark, gratings


def good(paths, layer_names):
    pixels = np.stack([np.asarray(Image.open(path), dtype=float)[:4, :4, 0] for path in paths])
    if unknown := set(layer_names) - {"early", "late"}:
        raise LayerNotFoundError(f"no layer {unknown}")
    return OrderedDict((name, pixels.reshape(len(paths), -1)) for name in layer_names)


def base_model(function=good, identifier="mine"):
    return ActivationsExtractorHelper(function, preprocessing=None, identifier=identifier)


def commitment(function=good, regions=("V1",)):
    return ModelCommitment(
        "mine", base_model(function), ["early", "late"], region_layer_map=dict.fromkeys(regions, "early")
    )


def plugin(model, layers=("early", "late"), names=("mine",)):
    module = ModuleType("my_plugin")
    module.get_model_list = lambda: list(names)
    module.get_model = lambda name: model
    module.get_layers = lambda name: list(layers)
    return module


def test_working_base_model_passes_with_a_summary(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "my_plugin", plugin(base_model()))
    for check in (check_base_models, check_models):
        check("my_plugin")
        first, last = capsys.readouterr().out.splitlines()
        assert re.fullmatch(
            r"mine: passed \(2 layers, late: embedded benchmark \(SIMULATED\) -?\d\.\d\d, learned \d+% of the labels, "
            r"\d+\.\d s\)",
            first,
        )
        assert last == "1 of 1 model pass the check: ready to submit."


def test_all_models_are_checked_before_an_error(capsys):
    module = plugin(None, names=("absent", "mine", "broken"))
    module.get_model = {"absent": None, "mine": base_model(), "broken": base_model(constant)}.get
    with pytest.raises(ModelCheckError, match=r"2 of 3 models of my_plugin fail.*\n  absent: .*\n  broken: .*same act"):
        check_base_models(module)
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(" (")[0].partition(": g")[0].partition(": M")[0] for line in said] == [
        "absent: FAILED", "mine: passed", "broken: FAILED",
    ]  # fmt: skip


def test_errors_of_a_plugin_are_not_hidden():
    module = plugin(base_model())
    module.get_model = lambda name: open("/no/such/weights")  # noqa: PTH123, SIM115 - as plugins do
    with pytest.raises(FileNotFoundError, match="/no/such/weights"):
        check_base_models(module)


def test_check_does_not_cache_activations(own_homes, monkeypatch):
    runs = []

    def counted(paths, layer_names):
        runs.append(len(paths))
        return good(paths, layer_names)

    model = ActivationsExtractorHelper(counted, preprocessing=None, identifier="mine", model_digest=lambda: "known")
    check_base_models(plugin(model))
    once = list(runs)
    check_base_models(plugin(model))
    assert runs == [*once, *once]
    assert not [path for path in own_homes.rglob("*") if path.is_file()]


def test_model_that_encodes_orientation_scores_higher():
    def score(function):
        with gratings() as stimuli:
            model = ModelCommitment("mine", base_model(function), ["late"], region_layer_map={"IT": "late"})
            return float(embedded_benchmark(stimuli, visual_degrees=8)(model))

    def spectrum(paths, layer_names):
        pixels = np.stack([np.asarray(Image.open(path), dtype=float)[:64, :64, 0] for path in paths])
        power = np.abs(np.fft.fft2(pixels - pixels.mean((1, 2), keepdims=True)))[:, :16, :16]
        return OrderedDict((name, power.reshape(len(paths), -1)) for name in layer_names)

    assert score(spectrum) > score(good) + 0.2


@pytest.mark.slow
def test_check_runs_in_a_plugin_started_as_a_program(tmp_path):
    program = tmp_path / "model.py"
    program.write_text(
        "from brainscore_vision.model_helpers.check_submission import check_models\n"
        "from brainscore_vision.model_helpers.adapters import as_brain_model\n"
        "import numpy as np\n\n"
        "def get_model_list():\n    return ['mine', 'nothing']\n\n"
        "def get_model(name):\n"
        "    function = lambda images: np.stack([np.asarray(each.resize((9, 9)), dtype=float) for each in images])\n"
        "    return as_brain_model(function, identifier=name) if name == 'mine' else None\n\n"
        "if __name__ == '__main__':\n    check_models.check_brain_models(__name__)\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "mine: passed (" in done.stdout
    assert "nothing: FAILED: get_model('nothing') returned None" in done.stdout


def with_nan(paths, layer_names):
    return OrderedDict((name, values * np.nan) for name, values in good(paths, layer_names).items())


def constant(paths, layer_names):
    return OrderedDict((name, np.ones((len(paths), 5))) for name in layer_names)


@pytest.mark.parametrize("check", [check_base_models, check_brain_models])
def test_nan_activations_are_an_error(check):
    model = base_model(with_nan) if check is check_base_models else commitment(with_nan)
    with pytest.raises(
        AssemblyError, match="All values of layer 'early' are NaN, for all 3 stimuli of a batch that starts with"
    ):
        check(plugin(model))


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (plugin(base_model(constant)), "same activations"),
        (plugin(base_model(), layers=()), "get_layers"),
        (plugin(base_model(), names=()), "no names"),
        (plugin(None), "None"),
        (plugin(base_model(identifier=False)), "identifier"),
        (ModuleType("empty"), "get_model_list"),
        ("a_module_that_is_not_there", "a_module_that_is_not_there"),
    ],
)
def test_error_names_the_fault_of_a_base_model(module, message):
    with pytest.raises(ModelCheckError, match=message):
        check_base_models(module)


def test_listed_layers_must_exist():
    with pytest.raises(LayerNotFoundError):
        check_base_models(plugin(base_model(), layers=("early", "latest")))


def test_brain_models_with_or_without_regions_pass():
    check_brain_models(plugin(commitment()))
    check_brain_models(plugin(commitment(regions=())))  # it can still do a task
    with pytest.raises(ModelCheckError, match="expected a BrainModel"):
        check_brain_models(plugin(base_model()))


def test_brain_model_without_regions_and_tasks_fails():
    from brainscore_vision.model_interface import BrainModel

    class Idle(BrainModel):
        identifier = "mine"

        def visual_degrees(self):
            return 8

    with pytest.raises(ModelCheckError, match="neither records from a region nor performs a task"):
        check_brain_models(plugin(Idle()))
