"""Register fMRI responses to LAION-fMRI, Zerbe et al. (2026): voxels of V1, V2, V3, V4 and IT of five subjects at 7 T.

``Zerbe2026_fmri_full_<subject>`` holds the 1,492 images that all subjects saw 4 or 12 times (371 non-photographs),
``Zerbe2026_fmri_persubject_full_<subject>`` also those that only this subject saw, 6,204 in all. The images may not be
redistributed: both stimulus sets are read from the user's folder.

Recordings have dims (presentation = stimulus x repetition, neuroid): GLMsingle betas, z-scored within each session.
Neuroids have ``subject_id``, ``region`` and, in percent of the variance, ``nc_4rep``, ``nc_12rep``, ``nc_allrep``.
"""

from functools import partial

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

from .loading import PATH, load_stimuli, without_trials

BIBTEX = """@inproceedings{zerbe2026laion,
  title={{LAION}-{fMRI}: A densely sampled 7T-fMRI dataset providing broad coverage of natural image diversity},
  author={Zerbe, Josefine and Roth, Johannes and Mell, Maggie Mae and Herholz, Peer and Knapen, Tomas and Hebart,
    Martin N.},
  booktitle={Vision Sciences Society Annual Meeting}, year={2026}
}"""

BUCKET = Bucket(PATH, NeuroidAssembly)

stimulus_set_registry["Zerbe2026_fmri_stim_full"] = lambda: load_stimuli("Zerbe2026_fmri_stim_full")
stimulus_set_registry["Zerbe2026_fmri_persubject_stim_full"] = lambda: load_stimuli(
    "Zerbe2026_fmri_persubject_stim_full"
)

SHARED = (  # subject, digest and version of the images that all saw
    ("sub-01", "5d928ad1b170fa2fa58bcf1215ba60c4dd389ef4", "ZN0QBmAbna8F1mqabGMEWNlhSHqclRkj"),
    ("sub-03", "ecff27ddc4dc0a75cfbcc719b91c3739c1ba2bb1", "vq6BErgrj2e6SMQdfxfwh0XVLd.FsxCX"),
    ("sub-05", "c446c8a6c67de21e749469a092fd02994d2be01e", "Tzl5F826dIUNG7jGY8soR07zJ0DC3ffZ"),
    ("sub-06", "912aec9934c7b2daafb4d3927db895363b9eb0c1", "2FaJ3bLhgR_XDDERM38RwzTFfc8e3YqM"),
    ("sub-07", "e16a456229427eb876b7ee85e0019570130fc4f0", "HGT8RP0IbkFFeG7KI.oifhOSm3YlD1yD"),
)
PER_SUBJECT = (  # the same, with those that only this subject saw
    ("sub-01", "827781fe183ee1744f968517c1ea5afbe7860d4b", "ZMebfDS6bT7DjDqKcuHmOu9DlRbPstk6"),
    ("sub-03", "f699b3aeb168a5a6f57a48704bdb03b0103d34d3", "KFwyIrU_1hqbPY64iKxE1CWvAHRmLaL2"),
    ("sub-05", "73a1ee4f85c41c1c30f771a46396a91c73a85b6c", "As0uxDjHTzjtnGSjEVxBqnIEdK0zHq0d"),
    ("sub-06", "1d7a43878a05787c048696c023575850e0b2ba3b", "rCLfMcMoYoyeVu.6meVUzfNEzWkfV8yJ"),
    ("sub-07", "5c2d025d41f4befa449eca2b390dff1ab2f29821", "z1fAn.bLXyrw_PSoFz458m19hN8vOfW_"),
)

for subject, sha1, version_id in SHARED:
    data_registry[f"Zerbe2026_fmri_full_{subject}"] = BUCKET.assembly(
        f"LAION_fMRI_full_{subject}_Assembly",
        sha1=sha1,
        version_id=version_id,
        stimuli="Zerbe2026_fmri_stim_full",
        merge_stimulus_set_meta=False,
    )
for subject, sha1, version_id in PER_SUBJECT:
    data_registry[f"Zerbe2026_fmri_persubject_full_{subject}"] = BUCKET.assembly(
        f"LAION_fMRI_persubject_{subject}_Assembly",
        sha1=sha1,
        version_id=version_id,
        stimuli="Zerbe2026_fmri_stim_full",
        merge_stimulus_set_meta=False,
        prepare=partial(without_trials, subject=subject),
    )
