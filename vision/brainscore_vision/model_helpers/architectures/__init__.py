"""Networks in plain PyTorch whose parameters have the names and shapes of the published checkpoints.

They are built without weights: on the device ``meta`` that takes no memory, and
`brainscore_vision.model_helpers.weights.load_weights` puts the published ones in.
"""
