"""Principal components and random projections, compared with scikit-learn on all activations at once."""

from collections import OrderedDict

import numpy as np
import pytest
from PIL import Image
from sklearn.decomposition import PCA

from brainscore_core.errors import StimulusError
from brainscore_vision.model_helpers.activations import pca, reduction
from brainscore_vision.model_helpers.activations.cache import stored_entries, without_cache
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper
from brainscore_vision.model_helpers.activations.reduction import (
    LayerPCA,
    SparseProjection,
    fit_components,
    noise_images,
)

RNG = np.random.default_rng(0)


def pixels(paths):
    return np.stack([np.asarray(Image.open(path).resize((6, 6)), dtype=np.float32) for path in paths])


class Model:
    """Two linear layers of the pixels, one of them spatial; records the batch sizes."""

    def __init__(self):
        rng = np.random.default_rng(1)
        self.wide, self.small = rng.normal(size=(108, 300)), rng.normal(size=(108, 12))
        self.seen = []

    def __call__(self, inputs, names):
        self.seen.append(len(inputs))
        flat = inputs.reshape(len(inputs), -1) / 255
        known = {"wide": (flat @ self.wide).reshape(-1, 3, 10, 10), "small": flat @ self.small}
        return OrderedDict((name, known[name]) for name in names)


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def extractor(model):
    digest = lambda: str(float(model.wide.sum()))  # noqa: E731 - follows the weights
    return ActivationsExtractorHelper(model, pixels, "net", batch_size=4, model_digest=digest)


@pytest.fixture
def stimuli(write_stimuli):
    return write_stimuli({f"s{index}": RNG.integers(0, 256, (6, 6, 3)) for index in range(10)})


@pytest.fixture
def fitting(tmp_path):
    folder = tmp_path / "fitting"
    folder.mkdir()
    paths = []
    for index in range(31):
        paths.append(folder / f"{index}.png")
        Image.fromarray(RNG.integers(0, 256, (6, 6, 3)).astype(np.uint8)).save(paths[-1])
    return paths


def test_components_fitted_on_one_batch_match_scikit_learn(extractor, stimuli, fitting):
    known = PCA(31, svd_solver="full").fit(extractor(fitting, layers=["wide"]).values)
    expected = known.transform(extractor(stimuli, layers=["wide"]).values)
    handle = LayerPCA.hook(extractor, 31, fitting)
    reduced = extractor(stimuli, layers=["wide"])
    handle.remove()
    assert reduced.shape == (10, 31)
    assert reduced.dtype == np.float32
    # The sign of a component means nothing; the last has no variance.
    signs = np.sign((reduced.values * expected).sum(axis=0))
    np.testing.assert_allclose(reduced.values[:, :30] * signs[:30], expected[:, :30], atol=1e-3)


def test_incrementally_fitted_components_explain_the_variance():
    values = RNG.normal(size=(200, 10)) @ RNG.normal(size=(10, 60)) + 0.01 * RNG.normal(size=(200, 60))
    mean, components = fit_components(values, 10)
    np.testing.assert_allclose(mean, values.mean(axis=0))
    np.testing.assert_allclose(components @ components.T, np.eye(10), atol=1e-10)
    explained = np.square((values - mean) @ components.T).sum() / np.square(values - mean).sum()
    assert explained > 0.999


def test_components_never_exceed_units_or_images(extractor, stimuli, fitting):
    LayerPCA.hook(extractor, 20, fitting)
    reduced = extractor(stimuli, layers=["wide", "small"])
    counts = dict(zip(*np.unique(reduced["layer"].values, return_counts=True), strict=True))
    assert counts == {"wide": 20, "small": 12}
    assert reduced["neuroid_id"].values[:2].tolist() == ["net.wide.0", "net.wide.1"]


def test_hook_can_be_detected_and_removed(extractor, stimuli, fitting):
    class Wrapper:
        _extractor = extractor

    assert not LayerPCA.is_hooked(extractor)
    handle = pca.LayerPCA.hook(Wrapper(), 3, fitting)
    assert LayerPCA.is_hooked(extractor)
    assert LayerPCA.is_hooked(Wrapper())
    assert not SparseProjection.is_hooked(extractor)
    assert extractor(stimuli, layers=["wide"]).shape == (10, 3)
    handle.remove()
    assert not LayerPCA.is_hooked(extractor)
    assert extractor(stimuli, layers=["wide"]).shape == (10, 300)


def test_reduced_activations_and_components_are_cached(model, extractor, stimuli, fitting):
    handle = LayerPCA.hook(extractor, 5, fitting)
    first = extractor(stimuli, layers=["wide"])
    seen = len(model.seen)
    assert extractor(stimuli, layers=["wide"]).equals(first)
    assert len(model.seen) == seen
    handle.remove()
    LayerPCA.hook(extractor, 5, fitting)
    again = extractor(stimuli[::-1], layers=["wide"])
    np.testing.assert_allclose(again.values[::-1], first.values, rtol=1e-5, atol=1e-6)
    assert len(model.seen) - seen < 8  # batches of the 10 stimuli, not of the 31 images of the fit


