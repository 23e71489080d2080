import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.errors import AssemblyError
from brainscore_vision.model_helpers.activations.temporal import alignment


def test_frame_bins():
    assert alignment.frame_bins(250, 10) == [(0, 100), (100, 200), (200, 250)]
    assert alignment.frame_bins(50, 10) == [(0, 50)]
    assert len(alignment.frame_bins(1000, 30)) == 30  # 1000 / 30 is not a binary fraction
    assert len(alignment.frame_bins(1000, 7.5)) == 8


def test_alignment_methods_match_hand_computed_bins():
    assert alignment.evenly_spaced(4, 1000, 10) == [(0, 250), (250, 500), (500, 750), (750, 1000)]
    assert alignment.ignore_time(4, 1000, 10) == [(0, 1000)]
    assert alignment.per_frame_aligned(3, 250, 10) == [(0, 100), (100, 200), (200, 300)]
    # 1000 ms in 3 steps at 10 frames per second: 3.3 frames each, rounded to 3; the last step ends with the video.
    assert alignment.estimate_layer_fps(3, 1000, 10) == [(0, 300), (300, 600), (600, 1000)]
    assert alignment.estimate_layer_fps(20, 1000, 10)[-1] == (1900, 2000)


def test_per_frame_alignment_rejects_too_few_steps():
    with pytest.raises(AssemblyError, match="2 steps for 10 frames"):
        alignment.per_frame_aligned(2, 1000, 10)


@given(
    st.sampled_from(sorted(alignment.METHODS)),
    st.integers(1, 40),
    st.floats(50, 3000),
    st.floats(1, 60).filter(lambda fps: fps > 0),
)
def test_bins_are_contiguous_and_cover_the_video(method, n_steps, duration, fps):
    if method == "per_frame_aligned":
        n_steps = max(n_steps, int(duration * fps / 1000) + 1)
    for bins in (alignment.METHODS[method](n_steps, duration, fps), alignment.frame_bins(duration, fps)):
        assert bins[0][0] == 0
        assert bins[-1][1] >= duration - 1e-6
        assert all(start < end for start, end in bins)
        assert all(first[1] == pytest.approx(second[0]) for first, second in itertools.pairwise(bins))
