"""Properties of single units equal the published system's, which `fixtures/peer_properties.py` recorded."""

import importlib
import json
from pathlib import Path

import pytest

from brainscore_vision import load_benchmark

FIXTURES = Path(__file__).parent / "fixtures"
OURS = {
    "cavanaugh2002": ("size", "size_tuning"),
    "ringach2002": ("orientation", "orientation_tuning"),
    "devalois1982a": ("orientation", "preferred_orientation"),
    "devalois1982b": ("frequency", "peak_frequency"),
    "schiller1976": ("frequency", "frequency_selectivity"),
    "freemanziemba2013": ("texture", "published_texture_tuning"),
}
ANSWERS = json.loads((FIXTURES / "peer_properties.json").read_text())


@pytest.mark.parametrize("published", OURS)
def test_properties_equal_the_published_ones(published, monkeypatch):
    monkeypatch.syspath_prepend(FIXTURES)
    peer_properties = importlib.import_module("peer_properties")
    load_benchmark("Marques2020_DeValois1982-pref_or")  # imports the plugin
    properties = importlib.import_module("brainscore_vision.benchmarks.marques2020.properties")
    experiment, function = OURS[published]
    shown, blank = peer_properties.responses(experiment)
    found = peer_properties.means(getattr(properties, function)(responses=shown, baseline=blank))
    assert set(found) == set(ANSWERS[published])
    for name, (mean, number) in ANSWERS[published].items():
        assert found[name] == [pytest.approx(mean, rel=1e-9), number], name
