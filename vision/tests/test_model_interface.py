import subprocess
import sys

import pytest

from brainscore_vision.model_interface import BrainModel


def test_tasks_and_targets_are_plain_strings():
    task, target = BrainModel.Task, BrainModel.RecordingTarget
    assert (task.passive, task.label, task.probabilities, task.odd_one_out) == (
        "passive",
        "label",
        "probabilities",
        "odd_one_out",
    )
    assert (target.V1, target.V2, target.V4, target.IT) == ("V1", "V2", "V4", "IT")


@pytest.mark.parametrize(
    ("method", "args"),
    [("visual_degrees", ()), ("start_task", ("label", [])), ("start_recording", ("IT", [])), ("look_at", ([],))],
)
def test_error_names_the_method_that_a_subclass_lacks(method, args):
    class Mine(BrainModel):
        pass

    with pytest.raises(NotImplementedError, match=rf"Mine does not implement BrainModel\.{method}"):
        getattr(Mine(), method)(*args)
    with pytest.raises(NotImplementedError, match="identifier"):
        _ = Mine().identifier


def test_classes_of_the_data_standard_are_re_exported():
    from brainscore_core.supported_data_standards.brainio import assemblies, stimuli
    from brainscore_vision import model_interface

    assert model_interface.BehavioralAssembly is assemblies.BehavioralAssembly
    assert model_interface.StimulusSet is stimuli.StimulusSet
    with pytest.raises(AttributeError, match="NoSuchClass"):
        _ = model_interface.NoSuchClass


LIGHT = {
    "model_interface": ["torch", "numpy", "xarray"],
    "utils": ["torch", "numpy", "xarray"],
    "model_helpers": ["torch", "numpy", "xarray", "boto3"],
    "model_helpers.check_submission.check_models": ["torch", "numpy", "xarray", "pandas", "PIL", "pydantic"],
    "model_helpers.weights": ["torch", "httpx"],
    "model_helpers.activations.core": ["torch", "sklearn", "boto3"],
    "model_helpers.brain_transformation": ["torch", "sklearn", "boto3"],
}


FRAMEWORKS = {"torch", "torchvision", "timm", "transformers", "open_clip", "onnx", "onnxruntime"}


def test_imports_and_adapters_load_no_framework():
    program = (
        "import importlib, sys\n"
        f"for module, heavy in {LIGHT}.items():\n"
        "    importlib.import_module(f'brainscore_vision.{module}')\n"
        "    print([(module, name) for name in heavy if name in sys.modules])\n"
        "import numpy as np\nfrom brainscore_vision.model_helpers.adapters import as_brain_model\n"
        "as_brain_model(lambda images: np.zeros((len(images), 3)))\n"
        "as_brain_model({'a': np.zeros(3), 'b': np.ones(3)})\n"
        f"print(sorted({FRAMEWORKS} & set(sys.modules)))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:-1] == ["[]"] * (len(LIGHT) + 1)
