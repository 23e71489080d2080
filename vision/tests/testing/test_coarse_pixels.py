import numpy as np
from PIL import Image

from brainscore_vision.testing.coarse_pixels import coarse_pixels
from brainscore_vision.testing.stand_ins import draw_stimuli


def test_activity_of_coarse_pixels_is_the_downsampled_picture(tmp_path):
    stimuli = draw_stimuli("coarse", 3, size_px=24, folder=tmp_path)
    model = coarse_pixels(visual_degrees=5)
    model.start_recording("V4", [(70, 170)])
    recorded = model.look_at(stimuli)
    with Image.open(stimuli.get_stimulus("coarse_0002")) as image:
        expected = np.asarray(image.convert("RGB").resize((12, 12))) / 255
    np.testing.assert_allclose(np.sort(recorded.values[2].ravel()), np.sort(expected.ravel()), atol=1e-6)
    assert model.visual_degrees() == 5
