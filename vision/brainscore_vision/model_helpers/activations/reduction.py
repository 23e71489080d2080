"""Reduce activations to principal components or random projections during recording.

Reduced units have no positions.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
from PIL import Image

from brainscore_core.errors import StimulusError
from brainscore_core.identity.digest import content_digest
from brainscore_core.identity.store import cached_file
from brainscore_vision.model_helpers.activations.cache.switches import without_cache

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array
    from brainscore_vision.model_helpers.activations.extractor import ActivationsExtractorHelper
    from brainscore_vision.model_helpers.activations.hooks import HookHandle

__all__ = ["LayerPCA", "SparseProjection", "noise_images"]

Activations = Mapping[str, "Array"]
Floats = npt.NDArray[np.float64]
Components = tuple[Floats, Floats]  # mean (unit,) and components (component, unit)

N_NOISE_IMAGES = 1_000
"""Number of noise images for fitting."""


def _extractor_of(activations_model: Any) -> ActivationsExtractorHelper:  # a wrapper or the extractor itself
    extractor: ActivationsExtractorHelper = getattr(activations_model, "_extractor", activations_model)
    return extractor


def _flat(values: Array) -> Array:
    return values.reshape(len(values), int(np.prod(values.shape[1:], dtype=np.int64)))


class LayerPCA:
    """Replace each layer's activations by projections on principal components.

    y = (x - m) W^T, with mean m and components W, orthonormal and ordered by variance, of the layer's activations for
    other images. They are fitted incrementally (Ross et al. 2008) for the first recording of a layer, and cached by the
    model's digest; hook a model without one again after a change.

    Parameters
    ----------
    n_components
        Largest number; fewer if a layer has fewer units or there are fewer images.
    fitting_stimuli
        None: the first `N_NOISE_IMAGES` of `noise_images`, with `seed`.

    References
    ----------
    Ross et al. (2008), https://doi.org/10.1007/s11263-007-0075-7
    """

    def __init__(
        self,
        activations_extractor: ActivationsExtractorHelper,
        n_components: int,
        fitting_stimuli: Sequence[str | Path] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        if n_components < 1:
            raise ValueError(f"n_components is {n_components!r}; expected at least 1.")
        if fitting_stimuli is not None and len(fitting_stimuli) < 2:
            raise StimulusError(f"{len(fitting_stimuli)} fitting_stimuli have no variance; expected at least 2.")
        self.n_components = n_components
        self.seed = seed
        self._extractor = activations_extractor
        self._stimuli = None if fitting_stimuli is None else [Path(path) for path in fitting_stimuli]
        self._fitted: dict[str, Components] = {}
        self._fitted_for: object = None
        self.handle: HookHandle[Any] | None = None

    @classmethod
    def hook(
        cls,
        activations_extractor: Any,
        n_components: int,
        fitting_stimuli: Sequence[str | Path] | None = None,
        *,
        seed: int = 0,
    ) -> HookHandle[Any]:
        """Reduce a model's activations until the handle is removed."""
        extractor = _extractor_of(activations_extractor)
        reduction = cls(extractor, n_components, fitting_stimuli, seed=seed)
        reduction.handle = extractor.register_batch_activations_hook(reduction)
        return reduction.handle

    @classmethod
    def is_hooked(cls, activations_extractor: Any) -> bool:
        """Tell whether this class reduces a model's activations."""
        return any(isinstance(hook, cls) for hook in _extractor_of(activations_extractor).batch_hooks)

    def __call__(self, activations: Activations) -> Activations:
        """Return the projections of a batch, arrays (stimulus, component) of float32 by layer."""
        missing = [layer for layer in activations if layer not in self._fitted]
        if missing:
            self._fit(missing)
        reduced = OrderedDict()
        for layer, values in activations.items():
            mean, components = self._fitted[layer]
            reduced[layer] = ((_flat(values) - mean) @ components.T).astype(np.float32)
        return reduced

    def cache_parts(self) -> dict[str, Any]:
        """Return number of components and fitting images."""
        digest = self._extractor.model_digest
        current = content_digest(digest()) if digest is not None else None
        if current != self._fitted_for:  # fitted to another model
            self._fitted, self._fitted_for = {}, current
        fitted_on = ["noise", N_NOISE_IMAGES, self.seed] if self._stimuli is None else content_digest(self._stimuli)
        return {"pca": self.n_components, "fitted on": fitted_on, "version": 1}

    def notes(self, layer: str) -> dict[str, Any]:
        """Return a layer's number of components."""
        return {"components": len(self._fitted[layer][1])} if layer in self._fitted else {}

    def _fit(self, layers: list[str]) -> None:
        computed: dict[str, Components] = {}

        def compute(layer: str) -> Components:
            if not computed:
                computed.update(self._components([name for name in layers if name not in self._fitted]))
            return computed[layer]

        if self.handle is not None:
            self.handle.disable()  # the fit needs all units

        def write(components: Components, path: Path) -> None:
            np.savez(path, mean=components[0], components=components[1])

        store = partial(cached_file, "components", suffix=".npz", write=write, read=_read_components)
        try:
            for layer in layers:
                key = self._fit_key(layer)
                self._fitted[layer] = compute(layer) if key is None else store(key=key, compute=partial(compute, layer))
        finally:
            if self.handle is not None:
                self.handle.enable()

    def _fit_key(self, layer: str) -> str | None:
        try:
            return content_digest(self._extractor.model_parts(), self.cache_parts(), layer)
        except TypeError:  # the model has no digest
            return None

    def _components(self, layers: list[str]) -> dict[str, Components]:
        with TemporaryDirectory(prefix="brainscore-noise-") as folder, without_cache():
            paths = self._stimuli or noise_images(folder, N_NOISE_IMAGES, self.seed)
            recorded = self._extractor.from_paths(paths, layers)
        names = recorded["layer"].values
        columns = {layer: np.flatnonzero(names == layer) for layer in layers}
        spans = {layer: slice(here[0], here[-1] + 1) for layer, here in columns.items()}
        return {layer: fit_components(recorded.values[:, span], self.n_components) for layer, span in spans.items()}


