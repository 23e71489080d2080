"""Register the benchmarks on fMRI of scenes by Allen et al. (2022); ``_4subj`` has fewer subjects, more scenes."""

from brainscore_vision import benchmark_registry

from .benchmark import Allen2022fmri, Allen2022fmriRSA

FOUR = "Allen2022_fmri_4subj"

benchmark_registry["Allen2022_fmri.V1-ridge"] = lambda: Allen2022fmri("V1")
benchmark_registry["Allen2022_fmri.V2-ridge"] = lambda: Allen2022fmri("V2")
benchmark_registry["Allen2022_fmri.V4-ridge"] = lambda: Allen2022fmri("V4")
benchmark_registry["Allen2022_fmri.IT-ridge"] = lambda: Allen2022fmri("IT")
benchmark_registry["Allen2022_fmri.V1-rdm"] = lambda: Allen2022fmriRSA("V1")
benchmark_registry["Allen2022_fmri.V2-rdm"] = lambda: Allen2022fmriRSA("V2")
benchmark_registry["Allen2022_fmri.V4-rdm"] = lambda: Allen2022fmriRSA("V4")
benchmark_registry["Allen2022_fmri.IT-rdm"] = lambda: Allen2022fmriRSA("IT")
benchmark_registry["Allen2022_fmri_4subj.V1-ridge"] = lambda: Allen2022fmri("V1", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_4subj.V2-ridge"] = lambda: Allen2022fmri("V2", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_4subj.V4-ridge"] = lambda: Allen2022fmri("V4", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_4subj.IT-ridge"] = lambda: Allen2022fmri("IT", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_4subj.V1-rdm"] = lambda: Allen2022fmriRSA("V1", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_4subj.V2-rdm"] = lambda: Allen2022fmriRSA("V2", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_4subj.V4-rdm"] = lambda: Allen2022fmriRSA("V4", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_4subj.IT-rdm"] = lambda: Allen2022fmriRSA("IT", dataset_prefix=FOUR)