@pytest.mark.parametrize("change", ["number", "images", "content", "order", "weights", "other kind", "seed"])
def test_cache_key_covers_everything_that_changes_the_reduction(model, extractor, stimuli, fitting, change):
    hook = SparseProjection.hook if change == "seed" else LayerPCA.hook
    options = {"seed": 0} if change == "seed" else {"fitting_stimuli": fitting}
    handle = hook(extractor, 5, **options)
    before = extractor(stimuli, layers=["wide"]).copy(deep=True)
    n_components = 6 if change == "number" else 5
    if change == "weights":
        model.wide = model.wide + 1 + RNG.normal(size=model.wide.shape)
    else:
        handle.remove()
        if change == "content":
            Image.fromarray(np.zeros((6, 6, 3), np.uint8)).save(fitting[0])
        options |= {"images": {"fitting_stimuli": fitting[1:]}, "order": {"fitting_stimuli": fitting[::-1]}}.get(
            change, {}
        )
        options |= {"seed": 1} if change == "seed" else {}
        if change == "other kind":
            SparseProjection.hook(extractor, 5)
        else:
            hook(extractor, n_components, **options)
    after = extractor(stimuli, layers=["wide"])
    with without_cache():
        truth = extractor(stimuli, layers=["wide"])
    assert after.equals(truth)
    assert change == "order" or not np.array_equal(after.values, before.values)
    assert len(stored_entries()) == 2


def test_model_without_digest_is_reduced_but_not_cached(model, stimuli, fitting):
    unknown = ActivationsExtractorHelper(model, pixels, "net", batch_size=4)
    LayerPCA.hook(unknown, 5, fitting)
    assert unknown(stimuli, layers=["wide"]).shape == (10, 5)
    assert stored_entries() == []


def test_components_are_fitted_on_noise_by_default(extractor, stimuli, monkeypatch):
    monkeypatch.setattr(reduction, "N_NOISE_IMAGES", 12)
    LayerPCA.hook(extractor, 5)
    assert extractor(stimuli, layers=["wide"]).shape == (10, 5)
    (parts,) = stored_entries()[0].parts["reduction"]
    assert parts == {"pca": 5, "fitted on": ["noise", 12, 0], "version": 1}


def test_noise_is_seeded_and_has_a_natural_spectrum(tmp_path):
    first = noise_images(tmp_path, 6, size_px=128)
    contents = [path.read_bytes() for path in first]
    assert [path.read_bytes() for path in noise_images(tmp_path, 6, size_px=128)] == contents
    assert [path.read_bytes() for path in noise_images(tmp_path, 6, 1, size_px=128)] != contents
    images = np.stack([np.asarray(Image.open(path), dtype=float) for path in first])
    assert images.shape == (6, 128, 128, 3)
    assert abs(images.mean() - 127.5) < 5
    grey = images.mean(axis=-1)
    amplitude = np.abs(np.fft.rfft2(grey - grey.mean(axis=(1, 2), keepdims=True))).mean(axis=0)
    frequency = np.hypot(np.fft.fftfreq(128)[:, None], np.fft.rfftfreq(128))
    inside = (frequency > 0.02) & (frequency < 0.3)
    slope = np.polyfit(np.log(frequency[inside]), np.log(amplitude[inside]), 1)[0]
    assert slope == pytest.approx(-1, abs=0.15)


@pytest.mark.parametrize("make", [lambda: LayerPCA(None, 0), lambda: SparseProjection(0)])
def test_rejects_fewer_than_one_dimension(make):
    with pytest.raises(ValueError, match="expected at least 1"):
        make()


def test_rejects_fitting_on_a_single_image(fitting):
    with pytest.raises(StimulusError, match="expected at least 2"):
        LayerPCA(None, 3, fitting[:1])


# --- projections -----------------------------------------------------------------------------------------------------


def test_reported_distortion_matches_measured_distances(extractor, stimuli):
    before = extractor(stimuli, layers=["wide"]).values
    handle = SparseProjection.hook(extractor, 200)
    projection = extractor.batch_hooks[0]
    after = extractor(stimuli, layers=["wide"]).values
    assert after.shape == (10, 200)
    # Neighbours within the batches of 4, 4 and 2.
    ratios = np.square(np.diff(after, axis=0)).sum(axis=1) / np.square(np.diff(before, axis=0)).sum(axis=1)
    ratios = np.delete(ratios, [3, 7])
    found = projection.distortion("wide")
    assert found["pairs"] == 7
    assert found["mean"] == pytest.approx(ratios.mean(), rel=1e-4)
    assert (found["smallest"], found["largest"]) == pytest.approx((ratios.min(), ratios.max()), rel=1e-4)
    assert 0.5 < found["smallest"] <= found["largest"] < 1.5
    (whole,) = [stored for stored in stored_entries() if stored.parts["reduction"]]
    assert whole.entry().notes() == {whole.layers[0]: {"distortion": found}}
    handle.remove()


def test_projection_is_unbiased():
    values = {"layer": RNG.normal(size=(2, 2_000))}
    ratios = []
    for seed in range(60):
        projection = SparseProjection(300, seed=seed)
        projection(values)
        ratios.append(projection.distortion("layer")["mean"])
    assert np.mean(ratios) == pytest.approx(1, abs=4 * np.std(ratios) / np.sqrt(len(ratios)))


def test_projection_is_sparse_and_seeded():
    projection, same, other = SparseProjection(50), SparseProjection(50), SparseProjection(50, seed=1)
    matrices = [each._projection(10_000).components_ for each in (projection, same, other)]
    assert matrices[0].nnz / (50 * 10_000) == pytest.approx(1 / 100, rel=0.2)
    assert (matrices[0] != matrices[1]).nnz == 0
    assert (matrices[0] != matrices[2]).nnz > 0


def test_number_of_dimensions_follows_from_the_allowed_error():
    # 4 ln(n) / (eps^2 / 2 - eps^3 / 3)
    assert SparseProjection(eps=0.5, n_stimuli=1000).n_components == int(4 * np.log(1000) / (0.125 - 0.125 / 3))


def test_small_layer_is_not_projected(extractor, stimuli):
    before = extractor(stimuli, layers=["small"]).values
    SparseProjection.hook(extractor, 50)
    np.testing.assert_array_equal(extractor(stimuli, layers=["small"]).values, before)
    assert extractor.batch_hooks[0].distortion("small") == {}
