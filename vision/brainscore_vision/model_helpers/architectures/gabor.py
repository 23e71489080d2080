"""Gabor functions, the receptive fields of simple cells."""

import torch

__all__ = ["gabor"]


def gabor(
    size_px: int, *, frequency: float, theta: float, sigma_x: float, sigma_y: float, phase: float = 0
) -> torch.Tensor:
    """Return a Gaussian with a grating in it: exp(-(u^2 / s_x^2 + v^2 / s_y^2) / 2) cos(2 pi f u + phase).

    u = x cos(theta) + y sin(theta) and v = -x sin(theta) + y cos(theta), where x counts columns to the right and y rows
    down from the centre: the grating varies along theta. The tensor is (row, column), float32.

    Parameters
    ----------
    size_px
        Side of the square; odd, to have a centre.
    frequency
        f, in cycles per pixel.
    theta, phase
        In radians.
    sigma_x, sigma_y
        s_x along the grating, s_y along its bars, in pixels.

    References
    ----------
    Jones & Palmer (1987), https://doi.org/10.1152/jn.1987.58.6.1233
    """
    if size_px % 2 == 0:
        raise ValueError(f"size_px is {size_px}; expected an odd number, which puts a pixel at the centre.")
    steps = torch.arange(size_px, dtype=torch.float64, device="cpu") - size_px // 2
    y, x = torch.meshgrid(steps, steps, indexing="ij")
    angle = torch.tensor(theta, dtype=torch.float64, device="cpu")
    along = x * torch.cos(angle) + y * torch.sin(angle)
    across = -x * torch.sin(angle) + y * torch.cos(angle)
    envelope = torch.exp(-((along / sigma_x) ** 2 + (across / sigma_y) ** 2) / 2)
    return (envelope * torch.cos(2 * torch.pi * frequency * along + phase)).float()
