"""Make torchvision importable with the CPU build of torch; collect nothing where the frameworks are absent.

`nox -s frameworks` runs these tests in an environment with the frameworks.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
import torch
from PIL import Image

FRAMEWORKS = ("torchvision", "timm", "transformers", "open_clip", "onnxruntime")

if all(find_spec(name) for name in FRAMEWORKS):
    # The operators of PyPI's torchvision are compiled for the CUDA build of torch; the CPU build cannot load them.
    # Models and transforms do not need them, but importing torchvision fails unless these two are defined.
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
    """Return the folder that replaces the internet."""
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    return tmp_path


@pytest.fixture(scope="session")
def ten_files(tmp_path_factory):
    """Return picture files: wide, high, square, small, with odd sides, a strip, grey, transparent, indexed, JPEG."""
    folder = tmp_path_factory.mktemp("ten")
    kinds = [
        (640, 427, "RGB", "png"), (333, 500, "RGB", "png"), (256, 256, "RGB", "png"), (31, 47, "RGB", "png"),
        (225, 223, "RGB", "png"), (40, 1, "RGB", "png"), (300, 201, "L", "png"), (231, 320, "RGBA", "png"),
        (400, 300, "P", "png"), (500, 375, "RGB", "jpg"),
    ]  # fmt: skip
    files = []
    for seed, (width, height, mode, ending) in enumerate(kinds):
        rng = np.random.default_rng(seed)
        coarse = Image.fromarray(rng.integers(0, 256, (height // 9 + 2, width // 9 + 2, 4), dtype=np.uint8), "RGBA")
        image = coarse.resize((width, height), Image.Resampling.BICUBIC)
        files.append(folder / f"{seed}.{ending}")
        (image if mode == "RGBA" else image.convert("RGB").convert(mode)).save(files[-1])
    return files
