import numpy as np
import pytest

from brainscore_core.errors import StimulusError
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_benchmark
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.testing.coarse_pixels import coarse_pixels
from brainscore_vision.testing.stand_ins import draw_stimuli

from .benchmark import pairs

pytestmark = pytest.mark.usefixtures("kept_homes")

N_SHAPES, N_TEXTURES, N_PICTURES, N_UNITS = 5, 4, 2, 100


def table(n_shapes, n_textures, n_pictures):
    rows = [
        (f"s{shape:02d}", f"t{texture}", f"p{shape:02d}_{picture}")
        for shape in range(n_shapes)
        for picture in range(n_pictures)
        for texture in range(n_textures)
    ]
    columns = ("shape", "texture", "original_image_id")
    return {name: list(column) for name, column in zip(columns, zip(*rows, strict=True), strict=True)}


def test_pairs_match_the_published_ones():
    stimuli = StimulusSet({**table(20, 5, 2), "stimulus_id": [str(row) for row in range(200)]})
    factors, second = pairs(stimuli)
    assert factors[:8].tolist() == [
        "shape", "shape", "texture", "texture", "shape", "texture", "shape", "shape",
    ]  # fmt: skip
    assert second[:12].tolist() == [3, 2, 67, 68, 3, 120, 9, 8, 168, 7, 13, 101]
    assert int((second * np.arange(200)).sum()) == 2375054
    assert (factors == "shape").sum() == 101


def test_pairs_share_exactly_one_factor():
    stimuli = StimulusSet({**table(4, 3, 3), "stimulus_id": [str(row) for row in range(36)]})
    factors, second = pairs(stimuli, seed=5)
    for row, (factor, other) in enumerate(zip(factors, second, strict=True)):
        one, two = stimuli.iloc[row], stimuli.iloc[other]
        assert (one["shape"] == two["shape"]) == (factor == "shape")
        assert (one["texture"] == two["texture"]) == (factor == "texture")
        assert factor == "texture" or one["original_image_id"] == two["original_image_id"]


def test_images_without_partners_are_refused():
    stimuli = StimulusSet({**table(3, 3, 1), "stimulus_id": [str(row) for row in range(9)]})
    with pytest.raises(StimulusError, match="every combination is needed"):
        pairs(stimuli[:-1])
    with pytest.raises(StimulusError, match="two shapes and two textures"):
        pairs(stimuli[stimuli["shape"] == "s00"])


@pytest.fixture(scope="module")
def images(module_stand_ins):
    return stand_in(module_stand_ins)


def stand_in(stand_ins):
    """Replace the data by made-up images, whose pictures are unrelated to shape and texture."""
    columns = table(N_SHAPES, N_TEXTURES, N_PICTURES)
    stimuli = draw_stimuli("Islam2021", N_SHAPES * N_TEXTURES * N_PICTURES, columns=columns, size_px=16)
    stand_ins.stimuli("Islam2021", stimuli)
    return stimuli


def population(stimuli, factor, *, seed=0, share=1.0):
    """Return units that encode one factor in a share of their variance, the rest being noise; in another order, with
    time."""
    generator = np.random.default_rng(seed)
    levels = np.unique(stimuli[factor], return_inverse=True)[1]
    codes = generator.standard_normal((levels.max() + 1, N_UNITS))
    noise = generator.standard_normal((len(stimuli), N_UNITS))
    values = np.sqrt(share) * codes[levels] + np.sqrt(1 - share) * noise
    order = generator.permutation(len(stimuli))
    coords = {name: stimuli[name].to_numpy()[order] for name in ("stimulus_id", "shape", "texture")}
    coords |= {"time_bin_start": ("time_bin", [70]), "time_bin_end": ("time_bin", [170])}
    return PrecomputedFeatures(assembly_of(values[order][:, :, None], **coords), visual_degrees=8)


@pytest.mark.parametrize("factor", ["shape", "texture"])
def test_population_encodes_its_own_factor(images, factor):
    other = {"shape": "texture", "texture": "shape"}[factor]
    model = population(images, factor)
    own, foreign = (load_benchmark(f"Islam2021-{each}_it_dimensionality")(model) for each in (factor, other))
    # Pairs that share the factor share all variance: exp(1), against exp(1) for the residual and exp(0) for the other.
    expected = np.e / (2 * np.e + 1)
    assert float(own) == pytest.approx(expected, abs=0.06)
    assert float(foreign) < 0.2
    assert own.attrs["shares"][other] == float(foreign)
    assert sum(own.attrs["shares"].values()) == pytest.approx(1)
    half = load_benchmark(f"Islam2021-{factor}_it_dimensionality")(population(images, factor, share=0.5))
    noise = load_benchmark(f"Islam2021-{factor}_it_dimensionality")(population(images, factor, share=0.0))
    assert float(noise) < float(half) < float(own)
    assert float(noise) == pytest.approx(1 / (2 + np.e), abs=0.06)
    assert (own.attrs["n_stimuli"], own.attrs["n_neuroids"]) == (len(images), N_UNITS)


def test_unrelated_pictures_encode_neither_factor(images):
    score = load_benchmark("Islam2021-shape_v1_dimensionality")(coarse_pixels())
    assert float(score) == pytest.approx(1 / (2 + np.e), abs=0.06)
    assert score.attrs["shares"]["residual"] > 0.5


@pytest.mark.private_access
@pytest.mark.parametrize(("factor", "expected"), [("shape", 0.18310547), ("texture", 0.30834961)])
@pytest.mark.parametrize("region", ["v1", "v2", "v4", "it"])
def test_published_scores(factor, region, expected):
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_core.supported_data_standards.brainio.fetch import get_local_data_path
    from brainscore_core.supported_data_standards.brainio.s3 import download_file_if_not_exists

    name = "alexnet-islam2021-classifier.5.nc"
    file = get_local_data_path() / "brain-score-tests" / name
    download_file_if_not_exists(file, "brain-score-tests", f"tests/test_benchmarks/{name}")
    stored = DataAssembly.from_files(file_path=file)
    ids = [path.rpartition("/")[2][:-4] for path in stored["stimulus_path"].values]
    features = assembly_of(np.asarray(stored.values).T, stimulus_id=ids)
    score = load_benchmark(f"Islam2021-{factor}_{region}_dimensionality")(PrecomputedFeatures(features, 8))
    assert float(score) == pytest.approx(expected, abs=0.001)
