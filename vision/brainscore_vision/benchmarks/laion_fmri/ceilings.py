"""Ceilings of LAION-fMRI, and the published ones."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.labelled.alignment import coords_along
from brainscore_vision.metric_helpers.shared_metrics.rsa import split_subjects
from brainscore_vision.metric_helpers.uncertainty.errors import attach_standard_error
from brainscore_vision.metrics import Score

if TYPE_CHECKING:
    from numpy.typing import NDArray


def alignment_bounds(assembly: xr.DataArray) -> Score:
    r"""Return the best mean alignment (``cka``) with all subjects that any responses can have.

    ``cka`` is the cosine between U-centred Gram matrices (Székely & Rizzo 2014, doi:10.1214/14-AOS1255, section 3), so
    the best is their mean direction, :math:`\frac{1}{n} \sum_s \cos(K_s, \sum_t K_t / |K_t|)`. The lower bound compares
    each subject with the direction of the others; ``raw`` has dims (bound, subject).
    """
    subjects = split_subjects(assembly)
    directions = np.stack(
        [_direction(subject.transpose("presentation", "neuroid").values) for subject in subjects.values()]
    )
    total = directions.sum(axis=0)
    upper = np.array([_cosine(own, total) for own in directions])
    lower = np.array([_cosine(own, total - own) for own in directions])
    score = attach_standard_error(Score(upper.mean()), upper, over="subject")
    coords = {"bound": ["upper", "lower"], "subject": list(subjects)}
    score.attrs.update(
        raw=Score(np.stack([upper, lower]), coords=coords, dims=["bound", "subject"]),
        upper_bound=float(upper.mean()),
        lower_bound=float(lower.mean()),
        quantity=load_metric("cka").quantity,
    )
    return score


def _direction(values: NDArray) -> NDArray:
    """Return the U-centred Gram matrix of responses, of length 1, shape (n_stimuli, n_stimuli)."""
    values = np.asarray(values, dtype=float) - np.mean(values, axis=0, dtype=float)
    gram = values @ values.T
    np.fill_diagonal(gram, 0)
    n = len(gram)
    rows = gram.sum(axis=0) / (n - 2)
    centred = gram - rows - rows[:, np.newaxis] + rows.sum() / (n - 1)
    np.fill_diagonal(centred, 0)
    return centred / np.linalg.norm(centred)


def _cosine(first: NDArray, second: NDArray) -> float:
    return float((first * second).sum() / np.linalg.norm(first) / np.linalg.norm(second))


def published_alignment(assembly: xr.DataArray) -> Score:
    """Return the mean alignment of pairs of subjects, which models can exceed, as it contains noise twice."""
    metric = load_metric("cka")
    values = [float(metric(*pair)) for pair in itertools.combinations(split_subjects(assembly).values(), 2)]
    return attach_standard_error(Score(np.mean(values)), values, over="pair")


def published_noise_ceiling(assembly: xr.DataArray) -> Score:
    """Return the median over neuroids of the root of the noise ceiling of the mean over twelve repetitions."""
    score = Score(np.nanmedian(root := _root_of_noise_ceiling(assembly)))
    score.attrs["raw"] = xr.DataArray(root, coords=_neuroid_coords(assembly), dims=["neuroid"])
    return score


def published_geometry_ceiling(assembly: xr.DataArray) -> Score:
    """Return the mean over neuroids of the root of the noise ceiling of the mean over twelve repetitions."""
    return Score(np.nanmean(_root_of_noise_ceiling(assembly)))


def _root_of_noise_ceiling(assembly: xr.DataArray) -> NDArray:
    return np.sqrt(np.clip(assembly["nc_12rep"].values.astype(float), 0, 100) / 100)


def _neuroid_coords(assembly: xr.DataArray) -> Mapping[str, tuple[str, NDArray]]:
    coords = coords_along(assembly, "neuroid")
    return {name: coords[name] for name in ("neuroid_id", "subject", "region")}
