"""Register the benchmarks on LAION-fMRI by Zerbe et al. (2026)."""

from functools import partial

from brainscore_vision import benchmark_registry

from .benchmark import PER_SUBJECT, LAIONfMRI, LAIONfMRICKA, LAIONfMRIRSA

for region in ("V1", "V2", "V4", "IT"):
    for split in ("tau", "ood"):
        benchmark_registry[f"Zerbe2026_fmri_persubject.{region}-{split}-ridgecv"] = partial(
            LAIONfMRI, region, split, dataset_prefix=PER_SUBJECT
        )
        benchmark_registry[f"Zerbe2026_fmri.{region}-{split}-ridgecv"] = partial(LAIONfMRI, region, split)
    benchmark_registry[f"Zerbe2026_fmri.{region}-rdm-pearson"] = partial(LAIONfMRIRSA, region)
    benchmark_registry[f"Zerbe2026_fmri.{region}-cka"] = partial(LAIONfMRICKA, region)
