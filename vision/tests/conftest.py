import numpy as np
import pytest
from PIL import Image

from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet


@pytest.fixture
def write_stimuli(tmp_path):
    """Write pictures, arrays of (height, width, 3) by their stimulus_id, and list them in a stimulus set."""

    def write(pictures, identifier="pictures", folder=tmp_path, **columns):
        stimuli = StimulusSet({"stimulus_id": list(pictures), **columns})
        stimuli.stimulus_paths = {stimulus_id: folder / f"{stimulus_id}.png" for stimulus_id in pictures}
        stimuli.identifier = identifier
        for stimulus_id, pixels in pictures.items():
            Image.fromarray(np.asarray(pixels, dtype=np.uint8)).save(stimuli.stimulus_paths[stimulus_id])
        return stimuli

    return write
