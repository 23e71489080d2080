"""Compare models with fMRI of five people who saw images of LAION-fMRI, voxel by voxel (Zerbe et al. 2026).

``-tau-ridgecv`` and ``-ood-ridgecv`` predict the voxels of each subject; test images are similar to the training
images, or non-photographs such as shapes and illusions. ``Zerbe2026_fmri_persubject`` uses all images of a subject,
``Zerbe2026_fmri`` those that all five saw; with these, ``-rdm-pearson`` and ``-cka`` compare geometries. Voxels with a
noise ceiling of 30 % or less are excluded.

Correlations are divided by the reliability of the test images over their actual repetitions, geometries by the best
that one geometry reaches for all subjects.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import load_ceiling, load_dataset, load_metric
from brainscore_vision.benchmark_helpers.multi_subject import KFoldNeuralBenchmark, MultiSubjectNeuralBenchmark
from brainscore_vision.benchmark_helpers.neural.given_split import of_region, train_test_benchmark
from brainscore_vision.benchmark_helpers.neural_common import RSABenchmark, average_repetition
from brainscore_vision.benchmark_helpers.recordings import neuroid_concat
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.metric_helpers.labelled.alignment import coords_along
from brainscore_vision.utils import LazyLoad

from .ceilings import alignment_bounds, published_alignment, published_geometry_ceiling, published_noise_ceiling
from .splits import train_and_test_ids

BIBTEX = cite_data("laion_fmri")

SHARED, PER_SUBJECT = "Zerbe2026_fmri", "Zerbe2026_fmri_persubject"
SUBJECTS = ("sub-01", "sub-03", "sub-05", "sub-06", "sub-07")
VISUAL_DEGREES = 9.2
NOISE_CEILING_THRESHOLD = 30  # percent of the variance of the mean over twelve repetitions
ALPHAS = [10.0**exponent for exponent in range(-10, 11)]


def load_repetitions(subject: str, region: str, dataset_prefix: str = SHARED) -> NeuroidAssembly:
    """Load one region of one subject, dims (presentation, neuroid), all repetitions."""
    assembly = load_dataset(f"{dataset_prefix}_full_{subject}")
    assembly = of_region(assembly, region, above=("nc_12rep", NOISE_CEILING_THRESHOLD))
    assembly = assembly.transpose("presentation", "neuroid")
    coords, n = coords_along(assembly, "neuroid"), assembly.sizes["neuroid"]
    return NeuroidAssembly(
        assembly.values,
        coords={
            "stimulus_id": ("presentation", assembly["stimulus_id"].values),
            "repetition": ("presentation", assembly["repetition"].values),
            "neuroid_id": ("neuroid", [f"{subject}/{number}" for number in range(n)]),
            "subject": ("neuroid", [subject] * n),
            "region": ("neuroid", [region] * n),
            **{name: coords[name] for name in ("nc_12rep", "nc_4rep", "nc_allrep") if name in coords},
        },
        dims=["presentation", "neuroid"],
        attrs={"stimulus_set": assembly.attrs["stimulus_set"]},
    )


def with_stimuli(assembly: NeuroidAssembly, stimulus_ids: set[str], identifier: str) -> NeuroidAssembly:
    """Return the responses to some images, now their stimulus set."""
    some = assembly[{"presentation": np.flatnonzero(np.isin(assembly["stimulus_id"].values, list(stimulus_ids)))}]
    stimuli = assembly.attrs["stimulus_set"]
    stimuli = stimuli[stimuli["stimulus_id"].isin(set(some["stimulus_id"].values))].reset_index(drop=True)
    stimuli.identifier = identifier
    some.attrs.update(stimulus_set=stimuli, stimulus_set_identifier=identifier)
    return some


def LAIONfMRI(
    region: str,
    split: str,
    metric_type: str = "ridgecv",
    dataset_prefix: str = SHARED,
    subjects: Sequence[str] = SUBJECTS,
    *,
    published: bool = False,
) -> MultiSubjectNeuralBenchmark:
    """Predict the responses of each subject separately; splits are those of `train_and_test_ids`."""
    identifier = f"{dataset_prefix}.{region}-{split}-{metric_type}"
    metric = load_metric(f"dual_{metric_type}_split", alphas=ALPHAS)

    def of_subject(subject: str):
        pool, mark = (subject, f"-{subject}") if dataset_prefix == PER_SUBJECT else ("shared", "")
        repetitions = cache(lambda: load_repetitions(subject, region, dataset_prefix))

        def load(side: str) -> NeuroidAssembly:
            recorded, ids = repetitions(), train_and_test_ids(split, pool)[side]
            return with_stimuli(recorded, ids, f"{dataset_prefix}_stim_full--{split}-{side}{mark}")

        return train_test_benchmark(
            f"{identifier}-{subject}",
            load,
            metric,
            ceiler=published_noise_ceiling if published else load_ceiling("noise_ceiling"),
            version=1,
            visual_degrees=VISUAL_DEGREES,
            number_of_trials=1,
            parent=region,
            bibtex=BIBTEX,
        )

    return MultiSubjectNeuralBenchmark(identifier, subjects, of_subject)


def LAIONfMRIClusterCV(
    region: str, metric_type: str = "ridgecv", dataset_prefix: str = SHARED, n_folds: int = 5, **kwargs
) -> KFoldNeuralBenchmark:
    """Test on each of five clusters of images, trained on the others."""
    return KFoldNeuralBenchmark(
        f"{dataset_prefix}.{region}-cluster_k{n_folds}-{metric_type}",
        n_folds,
        lambda fold: LAIONfMRI(region, f"cluster_k{n_folds}_{fold}", metric_type, dataset_prefix, **kwargs),
    )


def LAIONfMRIRSA(
    region: str, dataset_prefix: str = SHARED, subjects: Sequence[str] = SUBJECTS, *, published: bool = False
) -> RSABenchmark | MultiSubjectNeuralBenchmark:
    """Compare dissimilarities between photographs that all saw."""
    identifier = f"{dataset_prefix}.{region}-rdm-pearson"
    if not published:
        return _geometry(identifier, region, dataset_prefix, subjects)
    return MultiSubjectNeuralBenchmark(
        identifier,
        subjects,
        lambda subject: _geometry(
            f"{identifier}-{subject}", region, dataset_prefix, [subject], ceiler=published_geometry_ceiling
        ),
    )


def LAIONfMRICKA(
    region: str, dataset_prefix: str = SHARED, subjects: Sequence[str] = SUBJECTS, *, published: bool = False
) -> RSABenchmark:
    """Compare Gram matrices of photographs that all saw."""
    return _geometry(
        f"{dataset_prefix}.{region}-cka",
        region,
        dataset_prefix,
        subjects,
        ceiler=published_alignment if published else alignment_bounds,
        parent=f"{dataset_prefix}.{region}",
        rdm=lambda assembly: assembly,
        similarity=load_metric("cka"),
    )


def _geometry(identifier: str, region: str, dataset_prefix: str, subjects: Sequence[str], **kwargs) -> RSABenchmark:
    if dataset_prefix == PER_SUBJECT:
        raise ValueError(
            f"{identifier} is not possible: geometries can be compared only for the shared pool, because the subjects "
            f"of {PER_SUBJECT} saw different images. Use dataset_prefix={SHARED!r}."
        )

    def load() -> NeuroidAssembly:
        parts, stimuli = [], None
        for subject in subjects:
            repetitions = load_repetitions(subject, region, dataset_prefix)
            stimuli = repetitions.attrs["stimulus_set"]
            ids = set.union(*train_and_test_ids("tau", "shared").values())
            parts.append(average_repetition(with_stimuli(repetitions, ids, "")))
        joint = neuroid_concat(parts)
        joint.attrs["stimulus_set"] = stimuli
        return with_stimuli(joint, set(joint["stimulus_id"].values), f"{dataset_prefix}_stim_full--rdm")

    return RSABenchmark(
        identifier=identifier,
        version=1,
        assembly=LazyLoad(load),
        region=region,
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=1,
        bibtex=BIBTEX,
        **kwargs,
    )
