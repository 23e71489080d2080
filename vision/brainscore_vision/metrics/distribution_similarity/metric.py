"""Score how similar distributions of a neuronal property are, such as circular variance in V1.

As many units as recorded neurons are drawn with replacement, many times:

    ``score = mean_draws (1 - KS(draw, data) / max KS(., data))``

- Input: two assemblies, dims (neuroid, neuronal_property); the target has ``attrs['<property>_bins']``, the edges of
  its histogram. NaN says that a property is undefined for a neuron.
- Output: Score in [0, 1]; 0 if the property is undefined for (nearly) all model units. ``raw`` has dim (draw),
  ``error`` is the standard deviation over draws.
- Invariances: order of neuroids; any change within a bin, or beyond the outermost edges.
- When: models and recordings share no stimuli, or only distributions are published.

References
----------
Marques et al. (2021), doi:10.1101/2021.03.01.433495.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError, did_you_mean
from brainscore_core.metrics import Ceiling, Metric, Score
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, one_each, require_assembly

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

# Compare distributions of a neuronal property between two groups of neurons.


def ks_similarity(p: ArrayLike, q: ArrayLike) -> Floats:
    """Compute one minus the Kolmogorov-Smirnov distance of histograms, relative to the largest possible distance.

    ``1 - max |P - Q| / max(1 - Q_1, Q_(n-1))`` with cumulative shares P and Q (Marques et al. 2021,
    doi:10.1101/2021.03.01.433495): the denominator is the distance of `q` from all mass in the first or last bin. In
    [0, 1]; NaN if one is NaN or there is only one bin.

    Examples
    --------
    >>> float(ks_similarity([1.0, 0.0], [0.5, 0.5]))
    0.0
    """
    first = np.asarray(p, dtype=np.float64)
    second = np.asarray(q, dtype=np.float64)
    if first.shape[-1:] != second.shape[-1:]:
        raise ValueError(
            f"Histograms must have the same number of bins, got {first.shape[-1:]} and {second.shape[-1:]}."
        )
    # Both end at 1 up to rounding.
    cumulative = np.cumsum(second, axis=-1)[..., :-1]
    distance = np.abs(np.cumsum(first, axis=-1)[..., :-1] - cumulative).max(axis=-1, initial=0.0)
    largest = np.maximum(1.0 - cumulative, cumulative).max(axis=-1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        similarity: Floats = 1.0 - distance / largest
    return similarity


def bin_shares(values: ArrayLike, bins: ArrayLike) -> tuple[Floats, float]:
    """Compute the shares of values in bins, and of undefined values (NaN).

    All shares add up to 1; they are NaN without values. Values beyond the first or last edge count in the outermost
    bins. A value on an edge counts to its right, except on the last.
    """
    array = np.asarray(values, dtype=np.float64)
    edges = np.asarray(bins, dtype=np.float64)
    defined = array[~np.isnan(array)]
    if not len(array):
        return np.full(len(edges) - 1, np.nan), float("nan")
    counts = np.histogram(np.clip(defined, edges[0], edges[-1]), bins=edges)[0]
    return counts / len(array), 1.0 - len(defined) / len(array)


def drawn_histograms(
    values: ArrayLike, bins: ArrayLike, n_drawn: int, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Compute histograms of draws of values with replacement, by multinomial counts, in the bins of `bin_shares`.

    Undefined values are drawn too, but do not count in shares, shape (n_draws, n_bins); NaN for draws of these only.
    """
    shares, undefined = bin_shares(values, bins)
    if np.isnan(undefined):
        return np.full((n_draws, len(shares)), np.nan)
    parts = np.append(shares, undefined)
    counts = rng.multinomial(n_drawn, parts / parts.sum(), size=n_draws)[:, :-1].astype(np.float64)
    defined = counts.sum(axis=1, keepdims=True)
    histograms: Floats = np.divide(counts, defined, out=np.full_like(counts, np.nan), where=defined > 0)
    return histograms


NSAMPLES = 1000
_PROPERTY_DIM = "neuronal_property"
_TOLERATED = 0.1  # of draws without any defined property; beyond, the score is 0


