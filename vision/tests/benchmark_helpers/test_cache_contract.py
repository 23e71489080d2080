import pytest

from brainscore_vision import load_stimulus_set, stimulus_set_registry
from brainscore_vision.benchmark_helpers import cache_contract
from brainscore_vision.benchmark_helpers.screen import place_on_screen

REGISTERED = "SimulatedCortex2026"


@pytest.mark.parametrize("identifier", [REGISTERED, f"{REGISTERED}--rdm-sub-01", f"{REGISTERED}--a--b"])
def test_registered_sets_and_their_derivatives_are_cacheable(identifier):
    assert cache_contract.stimulus_identifier_is_cacheable(identifier)
    cache_contract.assert_stimulus_identifier_is_cacheable(identifier)


@pytest.mark.usefixtures("shared_caches")
def test_placed_stimuli_are_cacheable():
    placed = place_on_screen(load_stimulus_set(REGISTERED), target_visual_degrees=8, source_visual_degrees=4)
    assert placed.identifier != REGISTERED
    cache_contract.assert_stimulus_identifier_is_cacheable(placed.identifier)


@pytest.mark.parametrize("identifier", ["", "NotRegistered--marker", f"{REGISTERED}_sub-01", f"a--{REGISTERED}"])
def test_unregistered_names_are_not_cacheable(identifier):
    assert not cache_contract.stimulus_identifier_is_cacheable(identifier)
    with pytest.raises(AssertionError, match="no data plugin registers"):
        cache_contract.assert_stimulus_identifier_is_cacheable(identifier)


def test_error_suggests_the_nearest_name():
    with pytest.raises(AssertionError, match=f"Did you mean '{REGISTERED}'"):
        cache_contract.assert_stimulus_identifier_is_cacheable(REGISTERED[:-1])


def test_sets_registered_at_run_time_are_cacheable(monkeypatch):
    monkeypatch.setitem(stimulus_set_registry, "made-here", lambda: None)
    cache_contract.assert_stimulus_identifier_is_cacheable("made-here--half")
