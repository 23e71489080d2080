"""Tell what of a process and a machine changes the digits of activations."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from brainscore_core.identity.digest import content_digest
from brainscore_vision.model_helpers.activations.digests import describe, foreign_functions

__all__ = ["numerics"]


def numerics() -> dict[str, Any]:
    """Return, as plain values by name, what of this process and machine changes the digits of results.

    Of PyTorch, if it is imported: its version, threads, precision, determinism, autocast, kernels, default device and
    type, GPU, hooks on all modules, modes that change its operations, and functions of its own that were replaced.
    """
    found: dict[str, Any] = {"machine": platform.machine(), "numpy": np.__version__}
    if "torch" in sys.modules:
        found.update({f"torch {name}": value for name, value in _torch_settings().items()})
    return found


def _torch_settings() -> dict[str, Any]:
    import torch  # only reached where it is imported

    backends = torch.backends
    devices = [kind for kind in ("cpu", "cuda", "mps") if torch.amp.is_autocast_available(kind)]
    replaced = [foreign_functions(vars(each), "torch") for each in (torch, torch.nn.functional, torch.Tensor)]
    hooks = {
        name: describe(list(value.values()))
        for name, value in vars(torch.nn.modules.module).items()
        if _is_global_hooks(name, value)
    }
    modes = [describe(mode) for mode in _modes()]
    return {
        "version": torch.__version__,
        "threads": torch.get_num_threads(),
        "processor": backends.cpu.get_cpu_capability(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "precision": [_read(torch.get_float32_matmul_precision), str(torch.get_default_dtype()), *_flags(backends)],
        "deterministic": [torch.are_deterministic_algorithms_enabled(), backends.cudnn.deterministic],
        # Its type counts also where it is off: a model may switch it on.
        "autocast": [[kind, torch.is_autocast_enabled(kind), str(torch.get_autocast_dtype(kind))] for kind in devices],
        "device": str(torch.get_default_device()),
        "gradients": torch.is_grad_enabled(),
        "replaced": content_digest(replaced, hooks, modes) if any(replaced) or hooks or modes else None,
    }


def _modes() -> list[object]:
    """Return what changes every operation of PyTorch while it is active, besides the default device."""
    from torch.overrides import _get_current_function_mode_stack  # there is no public way to ask
    from torch.utils._device import DeviceContext
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    functions = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]  # PyTorch declares no types for it
    stack = [*functions, *_get_current_dispatch_mode_stack()]
    return [mode for mode in stack if not isinstance(mode, DeviceContext)]


def _flags(backends: Any) -> list[str]:  # a module without types for these
    cuda, cudnn, mkldnn = backends.cuda, backends.cudnn, backends.mkldnn
    readers: list[Callable[[], object]] = [
        lambda: [cudnn.enabled, cudnn.benchmark, mkldnn.enabled, mkldnn.deterministic],
        lambda: [cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled(), cuda.math_sdp_enabled()],
        lambda: cuda.matmul.allow_fp16_reduced_precision_reduction,
        lambda: cuda.matmul.allow_bf16_reduced_precision_reduction,
        lambda: [backends.mha.get_fastpath_enabled(), backends.quantized.engine],
        lambda: cudnn.allow_tf32,
        lambda: [backends.fp32_precision, cuda.matmul.fp32_precision, cudnn.conv.fp32_precision],
        lambda: [mkldnn.matmul.fp32_precision, mkldnn.conv.fp32_precision],
    ]
    return [_read(reader) for reader in readers]


def _read(reader: Callable[[], object]) -> str:
    try:
        return str(reader())
    except (AttributeError, RuntimeError) as error:  # another version of PyTorch, or two ways of setting it were mixed
        return type(error).__name__


def _is_global_hooks(name: str, value: object) -> bool:
    return name.startswith("_global_") and "forward" in name and isinstance(value, Mapping) and bool(value)
