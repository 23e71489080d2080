"""A still picture shown as a video gives the same numbers as the published system."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

SPEC = importlib.util.spec_from_file_location("peer_video", Path(__file__).parent / "fixtures/peer_video.py")
peer_video = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(peer_video)
ANSWERS = json.loads(peer_video.ANSWERS.read_text())


@pytest.mark.parametrize("case", peer_video.CASES)
def test_activations_match_the_published_system(case, tmp_path):
    answer = peer_video.answer(case, tmp_path)
    for layer, ours, published in zip(peer_video.LAYERS, answer, ANSWERS[case], strict=True):
        # The published blocks continue beyond the end of the picture; bins up to its end are the same.
        expected = np.asarray(published)[:, : ours.shape[1]]
        assert expected.shape == ours.shape, layer
        np.testing.assert_allclose(ours, expected, atol=1e-3 if ours.dtype == np.float16 else 1.1e-3, err_msg=layer)
    assert len(ANSWERS) == len(peer_video.CASES)
