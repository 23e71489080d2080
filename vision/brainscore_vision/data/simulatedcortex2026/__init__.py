"""Register SIMULATED recordings, choices and cells: responses of model populations to image patches and gratings."""

from brainscore_vision import data_registry, stimulus_set_registry

from .cells import load_gratings, load_preferences, load_truth
from .choices import load_choices, load_fitting_stimuli
from .dataset import load_assembly, load_stimuli

stimulus_set_registry["SimulatedCortex2026"] = load_stimuli
# Spike counts, dims (presentation = stimulus x repetition, neuroid, time_bin), regions V1, V2, V4 and IT.
data_registry["SimulatedCortex2026"] = load_assembly
# Expected counts of the spikes.
data_registry["SimulatedCortex2026.truth"] = lambda: load_assembly(noise_free=True)
# Spikes of IT in five time bins, and their expected counts.
data_registry["SimulatedCortex2026.temporal"] = lambda: load_assembly(temporal=True)
data_registry["SimulatedCortex2026.temporal.truth"] = lambda: load_assembly(temporal=True, noise_free=True)

# People's choices of a patch's photograph, and their probabilities; stimuli for models to learn from.
stimulus_set_registry["SimulatedCortex2026.fitting"] = load_fitting_stimuli
data_registry["SimulatedCortex2026.choices"] = load_choices
data_registry["SimulatedCortex2026.choices.truth"] = lambda: load_choices(noise_free=True)

# Gratings, preferred orientations of V1 cells, and responses of other such cells to all gratings.
stimulus_set_registry["SimulatedCortex2026.blank"] = lambda: load_gratings("blank")
stimulus_set_registry["SimulatedCortex2026.receptive_field"] = lambda: load_gratings("receptive_field")
stimulus_set_registry["SimulatedCortex2026.orientation"] = lambda: load_gratings("orientation")
data_registry["SimulatedCortex2026.preferences"] = load_preferences
data_registry["SimulatedCortex2026.preferences.truth"] = load_truth
