"""Compare two assemblies on subsets of the stimuli without fitting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from brainscore_core.metrics import Metric, Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import Influence
from brainscore_vision.metric_helpers.labelled.cross_validation import CrossValidation
from brainscore_vision.metric_helpers.labelled.gather import one_each
from brainscore_vision.metric_helpers.uncertainty.errors import attach_split_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices

__all__ = ["OnParts"]


class OnParts(Metric, ABC):
    """Mean of a comparison over subsets of the stimuli, by default ten times 90 % of them.

    Subsets are the test parts of `CrossValidation`; with `compat`, drawn as published (see `Split`).
    """

    def __init__(
        self,
        crossvalidation_kwargs: Mapping[str, Any] | None = None,  # arguments of `CrossValidation`
        *,
        compat: bool = False,
    ) -> None:
        kwargs = {"compat": compat, **(crossvalidation_kwargs or {})}
        if kwargs.get("train_size") is None and not kwargs.get("kfold"):
            kwargs = {"test_size": 0.9, **kwargs}
        self._cross_validation = CrossValidation(**kwargs)

    def __call__(self, assembly1: DataAssembly, assembly2: DataAssembly) -> Score:
        """Compare assemblies.

        Attributes are ``raw`` (Score, dims (split)), ``split_error``, ``seed``, ``stratified_by``, and those of the
        metric on all stimuli, with ``error`` and ``interval`` from its influences.
        """
        plan = self._cross_validation.plan(assembly2)
        values, whole = self._compared(assembly1, assembly2, [test for _, test in plan.presentations(assembly2)])
        score = Score(values.mean())
        score.attrs.update(whole.attrs, raw=one_each(values, "split"), **plan.notes)
        attach_split_error(score, values)
        influence = whole.attrs.get("influence")
        if isinstance(influence, Influence):
            return attach_influence(score, influence, scale="fisher")
        return score

    @abstractmethod
    def _compared(
        self, assembly1: DataAssembly, assembly2: DataAssembly, parts: Sequence[Indices]
    ) -> tuple[Floats, Score]:
        """Compare on each subset, given by positions in `assembly2`, shape (n_parts,), and on all stimuli."""
