"""List settings that change the digits of activations."""

import platform
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from brainscore_core.identity.digest import content_digest
from brainscore_vision.identity.objects import describe, describe_replaced

__all__ = ["numerics"]


def numerics() -> dict[str, Any]:
    """Return, as plain values by name, the settings of this process and machine that change the digits of results.

    If PyTorch is imported: its version, threads, precision, determinism, autocast, kernels, default device and type,
    GPU, hooks on all modules, modes that change its operations, and its replaced functions.
    """
    settings: dict[str, Any] = {"machine": platform.machine(), "numpy": np.__version__}
    if "torch" in sys.modules:
        settings.update({f"torch {name}": value for name, value in _torch_settings().items()})
    return settings


def _torch_settings() -> dict[str, Any]:
    import torch  # heavy; imported already where this is reached

    backends = torch.backends
    devices = [kind for kind in ("cpu", "cuda", "mps") if torch.amp.is_autocast_available(kind)]
    replaced = [describe_replaced(vars(home), "torch") for home in (torch, torch.nn.functional, torch.Tensor)]
    hooks = {
        name: describe(list(value.values()))
        for name, value in vars(torch.nn.modules.module).items()
        if name.startswith("_global_") and "forward" in name and isinstance(value, Mapping) and value
    }
    modes = [describe(mode) for mode in _modes()]
    return {
        "version": torch.__version__,
        "threads": torch.get_num_threads(),
        "processor": backends.cpu.get_cpu_capability(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "precision": [_read(torch.get_float32_matmul_precision), str(torch.get_default_dtype()), *_flags(backends)],
        "deterministic": [torch.are_deterministic_algorithms_enabled(), backends.cudnn.deterministic],
        # The type counts even if autocast is off: a model may switch it on.
        "autocast": [[kind, torch.is_autocast_enabled(kind), str(torch.get_autocast_dtype(kind))] for kind in devices],
        "device": str(torch.get_default_device()),
        "gradients": torch.is_grad_enabled(),
        "replaced": content_digest(replaced, hooks, modes) if any(replaced) or hooks or modes else None,
    }


def _modes() -> list[object]:
    """Return active modes that change every operation of PyTorch, except the default device."""
    from torch.overrides import _get_current_function_mode_stack  # heavy; there is no public function
    from torch.utils._device import DeviceContext  # heavy
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack  # heavy; as above

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
    except (AttributeError, RuntimeError) as error:  # another version of PyTorch, or old and new settings mixed
        return type(error).__name__
