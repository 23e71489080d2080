"""Read the images of Zerbe et al. (2026) from a folder, and tidy the recordings."""

import os
from pathlib import Path

import numpy as np

from brainscore_core.errors import DownloadError, MissingStimulusError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly, walk_coords
from brainscore_core.supported_data_standards.brainio.fetch import S3Object, fetch, get_local_data_path, unzip
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

PATH = "brainscore-storage/brainscore-vision/benchmarks/LAION_fMRI"
FOLDER_VARIABLE = "LAION_FMRI_STIMULI_DIR"
FOLDER = Path("~/laion-fmri/stimuli/images_extracted")
TABLE = "manifest.csv"

# Trial numbers would separate repetitions of a stimulus.
_OF_SINGLE_TRIALS = {"session", "run", "beta_index", "presentation_level_0"}


def without_trials(assembly: NeuroidAssembly, subject: str) -> NeuroidAssembly:
    """Remove trial numbers except ``repetition``; add ``subject_id_pres``."""
    coords = {
        name: (dims, values) for name, dims, values in walk_coords(assembly) if name not in {*_OF_SINGLE_TRIALS, *dims}
    }
    coords["subject_id_pres"] = ("presentation", np.full(assembly.sizes["presentation"], subject))
    return NeuroidAssembly(assembly.values, coords=coords, dims=assembly.dims, attrs=dict(assembly.attrs))


def load_stimuli(identifier: str) -> StimulusSet:
    """Load all images of the experiment from the folder that holds them and `TABLE`.

    The folder is ``LAION_FMRI_STIMULI_DIR`` if set, otherwise `FOLDER`, otherwise the private copy in S3 for those with
    access; `MissingStimulusError` explains how to get them.
    """
    folder = _folder()
    stimuli = StimulusSet.from_files(folder / TABLE, folder)
    stimuli.identifier = identifier
    return stimuli


def _folder() -> Path:
    named = os.environ.get(FOLDER_VARIABLE)
    places = [Path(named).expanduser()] if named else []
    places.append(FOLDER.expanduser())
    for place in places:
        if (place / TABLE).is_file():
            return place
    archive = get_local_data_path() / "laion_fmri" / "images_extracted.zip"
    try:
        return unzip(fetch(S3Object.below(PATH, "stimuli/images_extracted.zip"), archive)) / "images_extracted"
    except DownloadError as error:
        raise MissingStimulusError(
            f"The images of LAION-fMRI are not on this machine: {' or '.join(map(str, places))} has no {TABLE}, and "
            "the private copy is not available. Sign the data use agreement at "
            "https://laion-fmri.hebartlab.com/request, download them with `laion-fmri download-stimuli`, extract the "
            f"pictures and the table, and set {FOLDER_VARIABLE} to the folder."
        ) from error
