"""Wrap PyTorch modules."""
