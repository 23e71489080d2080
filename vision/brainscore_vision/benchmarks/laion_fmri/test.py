"""Check the benchmarks on recordings of the same form whose truth is known, and the published scores.

There are five made-up subjects with different numbers of voxels. Shared images were shown four or eight times; images
that are not photographs and those of one subject, four times. Files do not identify neuroids, and number trials by
session and run.
"""

import sys
import types
from functools import cache

import numpy as np
import pandas as pd
import pytest

from brainscore_core.errors import RequirementsError
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_benchmark, load_dataset, load_metric, load_model
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.validate_error import assert_valid_uncertainty
from brainscore_vision.benchmarks.laion_fmri import benchmark as benchmark_module
from brainscore_vision.benchmarks.laion_fmri import ceilings, splits
from brainscore_vision.benchmarks.laion_fmri.benchmark import (
    PER_SUBJECT,
    SUBJECTS,
    LAIONfMRI,
    LAIONfMRICKA,
    LAIONfMRIClusterCV,
    LAIONfMRIRSA,
    load_repetitions,
)
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled

RIDGE = [
    f"{pool}.{region}-{split}-ridgecv"
    for pool in ("Zerbe2026_fmri", "Zerbe2026_fmri_persubject")
    for region in ("V1", "IT")
    for split in ("tau", "ood")
]
GEOMETRY = [f"Zerbe2026_fmri.{region}-{metric}" for metric in ("rdm-pearson", "cka") for region in ("V1", "IT")]
N_VOXELS = dict(zip(SUBJECTS, (24, 40, 32, 24, 28), strict=True))

N_SHARED, N_OOD, N_OWN = 44, 16, 16
IDS = {
    "shared": [f"shared_{'8' if i % 2 else '4'}rep_LAION_{i:02d}.jpg" for i in range(N_SHARED)],
    "ood": [f"shared_4rep_OOD_{'shape' if i % 2 else 'gabor'}_{i:02d}.jpg" for i in range(N_OOD)],
    **{subject: [f"{subject}_unique_LAION_{i:02d}.jpg" for i in range(N_OWN)] for subject in SUBJECTS},
}