def _read_components(path: Path) -> Components:
    try:
        with np.load(path, allow_pickle=False) as archive:  # its container carries a checksum
            return archive["mean"], archive["components"]
    except (BadZipFile, EOFError, KeyError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def fit_components(values: Array, n_components: int) -> Components:
    """Return mean (unit,) and principal components (component, unit) of activations (stimulus, unit).

    They are read `n_components` stimuli at a time.
    """
    from sklearn.decomposition import IncrementalPCA  # heavy

    n = min(n_components, *values.shape)
    estimator = IncrementalPCA(n_components=n)
    edges = [*range(0, len(values) - n + 1, n), len(values)]  # each part needs n stimuli: the last holds the rest
    for start, stop in itertools.pairwise(edges):
        estimator.partial_fit(np.asarray(values[start:stop], dtype=np.float64))
    return estimator.mean_, estimator.components_


def noise_images(folder: str | Path, number: int, seed: int = 0, size_px: int = 224) -> list[Path]:
    """Write colour images of noise with the amplitude spectrum of natural images, 1 / frequency.

    Each is normal noise divided by spatial frequency (Field 1987), two thirds of its amplitude common to all three
    channels; mean grey, standard deviation 50 of 255 before clipping. The files are ``noise_<number>.png``.

    References
    ----------
    Field (1987), https://doi.org/10.1364/JOSAA.4.002379
    """
    rng = np.random.default_rng(seed)
    y, x = np.fft.fftfreq(size_px), np.fft.rfftfreq(size_px)
    frequency = np.hypot(y[:, np.newaxis], x)
    frequency[0, 0] = np.inf  # no mean
    paths = []
    for index in range(number):
        spectra = np.fft.rfft2(rng.standard_normal((4, size_px, size_px))) / frequency
        planes = np.fft.irfft2(spectra, s=(size_px, size_px))
        planes /= planes.std(axis=(1, 2), keepdims=True)
        colours = (2 * planes[:1] + planes[1:]) / np.sqrt(5)
        pixels = np.clip(np.rint(127.5 + 50 * colours), 0, 255).astype(np.uint8)
        path = Path(folder) / f"noise_{index:04d}.png"
        Image.fromarray(pixels.transpose(1, 2, 0)).save(path, compress_level=1)
        paths.append(path)
    return paths


class SparseProjection:
    """Replace each layer's activations by very sparse random projections of them.

    y = x R^T, where each entry of R is 0 with probability 1 - 1 / sqrt(p), otherwise +- sqrt(sqrt(p) / k), for p units
    and k dimensions (Li et al. 2006). `distortion` measures the change of squared distances between stimuli.
    A layer with at most k units is only flattened.

    Parameters
    ----------
    n_components
        Dimensions k. None: the number that keeps all squared distances between `n_stimuli` stimuli within ``1 - eps``
        and ``1 + eps`` of the original, by the lemma of Johnson and Lindenstrauss.

    References
    ----------
    Li et al. (2006), https://doi.org/10.1145/1150402.1150436
    """

    def __init__(
        self, n_components: int | None = None, *, eps: float = 0.1, n_stimuli: int = 5_000, seed: int = 0
    ) -> None:
        from sklearn.random_projection import johnson_lindenstrauss_min_dim  # heavy

        if n_components is not None and n_components < 1:
            raise ValueError(f"n_components is {n_components!r}; expected at least 1, or None for a number from eps.")
        self.n_components = n_components or int(johnson_lindenstrauss_min_dim(n_stimuli, eps=eps))
        self.seed = seed
        self._projections: dict[int, Any] = {}  # by number of units
        self._ratios: dict[str, list[Floats]] = {}

    @classmethod
    def hook(
        cls,
        activations_extractor: Any,
        n_components: int | None = None,
        *,
        eps: float = 0.1,
        n_stimuli: int = 5_000,
        seed: int = 0,
    ) -> HookHandle[Any]:
        """Project a model's activations until the handle is removed."""
        reduction = cls(n_components, eps=eps, n_stimuli=n_stimuli, seed=seed)
        return _extractor_of(activations_extractor).register_batch_activations_hook(reduction)

    @classmethod
    def is_hooked(cls, activations_extractor: Any) -> bool:
        """Tell whether this class projects a model's activations."""
        return any(isinstance(hook, cls) for hook in _extractor_of(activations_extractor).batch_hooks)

    def __call__(self, activations: Activations) -> Activations:
        """Return the projections of a batch, arrays (stimulus, dimension) of float32 by layer."""
        reduced: OrderedDict[str, Array] = OrderedDict()
        for layer, values in activations.items():
            units = _flat(values)
            if units.shape[1] <= self.n_components:
                reduced[layer] = units
                continue
            reduced[layer] = np.asarray(self._projection(units.shape[1]).transform(units), dtype=np.float32)
            self._measure(layer, units, reduced[layer])
        return reduced

    def _projection(self, n_units: int) -> Any:  # scikit-learn has no types
        from sklearn.random_projection import SparseRandomProjection  # heavy

        if n_units not in self._projections:
            projection = SparseRandomProjection(self.n_components, density="auto", random_state=self.seed)
            self._projections[n_units] = projection.fit(np.broadcast_to(np.float32(0), (1, n_units)))
        return self._projections[n_units]

    def _measure(self, layer: str, units: Array, projected: Array) -> None:
        # With adjacent pairs, each stimulus has equal weight and a batch costs little.
        old, new = (np.square(np.diff(part.astype(np.float64), axis=0)).sum(axis=1) for part in (units, projected))
        self._ratios.setdefault(layer, []).append(new[old > 0] / old[old > 0])

    def distortion(self, layer: str) -> dict[str, float]:
        """Return the change of squared distances between stimuli, as factors.

        They are ``pairs``, ``mean``, ``sd``, ``smallest`` and ``largest``, over adjacent computed stimuli; empty if
        there were none.
        """
        ratios = np.concatenate(self._ratios.get(layer, [np.empty(0)]))
        if not len(ratios):
            return {}
        summary = {"mean": ratios.mean(), "sd": ratios.std(), "smallest": ratios.min(), "largest": ratios.max()}
        return {"pairs": len(ratios), **{name: float(value) for name, value in summary.items()}}

    def cache_parts(self) -> dict[str, Any]:
        """Return dimensions, seed and version of scikit-learn."""
        import sklearn  # heavy

        return {"sparse projection": self.n_components, "seed": self.seed, "scikit-learn": sklearn.__version__}

    def notes(self, layer: str) -> dict[str, Any]:
        """Return the distortion of a layer."""
        return {"distortion": self.distortion(layer)}
