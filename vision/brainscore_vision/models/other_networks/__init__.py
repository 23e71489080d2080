"""Register networks of other architectures; each is a row of ``models.csv``."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.tables import models_of

model_registry.update(models_of(__file__))
