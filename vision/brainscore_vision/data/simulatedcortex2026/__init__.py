"""Register SIMULATED recordings: image patches, and spike counts of two model populations that look at them."""

from brainscore_vision import data_registry, stimulus_set_registry

from .dataset import load_assembly, load_stimuli

stimulus_set_registry["SimulatedCortex2026"] = load_stimuli
# Spike counts, dims (presentation = stimulus x repetition, neuroid, time_bin), regions V1 and IT.
data_registry["SimulatedCortex2026"] = load_assembly
# The expected counts that the spikes were drawn from, dims (presentation = stimulus, neuroid, time_bin).
data_registry["SimulatedCortex2026.truth"] = lambda: load_assembly(noise_free=True)