def get_train_test_ids(name, pool, ood_types=None):
    """Split like the authors' package."""
    inside = IDS["shared"] + ([] if pool == "shared" else IDS[pool])
    if name == "ood":
        return inside, [each for each in IDS["ood"] if ood_types is None or each.split("_")[3] in ood_types]
    if name.startswith("cluster_k5_"):
        test = inside[int(name[-1]) :: 5]
        return [each for each in inside if each not in test], test
    return inside[len(inside) // 3 :], inside[: len(inside) // 3]


@pytest.fixture(autouse=True)
def authors_package(monkeypatch, kept_homes):
    let_package_stand_in(monkeypatch)


def let_package_stand_in(monkeypatch):
    module = types.ModuleType("laion_fmri.splits")
    module.get_train_test_ids = get_train_test_ids
    monkeypatch.setitem(sys.modules, "laion_fmri", types.ModuleType("laion_fmri"))
    monkeypatch.setitem(sys.modules, "laion_fmri.splits", module)


@pytest.fixture(scope="module")
def loaded_once():
    return cache(load_dataset)


@pytest.fixture(autouse=True)
def load_each_file_once(loaded_once, monkeypatch):
    monkeypatch.setattr(benchmark_module, "load_dataset", loaded_once)  # five subjects, two pools, 24 benchmarks


@pytest.fixture(scope="module")
def truth(module_stand_ins):
    return stand_in(module_stand_ins)


def stand_in(stand_ins):
    names = [name for part in IDS.values() for name in part]
    stimuli = draw_stimuli("Zerbe2026_fmri_stim_full", len(names), columns={"stimulus_id": names}, size_px=32)
    for identifier in ("Zerbe2026_fmri_stim_full", "Zerbe2026_fmri_persubject_stim_full"):
        stand_ins.stimuli(identifier, stimuli)
    subjects = np.repeat(SUBJECTS, list(N_VOXELS.values()))
    assembly, truth = recordings(stimuli, n_neuroids=len(subjects), n_repetitions=8)
    shown = assembly["stimulus_id"].values
    often = (assembly["repetition"].values < 4) | np.char.startswith(shown, "shared_8rep")
    for subject in SUBJECTS:
        voxels = np.flatnonzero(subjects == subject)
        for pool, wanted in (("", []), ("persubject_", IDS[subject])):
            rows = np.flatnonzero(often & np.isin(shown, IDS["shared"] + IDS["ood"] + wanted))
            some = as_published(assembly[{"presentation": rows, "neuroid": voxels}], subject, trials=bool(pool))
            stand_ins.data(f"Zerbe2026_fmri_{pool}full_{subject}", some, stimuli, checked=False)
    return truth


def as_published(assembly, subject, *, trials):
    n = assembly.sizes["neuroid"]
    rng = np.random.default_rng(n)
    reliable = np.arange(n) // 4 % 3 > 0
    values = np.where(reliable, assembly.values, rng.normal(size=assembly.shape)).astype(np.float32)
    rows = assembly.sizes["presentation"]
    of_trials = {"session": np.arange(rows) // 40, "run": np.arange(rows) // 10}
    return assembly_of(
        values,
        **{name: assembly[name].values for name in ("stimulus_id", "repetition")},
        **(of_trials if trials else {"subject_id_pres": [subject] * rows}),
        object_name=None,
        neuroid_id=None,
        subject_id=("neuroid", [subject] * n),
        region=("neuroid", np.resize(["V1", "V2", "V4", "IT"], n)),
        roi=("neuroid", np.resize(["V1v", "V2d", "hV4", "laionventral"], n)),
        voxel_index_in_brain_mask=("neuroid", np.arange(n) + 1000),
        **{f"nc_{name}rep": ("neuroid", np.where(reliable, 95.0, 30.0)) for name in ("4", "12", "all")},
    )


@pytest.fixture(scope="module")
def brain(truth):
    return PrecomputedFeatures(truth, visual_degrees=8)


QUICK = {
    *("Zerbe2026_fmri.V1-tau-ridgecv", "Zerbe2026_fmri_persubject.IT-ood-ridgecv"),
    *("Zerbe2026_fmri.IT-rdm-pearson", "Zerbe2026_fmri.V1-cka"),
}


def some_quick(identifiers):
    return [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in identifiers]


@pytest.mark.slow
def test_repetitions_of_one_region_of_one_subject(truth):
    assembly = load_repetitions("sub-03", "V4", PER_SUBJECT)
    assert assembly.sizes["neuroid"] == 6  # of ten voxels, four are unreliable
    assert set(assembly.coords) == {
        *("presentation", "stimulus_id", "repetition"),
        *("neuroid", "neuroid_id", "subject", "region", "nc_12rep", "nc_4rep", "nc_allrep"),
    }
    counts = pd.Series(assembly["stimulus_id"].values).value_counts()
    assert set(counts[counts.index.str.contains("8rep")]) == {8}
    assert set(counts[~counts.index.str.contains("8rep")]) == {4}
    assert len(counts) == N_SHARED + N_OOD + N_OWN


@pytest.mark.slow
@pytest.mark.parametrize("identifier", some_quick(RIDGE))
def test_responses_are_predicted_up_to_their_reliability(brain, identifier):
    score = load_benchmark(identifier)(brain)
    # Noise .5; test images were shown four times, or some of them eight times.
    assert 1 / (1 + 0.5**2 / 4) - 0.04 <= float(score.ceiling) <= 1 / (1 + 0.5**2 / 8) + 0.04
    assert float(score) == pytest.approx(1, abs=0.05)
    assert set(SUBJECTS) <= set(score.attrs)
    assert score.attrs["n_subjects"] == 5
    assert_valid_uncertainty(score)


def test_window_is_the_same_as_for_other_fmri(truth):
    assert LAIONfMRI("V1", "tau").timebins == [(70, 170)]
    assert LAIONfMRICKA("V1").timebins == [(70, 170)]


@pytest.mark.parametrize("identifier", some_quick(GEOMETRY))
def test_true_geometry_scores_within_the_bounds(brain, identifier):
    benchmark = load_benchmark(identifier)
    score = benchmark(brain)
    ceiling = benchmark.ceiling
    assert ceiling.attrs["lower_bound"] < float(score.raw) <= ceiling.attrs["upper_bound"]
    assert score.attrs["n_stimuli"] == N_SHARED  # the photographs


@pytest.mark.parametrize(
    "kind", [*(pytest.param(kind, marks=pytest.mark.slow) for kind in ("tau-ridgecv", "rdm-pearson")), "cka"]
)
def test_brain_scores_above_pixels_above_shuffled(truth, brain, kind):
    benchmark = load_benchmark(f"Zerbe2026_fmri.IT-{kind}")
    of_brain, of_pixels = (float(benchmark(model)) for model in (brain, load_model("pixels")))
    of_shuffled = float(benchmark(PrecomputedFeatures(shuffled(truth), 8)))
    assert of_brain > of_pixels + 0.05 > of_shuffled + 0.05
    assert abs(of_shuffled) < 0.15


class TestPublishedCeilings:
    def test_ridge_is_divided_by_the_root_of_the_noise_ceiling(self, brain):
        score = LAIONfMRI("V1", "tau", subjects=SUBJECTS[:1], published=True)(brain)
        assert float(score.ceiling) == pytest.approx(np.sqrt(0.95), abs=1e-6)
        assert float(score) == pytest.approx(float(score.raw) ** 2 / np.sqrt(0.95), rel=1e-4)

    def test_rdm_has_the_root_of_the_noise_ceiling(self, brain):
        benchmark = LAIONfMRIRSA("V1", published=True)
        score = benchmark(brain)
        assert benchmark.identifier == "Zerbe2026_fmri.V1-rdm-pearson"
        assert float(score.ceiling) == pytest.approx(np.sqrt(0.95), abs=1e-6)
        assert float(score.raw) == pytest.approx(float(LAIONfMRIRSA("V1")(brain).raw))

    def test_brain_exceeds_the_published_ceiling_of_alignment(self, brain):
        published, bound = LAIONfMRICKA("V1", published=True), LAIONfMRICKA("V1")
        assert float(published(brain)) > 1 >= float(bound(brain))
        assert float(published(brain).raw) == pytest.approx(float(bound(brain).raw))


def test_alignment_bounds_are_cosines_of_the_metric(truth):
    benchmark = load_benchmark("Zerbe2026_fmri.IT-cka")
    assembly = benchmark._assembly[:]  # noqa: SLF001 - the compared data
    two = assembly[{"neuroid": np.flatnonzero(np.isin(assembly["subject"].values, SUBJECTS[:2]))}]
    bounds = ceilings.alignment_bounds(two)
    between = float(ceilings.published_alignment(two))
    # For two directions: the cosine between them, and with the direction halfway between.
    assert bounds.attrs["lower_bound"] == pytest.approx(between)
    assert bounds.attrs["upper_bound"] == pytest.approx(np.sqrt((1 + between) / 2))
    assert bounds.attrs["quantity"] == load_metric("cka").quantity


def test_splits_by_kind_and_by_clusters(brain):
    of_kind = LAIONfMRI("V2", "ood_shape", subjects=SUBJECTS[:2])
    assert of_kind.identifier == "Zerbe2026_fmri.V2-ood_shape-ridgecv"
    assert of_kind(brain).attrs["sub-01"].attrs["n_stimuli"] == N_SHARED + N_OOD / 2
    clusters = LAIONfMRIClusterCV("V2", subjects=SUBJECTS[:2])
    assert clusters.identifier == "Zerbe2026_fmri.V2-cluster_k5-ridgecv"
    score = clusters(brain)
    assert float(score) == pytest.approx(1, abs=0.1)
    assert score.attrs["error_over"] == ["stimulus", "subject"]


@pytest.mark.parametrize("factory", [LAIONfMRIRSA, LAIONfMRICKA])
def test_geometries_of_different_images_are_refused(factory):
    with pytest.raises(ValueError, match="only for the shared pool"):
        factory("IT", dataset_prefix=PER_SUBJECT)


def test_missing_authors_package_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "laion_fmri.splits", None)
    with pytest.raises(RequirementsError, match=r"pip install --no-deps 'laion-fmri @ git\+https"):
        splits.train_and_test_ids("tau", "shared")


@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.parametrize(
    "identifier",
    ["Zerbe2026_fmri.V1-tau-ridgecv", "Zerbe2026_fmri_persubject.IT-tau-ridgecv", "Zerbe2026_fmri.IT-rdm-pearson"],
)
def test_alexnet_scores_within_the_published_range(identifier):
    assert -1 <= float(load_benchmark(identifier)(load_model("alexnet"))) <= 1.5
