"""Register the benchmarks on fMRI of scenes (Allen et al. 2022), on the surface; ``_4subj`` has four subjects."""

from brainscore_vision import benchmark_registry

from .benchmark import Allen2022fmriSurface, Allen2022fmriSurfaceRSA

FOUR = "Allen2022_fmri_surface_4subj"

benchmark_registry["Allen2022_fmri_surface.V1-ridge"] = lambda: Allen2022fmriSurface("V1")
benchmark_registry["Allen2022_fmri_surface.V2-ridge"] = lambda: Allen2022fmriSurface("V2")
benchmark_registry["Allen2022_fmri_surface.V4-ridge"] = lambda: Allen2022fmriSurface("V4")
benchmark_registry["Allen2022_fmri_surface.IT-ridge"] = lambda: Allen2022fmriSurface("IT")
benchmark_registry["Allen2022_fmri_surface.V1-rdm"] = lambda: Allen2022fmriSurfaceRSA("V1")
benchmark_registry["Allen2022_fmri_surface.V2-rdm"] = lambda: Allen2022fmriSurfaceRSA("V2")
benchmark_registry["Allen2022_fmri_surface.V4-rdm"] = lambda: Allen2022fmriSurfaceRSA("V4")
benchmark_registry["Allen2022_fmri_surface.IT-rdm"] = lambda: Allen2022fmriSurfaceRSA("IT")
benchmark_registry["Allen2022_fmri_surface_4subj.V1-ridge"] = lambda: Allen2022fmriSurface("V1", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_surface_4subj.V2-ridge"] = lambda: Allen2022fmriSurface("V2", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_surface_4subj.V4-ridge"] = lambda: Allen2022fmriSurface("V4", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_surface_4subj.IT-ridge"] = lambda: Allen2022fmriSurface("IT", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_surface_4subj.V1-rdm"] = lambda: Allen2022fmriSurfaceRSA("V1", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_surface_4subj.V2-rdm"] = lambda: Allen2022fmriSurfaceRSA("V2", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_surface_4subj.V4-rdm"] = lambda: Allen2022fmriSurfaceRSA("V4", dataset_prefix=FOUR)
benchmark_registry["Allen2022_fmri_surface_4subj.IT-rdm"] = lambda: Allen2022fmriSurfaceRSA("IT", dataset_prefix=FOUR)
