"""Derive random generators from one seed and the name of the draw.

Draws with different paths are independent. Generators of the published system stay: the splits of `Split`
(``random_state = 1``), the repetitions of `SplitHalfPredictorConsistency`, and the draws of `bootstrap_error`
(``seed=0``).
"""

import hashlib

import numpy as np

__all__ = ["generator", "seed_sequence"]


def seed_sequence(seed: int, *path: str | int) -> np.random.SeedSequence:
    """Return the node of the seed tree at a path of names, which count by their text, the same on every machine.

    The seed, the root, is not negative (otherwise ValueError).

    Examples
    --------
    >>> int(seed_sequence(0, "interval", "neuroid").generate_state(1)[0])
    780554650
    """
    if seed < 0:
        raise ValueError(f"A seed must be a whole number, 0 or larger; got {seed}.")
    return np.random.SeedSequence(int(seed), spawn_key=tuple(_key(step) for step in path))


def generator(seed: int, *path: str | int) -> np.random.Generator:
    """Return a generator for one purpose, the node of `seed_sequence`.

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
