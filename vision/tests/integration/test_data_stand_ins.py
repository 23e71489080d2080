import numpy as np
import pytest

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import load_dataset
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings

# Identifier, stimuli, regions, missing values; single repetitions with one time bin, from arrays or single neurons.
RECORDINGS = [
    ("BashivanKar2019.naturalistic", "BashivanKar2019.naturalistic", ["V4"], True),
    ("BashivanKar2019.synthetic", "BashivanKar2019.synthetic", ["V4"], True),
    ("David2004", "David2004", ["V1"], False),
    ("Kar2018hvm", "hvm", ["IT"], False),
    ("Kar2018cocogray", "Kar2018cocogray", ["IT"], False),
    ("Kuzovkin2018", "Kuzovkin2018", ["V1", "IT"], False),
    ("Rust2012.single", "Rust2012", ["V4", "IT"], False),
    ("Rust2012.array", "Rust2012", ["V4", "IT"], False),
    ("Seibert2019", "hvm", ["V4", "IT"], True),
]


@pytest.mark.slow
@pytest.mark.parametrize(("identifier", "shown", "regions", "missing"), RECORDINGS)
def test_recordings_load_with_their_stimuli(stand_ins, identifier, shown, regions, missing):
    stimuli = draw_stimuli(shown, 8, size_px=16, columns={"object_name": ["cat", "car"] * 4})
    measured, _ = recordings(
        stimuli,
        n_neuroids=6,
        n_repetitions=2,
        time_bins=[(70, 170)],
        dims=("neuroid", "presentation", "time_bin"),
        neuroid_coords={"region": (regions * 6)[:6], "animal": ["a", "b", "c"] * 2},
        cls=NeuronRecordingAssembly,
    )
    if missing:
        measured = measured.copy()
        measured.values[0, :3] = np.nan
    stand_ins.data(identifier, measured, nans_expected=missing)
    loaded = load_dataset(identifier)
    assert isinstance(loaded, NeuronRecordingAssembly)
    assert dict(loaded.sizes) == {"neuroid": 6, "presentation": 16, "time_bin": 1}
    assert loaded.attrs["stimulus_set"].identifier == shown
    assert loaded["object_name"].values.tolist() == ["cat", "car"] * 8
    assert set(loaded["region"].values) == set(regions)
    assert int(np.isnan(loaded.values).sum()) == (3 if missing else 0)
    np.testing.assert_array_equal(loaded.values, measured.values)
