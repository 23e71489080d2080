"""Networks in plain PyTorch whose parameters have the names and shapes of published checkpoints.

`brainscore_vision.model_helpers.weights.load_weights` builds them without memory and loads published weights.
"""
