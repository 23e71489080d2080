"""Wrap PyTorch modules: inputs on the device, outputs of layers, precision, no caching."""
