"""Derive the generators of random draws from one seed and the name of what is drawn.

Every new draw in this project comes from ``generator(seed, *path)``: the path says what is drawn, such as
``generator(0, "interval", "presentation")``. Two draws with different paths are independent although they share the
seed, and adding a draw changes no other. Where the published system fixes a generator (the splits of a
cross-validation: ``random_state=1``), that one stays.

====================================================  ==============================================================
seed                                                  what it does
====================================================  ==============================================================
``Split.Defaults.random_state = 1``                   which stimuli train and test, which repetitions make a half
``seed=0`` of `SplitHalfPredictorConsistency`         which repetitions of a stimulus make its half, as published
``seed=0`` of `bootstrap_error`, `attach_error`       which entries are resampled, as published
``seed=0`` of `half_sample_interval`                  which stimuli and neuroids are in a half: tree
``random_state`` of `LeaveOneSubjectOut`              which stimuli and subjects its interval resamples: tree
``seed=0`` of `make_atlas`, `layer_atlas`             which stimuli make a fold, which are drawn: tree
====================================================  ==============================================================
"""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["generator", "seed_sequence"]


def seed_sequence(seed: int, *path: str | int) -> np.random.SeedSequence:
    """Return the node of the seed tree that a path leads to.

    Parameters
    ----------
    seed : int
        The root, not negative (else `ValueError`).
    *path : str or int
        What the draws are for. A name counts by its text, on every machine and in every session alike.

    Returns
    -------
    numpy.random.SeedSequence
        With the seed as entropy and the path, hashed, as spawn key.

    Examples
    --------
    >>> int(seed_sequence(0, "interval", "neuroid").generate_state(1)[0])
    780554650
    """
    if seed < 0:
        raise ValueError(f"A seed is a whole number from 0; got {seed}.")
    return np.random.SeedSequence(int(seed), spawn_key=tuple(_key(step) for step in path))


def generator(seed: int, *path: str | int) -> np.random.Generator:
    """Return a generator for one purpose; parameters as for `seed_sequence`.

    Examples
    --------
    >>> generator(0, "splits").integers(100) == generator(0, "splits").integers(100)
    np.True_
    >>> generator(0, "splits").random() == generator(0, "halves").random()
    False
    """
    return np.random.default_rng(seed_sequence(seed, *path))


def _key(step: str | int) -> int:
    # The kind is part of the key: 1 and "1" are different steps.
    text = f"{type(step).__name__}:{step}" if isinstance(step, str) else f"int:{int(step)}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