class BootstrapDistributionSimilarity(Metric):
    """Similarity of the distributions of a property.

    ``similarity_func(model_histogram, data_histogram)``, of shares in bins, returns a number, 1 if equal.
    """

    quantity: ClassVar = "share"

    def __init__(
        self,
        property_name: str,
        similarity_func: Callable[[Floats, Floats], ArrayLike] = ks_similarity,
        ns: int = NSAMPLES,
        *,
        seed: int = 0,
    ) -> None:
        self.property_name = property_name
        self.similarity_func = similarity_func
        self.ns = ns
        self._seed = seed

    def __call__(self, model_property: DataAssembly, data_property: DataAssembly) -> Score:
        """Compare; attrs also hold ``n_undefined`` (recorded neurons without the property), bins and both histograms.

        `AssemblyError` also if the property is undefined for all recorded neurons.
        """
        bins, measured = self._measured(data_property)
        values = _column(model_property, self.property_name, role="model")
        histogram = _histogram(measured, bins)
        drawn = drawn_histograms(values, bins, len(measured), self.ns, generator(self._seed, "draw", "model"))
        score = self._summarize(self._compare(drawn, np.broadcast_to(histogram, drawn.shape)))
        score.attrs.update(
            n_neuroids=len(measured),
            n_model_neuroids=len(values),
            n_undefined=int(np.isnan(measured).sum()),
            bins=bins.tolist(),
            data_histogram=histogram.tolist(),
        )
        if not np.isnan(values).all():
            score.attrs["model_histogram"] = _histogram(values, bins).tolist()
        return score

    def ceiling(self, data_property: DataAssembly) -> Score:
        """Compare two draws of the recorded neurons with each other; see `NeuronalPropertyCeiling`."""
        bins, measured = self._measured(data_property)
        first, second = (
            drawn_histograms(measured, bins, len(measured), self.ns, generator(self._seed, "draw", name))
            for name in ("model", "data")
        )
        score = self._summarize(self._compare(first, second))
        score.attrs.update(n_neuroids=len(measured), n_undefined=int(np.isnan(measured).sum()))
        return score

    def _measured(self, data_property: DataAssembly) -> tuple[Floats, Floats]:
        key = f"{self.property_name}_bins"
        values = _column(data_property, self.property_name, role="data")
        if key not in data_property.attrs:
            names = [str(name) for name in data_property.attrs if str(name).endswith("_bins")]
            raise AssemblyError(
                f"The data assembly has no attribute {key!r} with the edges of the histogram; it has "
                f"{names or 'none'}. Arithmetic can drop attributes: set it again."
            )
        bins = np.asarray(data_property.attrs[key], dtype=np.float64)
        if bins.ndim != 1 or len(bins) < 3 or not (np.diff(bins) > 0).all():
            raise AssemblyError(f"{key!r} must hold at least three increasing edges (two bins); it is {bins.tolist()}.")
        if np.isnan(values).all():
            raise AssemblyError(f"{self.property_name!r} is undefined (NaN) for all {len(values)} recorded neurons.")
        return bins, values

    def _compare(self, first: Floats, second: Floats) -> Floats:
        if self.similarity_func is ks_similarity:
            return ks_similarity(first, second)
        return np.array([float(self.similarity_func(one, two)) for one, two in zip(first, second, strict=True)])

    def _summarize(self, similarities: Floats) -> Score:
        finite = similarities[~np.isnan(similarities)]
        if len(similarities) - len(finite) > _TOLERATED * len(similarities):
            score = Score(0.0)
            score.attrs.update(n_undefined_draws=len(similarities) - len(finite), error=0.0)
        else:
            score = Score(finite.mean())
            score.attrs["error"] = float(finite.std())
        score.attrs.update(raw=one_each(similarities, "draw"), seed=self._seed, quantity=self.quantity)
        return score


class NeuronalPropertyCeiling(Ceiling):
    """The score of a model distributed like the recorded neurons.

    Parameters
    ----------
    similarity_metric
        Such as `BootstrapDistributionSimilarity`. A metric without a method `ceiling` compares the recordings with
        themselves.
    property_name
        In its place: the ceiling of `BootstrapDistributionSimilarity(property_name)`.
    """

    quantity: ClassVar = "share"
    estimator = "groups of neurons drawn from the recorded ones"

    def __init__(
        self, similarity_metric: Metric | None = None, *, property_name: str | None = None, compat: bool = False
    ) -> None:
        if (similarity_metric is None) == (property_name is None):
            raise TypeError("A property ceiling needs either similarity_metric or property_name='...'.")
        self.similarity_metric = similarity_metric or BootstrapDistributionSimilarity(str(property_name))
        self._compat = compat

    def __call__(self, assembly: DataAssembly) -> Score:
        """Estimate from the metric's target."""
        if self._compat or not hasattr(self.similarity_metric, "ceiling"):
            score: Score = self.similarity_metric(assembly, assembly)
        else:
            score = self.similarity_metric.ceiling(assembly)
        score.attrs["estimator"] = self.estimator
        return score


def _column(assembly: DataAssembly, name: str, *, role: str) -> Floats:
    require_assembly(assembly)
    if _PROPERTY_DIM not in assembly.dims or assembly.ndim != 2:
        raise AssemblyError(
            f"The {role} assembly has dimensions {tuple(assembly.dims)}; expected (neuroid, {_PROPERTY_DIM})."
        )
    names = coordinate(assembly, _PROPERTY_DIM).astype(str).tolist()
    if name not in names:
        hint = did_you_mean(name, names)
        raise AssemblyError(f"The {role} assembly has no property {name!r}; it has {', '.join(names)}.{hint}")
    return np.asarray(assembly.isel({_PROPERTY_DIM: names.index(name)}).values, dtype=np.float64)


def _histogram(values: Floats, bins: Floats) -> Floats:
    shares, undefined = bin_shares(values, bins)
    return shares / (1.0 - undefined)
