"""Declare to pytest the markers that tests of plugins use.

Registered under the entry point ``pytest11``, so that pytest knows the markers wherever the library is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["MARKERS", "pytest_configure"]

MARKERS = {
    "private_access": "needs credentials for measurements or weights that are not public",
    "slow": "takes more than a minute, or downloads more than 100 MB",
    "memory_intense": "needs more than 3 GB of memory",
    "network": "needs the network, for instance to download public measurements or weights",
    "gpu": "needs a GPU",
    "travis_slow": "name of 'slow' in plugins written for the published system",
    "requires_gpu": "name of 'gpu' in plugins written for the published system",
}
"""What each marker says about a test."""


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, so that ``--strict-markers`` accepts them and ``pytest --markers`` explains them."""
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
