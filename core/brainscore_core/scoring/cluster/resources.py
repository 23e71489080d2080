"""Match the resources that batches need and workers offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.scoring.batches import Batch

__all__ = ["missing", "offer", "wanted"]

_MANY = 1e6  # a licence is not used up

_WORDS = {"memory_gb": "{} GB of memory", "gpu": "{} GPU", "private": "a licence for private data"}


def offer(memory_gb: float, *, gpus: int = 0, private: bool = False) -> dict[str, float]:
    """Return the resources of a worker, under the names of `wanted`."""
    return {"memory_gb": memory_gb, **({"gpu": float(gpus)} if gpus else {}), **({"private": _MANY} if private else {})}


def wanted(batch: Batch, offers: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the resources that a worker must have for a batch; memory only if every worker in `offers` states it."""
    resources: dict[str, float] = {}
    if offers and all("memory_gb" in worker for worker in offers):
        resources["memory_gb"] = float(batch.memory_gb)
    if batch.gpus:
        resources["gpu"] = float(batch.gpus)
    if batch.private:
        resources["private"] = 1.0
    return resources


def missing(batch: Batch, offers: Sequence[Mapping[str, float]]) -> str:
    """Return why no worker, of at least one, can take a batch; empty if one can."""
    needs = wanted(batch, offers)
    if any(all(worker.get(name, 0.0) >= amount for name, amount in needs.items()) for worker in offers):
        return ""
    needed = " and ".join(_WORDS[name].format(f"{amount:g}") for name, amount in needs.items())
    most = {name: max(worker.get(name, 0.0) for worker in offers) for name in needs}
    has = " and ".join(_WORDS[name].format(f"{amount:g}") for name, amount in most.items() if amount)
    return (
        f"It needs a worker with {needed}; those of this cluster have at most {has or 'nothing of it'}. Start workers "
        f'with --resources "{" ".join(f"{name}={amount:g}" for name, amount in needs.items())}".'
    )
