"""Score whether a model confuses the same images with the same objects as people or monkeys do.

In a match-to-sample task an image is shown and two objects are offered. With the rate ``f[i, c]`` at which distractor
``c`` is chosen for image ``i`` of object ``t``, and the mean ``F[c, t]`` of the reverse rate over images of ``c``,
image ``i`` is discriminated from ``c`` by

    ``d'[i, c] = z(1 - f[i, c]) - z(F[c, t])``, clipped to [-5, 5]

A model's rate is ``p[i, c] / (p[i, c] + p[i, t])``. The score is the Pearson correlation of a model's pattern with that
of random halves of the trials:

==========  ==========================================================================================
``I2``      ``d'[i, c]``
``I2n``     ``I2`` minus the mean over the images of the same object
``I1``      the mean of ``I2`` over distractors: how hard an image is
``I1n``     the mean of ``I2n`` over distractors
``O2``      ``d'`` of pairs of objects, from rates averaged over images
``O1``      the mean of ``O2`` over distractors
==========  ==========================================================================================

- Input: source, probabilities, dims (presentation, choice), one presentation for each image; target, single trials,
  dims (presentation), values the chosen object, with `stimulus_id`, `truth`, `sample_obj` and `dist_obj`.
- Output: Score in [-1, 1], a correlation; ``raw`` has one for each half. The ceiling is a reliability (of a half), so
  that the normalised score is ``score / sqrt(ceiling)``: `ceil_score`.
- Invariances: order of the model's images and choices; scale of each image's probabilities; names of objects. The order
  of trials decides which make a half.
- Error: jackknife over images, each with all its trials (over objects for O1 and O2), also of the normalised score.
  `compat=True` gives standard deviations over the repetitions, which share their trials.
- When: tens of match-to-sample trials for each image.

References
----------
Rajalingham et al. (2018), doi:10.1523/JNEUROSCI.0388-18.2018, changed as in Schrimpf, Kubilius et al. (2018),
doi:10.1101/407007: the model answers once for each image, and rates of false alarms are averaged by object.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import pandas as pd

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Quantity, Score
from brainscore_vision.metric_helpers.arrays.behavior import (
    center_by_task,
    choice_rates,
    image_dprimes,
    masked_correlations,
    object_dprimes,
    two_way_rates,
)
from brainscore_vision.metric_helpers.arrays.correlation import mean_known
from brainscore_vision.metric_helpers.labelled.alignment import (
    coordinate,
    has_coordinate,
    matching_order,
    one_each,
    require_assembly,
)
from brainscore_vision.metric_helpers.uncertainty.errors import (
    attach_spread,
    declare_no_error,
    jackknife_spread,
    t_interval,
)

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, Labels

# Names in data sets, and in the tutorial.
SAMPLE, DISTRACTOR = ("sample_obj", "sample_object"), ("dist_obj", "distractor_object")


class BehavioralPatterns(Metric):
    """Correlate patterns of confusions.

    Parameters
    ----------
    level : 'image' or 'object'
        Patterns of single images, or averaged over the images of each object.
    normalize
        Subtract the mean over the images of each object, for patterns of images.
    repetitions
        Number of divisions into halves.
    seed
        0 gives the halves of the published scores; the same for score and ceiling.
    """

    quantity: ClassVar[Quantity | None] = "correlation"

    def __init__(
        self,
        collapse_distractors: bool,
        normalize: bool = False,
        repetitions: int = 2,
        *,
        level: Literal["image", "object"] = "image",
        seed: int = 0,
        compat: bool = False,
    ) -> None:
        if repetitions < 1:
            raise ValueError(f"The trials must be split at least once; got repetitions={repetitions}.")
        self._collapse_distractors = collapse_distractors
        self._normalize = normalize
        self._repetitions = repetitions
        self._level = level
        self._seed = seed
        self._compat = compat

    def __call__(self, source_probabilities: DataAssembly, target: DataAssembly) -> Score:
        """Compare; the right answers come from the target, and entries without trials in a half do not count.

        `AssemblyError` also if an image has two true objects, or probabilities are negative, or 0 for both objects that
        are compared.
        """
        trials = _read_trials(target)
        rates = two_way_rates(self._probabilities(source_probabilities, trials), trials.truth)
        own = np.arange(len(trials.objects)) == trials.truth[:, None]
        if np.isnan(rates[~own]).any():
            raise AssemblyError(
                f"The probabilities of object and distractor are both 0 for {int(np.isnan(rates[~own]).sum())} pairs, "
                "so neither is more probable. Return probabilities in float64, or add a small constant."
            )
        return self._correlate(
            self._pattern(rates, trials), self._pattern(self._halves(trials)[:, 0], trials), trials, skipna=False
        )

    def ceiling(self, assembly: DataAssembly, skipna: bool = False) -> Score:
        """Correlate the patterns of two halves of the trials: the reliability of half of them.

        With `skipna`, entries without trials in either half are omitted; otherwise, missing entries in the first are an
        error.
        """
        trials = _read_trials(assembly)
        patterns = self._pattern(self._halves(trials), trials)
        score = self._correlate(patterns[:, 0], patterns[:, 1], trials, skipna=skipna)
        score.attrs["quantity"] = "reliability"
        return score

    @classmethod
    def aggregate(cls, scores: Score) -> Score:
        """Average over halves; ``error`` is their standard deviation."""
        score = scores.mean("split")
        score.attrs["error"] = float(scores.std("split"))
        return score

    def ceil_score(self, score: Score, ceiling: Score) -> Score:
        """Normalise by halves: the mean of ``score / sqrt(ceiling)`` over repetitions."""
        order = matching_order(score.raw["split"].values, ceiling.raw["split"].values, what="split")
        with np.errstate(invalid="ignore", divide="ignore"):  # a half that is not reliable: NaN
            ceiled = score.raw.values / np.sqrt(ceiling.raw.values[order])
        result = self.aggregate(one_each(ceiled, "split", score.raw["split"].values))
        result.attrs.update(raw=score, ceiling=ceiling)
        if not self._compat:
            self._attach_error_of_ratio(result, order)
        return result

    def _attach_error_of_ratio(self, result: Score, order: Indices) -> None:
        score, ceiling = (result.attrs[side].raw.attrs.get("left_out") for side in ("raw", "ceiling"))
        if score is None or ceiling is None or score.shape != ceiling.shape:
            declare_no_error(result, "score and ceiling do not say how much each image moves them")
            return
        with np.errstate(invalid="ignore", divide="ignore"):
            left_out = score.values / np.sqrt(ceiling.values[order])
        self._attach_error(result, left_out)

    def _attach_error(self, score: Score, left_out: Floats) -> None:
        values = left_out.mean(axis=0)
        spread = jackknife_spread(values)
        over = "stimulus" if self._level == "image" else "object"
        reason = f"undefined without some of the {len(values)} {over}s" if np.isnan(values).any() else None
        attach_spread(score, spread, over=[over], interval=t_interval(score.item(), spread), missing=reason)

    def add_source_meta(self, source_probabilities: DataAssembly, target: DataAssembly) -> None:
        """Add the coordinate ``truth`` to a model's assembly, for published code."""
        trials = _read_trials(target)
        object_of = dict(zip(trials.stimuli.tolist(), trials.objects[trials.truth].tolist(), strict=True))
        images = coordinate(source_probabilities, "stimulus_id").astype(str).tolist()
        unknown = [image for image in images if image not in object_of]
        if unknown:
            raise AssemblyError(
                f"{len(unknown)} of {len(images)} images of the model are not in any trial, such as {unknown[0]!r}. "
                "Show the model the stimuli of the target."
            )
        source_probabilities["truth"] = "presentation", [object_of[image] for image in images]

    def _halves(self, trials: _Trials) -> Floats:
        """Return rates, shape (repetitions, 2 halves, n_images, n_objects)."""
        # The published halves come from this generator, whose results are fixed for ever.
        generator = np.random.RandomState(self._seed)
        half = np.ones((self._repetitions, len(trials.image)), dtype=np.int8)
        for row in half:
            order = np.arange(len(row))
            generator.shuffle(order)
            row[order[: len(row) // 2]] = 0
        return choice_rates(
            trials.image,
            trials.chosen,
            (trials.sample, trials.distractor),
            trials.truth,
            len(trials.objects),
            group=half,
            n_groups=2,
        )

    def _pattern(self, rates: Floats, trials: _Trials) -> Floats:
        """Return patterns, shape (..., n_images or n_objects, n_objects or 1)."""
        if self._level == "object":
            patterns = object_dprimes(rates, trials.truth)
            if self._collapse_distractors:  # its rows are chosen objects, not shown ones
                patterns = np.swapaxes(patterns, -1, -2)
        else:
            patterns = image_dprimes(rates, trials.truth)
            if self._normalize:
                patterns = center_by_task(patterns, trials.truth)
        return mean_known(patterns, axis=-1)[..., None] if self._collapse_distractors else patterns

    def _correlate(self, first: Floats, second: Floats, trials: _Trials, *, skipna: bool) -> Score:
        counted = ~np.isnan(second)
        unknown = counted & np.isnan(first)
        if skipna:
            counted = counted & ~unknown
        elif unknown.any():
            raise AssemblyError(
                f"{int(unknown.sum())} entries are unknown on the first side but known on the second: too few trials "
                "for each image and pair of objects. Use ceiling(assembly, skipna=True) to leave them out."
            )
        correlations, left_out = masked_correlations(np.nan_to_num(first), second, counted)
        raw = one_each(correlations, "split")
        score = self.aggregate(raw)
        if not self._compat:
            raw.attrs["left_out"] = Score(left_out, dims=["split", "left_out"])
            self._attach_error(score, left_out)
        score.attrs.update(
            raw=raw,
            n_stimuli=len(trials.stimuli),
            n_objects=len(trials.objects),
            n_trials=len(trials.image),
            seed=self._seed,
            quantity=self.quantity,
        )
        return score

    def _probabilities(self, source: DataAssembly, trials: _Trials) -> Floats:
        require_assembly(source)
        if set(source.dims) != {"presentation", "choice"}:
            raise AssemblyError(
                f"The source assembly has dimensions {tuple(source.dims)} of sizes {tuple(source.shape)}; expected "
                "probabilities with ('presentation', 'choice')."
            )
        images = matching_order(trials.stimuli, coordinate(source, "stimulus_id").astype(str))
        objects = matching_order(trials.objects, coordinate(source, "choice").astype(str), what="choice")
        values = source.transpose("presentation", "choice").values[np.ix_(images, objects)].astype(np.float64)
        wrong = ~(np.isfinite(values) & (values >= 0))
        if wrong.any():
            raise AssemblyError(
                f"{int(wrong.sum())} of {wrong.size} probabilities are NaN, infinite or negative, for images such as "
                f"{str(trials.stimuli[wrong.any(axis=1)][0])!r}."
            )
        return values


@dataclass(frozen=True)
class _Trials:
    """Trials by numbers of images and objects, in order of names."""

    stimuli: Labels  # (n_images,)
    objects: Labels  # (n_objects,)
    truth: Indices  # (n_images,)
    image: Indices  # (n_trials,), as the following
    chosen: Indices
    sample: Indices
    distractor: Indices


def _read_trials(assembly: DataAssembly) -> _Trials:
    require_assembly(assembly)
    if assembly.dims != ("presentation",) or not assembly.sizes["presentation"]:
        raise AssemblyError(
            f"The target assembly has {dict(assembly.sizes)}; expected one chosen object for each trial, "
            "dims ('presentation',)."
        )
    sample = _coordinate(assembly, SAMPLE)
    columns = [
        np.asarray(assembly.values),
        sample,
        _coordinate(assembly, DISTRACTOR),
        coordinate(assembly, "truth") if has_coordinate(assembly, "truth") else sample,
    ]
    stimuli, image = _numbered(coordinate(assembly, "stimulus_id"))
    objects, codes = _numbered(np.concatenate([np.asarray(column, dtype=object) for column in columns]))
    choice, sampled, distractor, shown = codes.reshape(len(columns), -1)
    truth = np.zeros(len(stimuli), dtype=np.intp)
    truth[image] = shown
    if (truth[image] != shown).any():
        name = str(stimuli[image[truth[image] != shown][0]])
        raise AssemblyError(f"Image {name!r} has more than one true object in 'truth'; expected one for each image.")
    return _Trials(stimuli, objects, truth, image, choice, sampled, distractor)


def _numbered(names: Labels) -> tuple[Labels, Indices]:
    # Hashing is much faster than sorting as many names as there are trials.
    codes, uniques = pd.factorize(np.asarray(names, dtype=object))
    unique, order = np.unique(np.asarray(uniques).astype(str), return_inverse=True)
    return unique, order[codes]


def _coordinate(assembly: DataAssembly, names: tuple[str, ...]) -> Labels:
    return coordinate(assembly, next((name for name in names if has_coordinate(assembly, name)), names[0]))


I1 = functools.partial(BehavioralPatterns, collapse_distractors=True)  # image-level difficulty
I1n = functools.partial(BehavioralPatterns, collapse_distractors=True, normalize=True)  # without that of objects
I2 = functools.partial(BehavioralPatterns, collapse_distractors=False)  # image-level confusions
I2n = functools.partial(BehavioralPatterns, collapse_distractors=False, normalize=True)  # without those of objects
O1 = functools.partial(BehavioralPatterns, collapse_distractors=True, level="object")  # object-level difficulty
O2 = functools.partial(BehavioralPatterns, collapse_distractors=False, level="object")  # object-level confusions
