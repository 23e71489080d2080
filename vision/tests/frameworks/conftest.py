"""Make torchvision importable beside the CPU build of torch; collect nothing where the frameworks are absent.

`nox -s frameworks` runs these tests in an environment that has them.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch

FRAMEWORKS = ("torchvision", "timm", "transformers", "open_clip", "onnxruntime")

if all(find_spec(name) for name in FRAMEWORKS):
    # PyPI's torchvision brings operators compiled for the CUDA build of torch, which the CPU build cannot load. Its
    # models and transforms need none of them, but it registers more for these two at import.
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        operators = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            operators.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
else:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """Return the folder that stands for the internet."""
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    return tmp_path
