"""Decide which workers may take a batch: what it wants of them, and what they offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.scoring.batches import Batch

__all__ = ["missing", "offer", "wanted"]

_MANY = 1e6  # a licence is not used up

_WORDS = {
    "memory_gb": "{} GB of memory",
    "gpu": "{} GPU",
    "private": "a licence for private data",
}


def offer(memory_gb: float, *, gpus: int = 0, private: bool = False) -> dict[str, float]:
    """Return the resources of a worker, in the names that `wanted` asks for."""
    return {
        "memory_gb": memory_gb,
        **({"gpu": float(gpus)} if gpus else {}),
        **({"private": _MANY} if private else {}),
    }


def wanted(batch: Batch, offers: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return which resources a worker must have free for a batch.

    Parameters
    ----------
    offers : sequence of mapping
        Resources of each worker. Memory counts only where every worker says how much it has; GPUs and a licence for
        private data has only who says so.
    """
    found: dict[str, float] = {}
    if offers and all("memory_gb" in each for each in offers):
        found["memory_gb"] = float(batch.memory_gb)
    if batch.gpus:
        found["gpu"] = float(batch.gpus)
    if batch.private:
        found["private"] = 1.0
    return found


def missing(batch: Batch, offers: Sequence[Mapping[str, float]]) -> str:
    """Return why no worker may take a batch; empty if one may.

    Parameters
    ----------
    offers
        As for `wanted`; at least one.
    """
    needs = wanted(batch, offers)
    if any(all(each.get(name, 0.0) >= amount for name, amount in needs.items()) for each in offers):
        return ""
    said = " and ".join(_WORDS[name].format(f"{amount:g}") for name, amount in needs.items())
    most = {name: max(each.get(name, 0.0) for each in offers) for name in needs}
    has = " and ".join(_WORDS[name].format(f"{amount:g}") for name, amount in most.items() if amount)
    return (
        f"It needs a worker with {said}; those of this cluster have at most {has or 'nothing of it'}. Start workers "
        f'with --resources "{" ".join(f"{name}={amount:g}" for name, amount in needs.items())}".'
    )
