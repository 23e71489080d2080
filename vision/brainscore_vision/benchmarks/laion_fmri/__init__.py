"""Register the benchmarks on LAION-fMRI by Zerbe et al. (2026)."""

from brainscore_vision import benchmark_registry

from .benchmark import PER_SUBJECT, LAIONfMRI, LAIONfMRICKA, LAIONfMRIRSA

benchmark_registry["Zerbe2026_fmri_persubject.V1-tau-ridgecv"] = lambda: LAIONfMRI(
    "V1", "tau", dataset_prefix=PER_SUBJECT
)
benchmark_registry["Zerbe2026_fmri_persubject.V1-ood-ridgecv"] = lambda: LAIONfMRI(
    "V1", "ood", dataset_prefix=PER_SUBJECT
)
benchmark_registry["Zerbe2026_fmri_persubject.V2-tau-ridgecv"] = lambda: LAIONfMRI(
    "V2", "tau", dataset_prefix=PER_SUBJECT
)
benchmark_registry["Zerbe2026_fmri_persubject.V2-ood-ridgecv"] = lambda: LAIONfMRI(
    "V2", "ood", dataset_prefix=PER_SUBJECT
)
benchmark_registry["Zerbe2026_fmri_persubject.V4-tau-ridgecv"] = lambda: LAIONfMRI(
    "V4", "tau", dataset_prefix=PER_SUBJECT
)
benchmark_registry["Zerbe2026_fmri_persubject.V4-ood-ridgecv"] = lambda: LAIONfMRI(
    "V4", "ood", dataset_prefix=PER_SUBJECT
)
benchmark_registry["Zerbe2026_fmri_persubject.IT-tau-ridgecv"] = lambda: LAIONfMRI(
    "IT", "tau", dataset_prefix=PER_SUBJECT
)
benchmark_registry["Zerbe2026_fmri_persubject.IT-ood-ridgecv"] = lambda: LAIONfMRI(
    "IT", "ood", dataset_prefix=PER_SUBJECT
)
benchmark_registry["Zerbe2026_fmri.V1-tau-ridgecv"] = lambda: LAIONfMRI("V1", "tau")
benchmark_registry["Zerbe2026_fmri.V1-ood-ridgecv"] = lambda: LAIONfMRI("V1", "ood")
benchmark_registry["Zerbe2026_fmri.V2-tau-ridgecv"] = lambda: LAIONfMRI("V2", "tau")
benchmark_registry["Zerbe2026_fmri.V2-ood-ridgecv"] = lambda: LAIONfMRI("V2", "ood")
benchmark_registry["Zerbe2026_fmri.V4-tau-ridgecv"] = lambda: LAIONfMRI("V4", "tau")
benchmark_registry["Zerbe2026_fmri.V4-ood-ridgecv"] = lambda: LAIONfMRI("V4", "ood")
benchmark_registry["Zerbe2026_fmri.IT-tau-ridgecv"] = lambda: LAIONfMRI("IT", "tau")
benchmark_registry["Zerbe2026_fmri.IT-ood-ridgecv"] = lambda: LAIONfMRI("IT", "ood")
benchmark_registry["Zerbe2026_fmri.V1-rdm-pearson"] = lambda: LAIONfMRIRSA("V1")
benchmark_registry["Zerbe2026_fmri.V2-rdm-pearson"] = lambda: LAIONfMRIRSA("V2")
benchmark_registry["Zerbe2026_fmri.V4-rdm-pearson"] = lambda: LAIONfMRIRSA("V4")
benchmark_registry["Zerbe2026_fmri.IT-rdm-pearson"] = lambda: LAIONfMRIRSA("IT")
benchmark_registry["Zerbe2026_fmri.V1-cka"] = lambda: LAIONfMRICKA("V1")
benchmark_registry["Zerbe2026_fmri.V2-cka"] = lambda: LAIONfMRICKA("V2")
benchmark_registry["Zerbe2026_fmri.V4-cka"] = lambda: LAIONfMRICKA("V4")
benchmark_registry["Zerbe2026_fmri.IT-cka"] = lambda: LAIONfMRICKA("IT")
