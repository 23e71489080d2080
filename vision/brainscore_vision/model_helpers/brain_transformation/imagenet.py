"""List the classes of ImageNet (ILSVRC 2012) and of everyday categories."""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.resources import files

from brainscore_core.errors import UnknownIdentifierError, nearest

__all__ = ["N_CLASSES", "category_indices", "class_names", "known_categories", "synsets"]

N_CLASSES = 1000
# This experiment has a category for all other classes.
_REST = "kato2026_others"


@lru_cache(maxsize=1)
def _classes() -> tuple[tuple[str, str], ...]:
    text = files(__package__).joinpath("imagenet_classes.txt").read_text(encoding="utf-8")
    lines = (line.partition(" ") for line in text.splitlines())
    return tuple((synset, name) for synset, _, name in lines)


def synsets() -> list[str]:
    """Return the WordNet ids of the classes, in the order of a network's outputs.

    Examples
    --------
    >>> synsets()[967]
    'n07920052'
    """
    return [synset for synset, _ in _classes()]


def class_names() -> list[str]:
    """Return short English names of the classes, in the order of `synsets`."""
    return [name for _, name in _classes()]


@lru_cache(maxsize=1)
def _categories() -> dict[str, tuple[int, ...]]:
    text = files(__package__).joinpath("imagenet_categories.json").read_text(encoding="utf-8")
    categories = {
        label: tuple(_indices(ranges)) for labels in json.loads(text).values() for label, ranges in labels.items()
    }
    prefix = _REST.partition("_")[0]
    named = {index for label, indices in categories.items() if label.startswith(prefix) for index in indices}
    categories[_REST] = tuple(index for index in range(N_CLASSES) if index not in named)
    return categories


def _indices(ranges: str) -> Iterable[int]:
    for part in ranges.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def known_categories() -> list[str]:
    """Return the labels that `category_indices` knows."""
    return list(_categories())


def category_indices(labels: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the indices, from 0, of the ImageNet classes of each category; case and spaces are ignored.

    The 16 categories of 16-class-ImageNet (airplane, bear, bicycle, bird, boat, bottle, car, cat, chair, clock, dog,
    elephant, keyboard, knife, oven, truck) are from [1]_; the data file names the sources of the others.

    Raises
    ------
    UnknownIdentifierError
        Some labels are unknown; names all of them.

    References
    ----------
    .. [1] Geirhos et al. (2018), NeurIPS 31,
    https://doi.org/10.48550/arXiv.1808.08750

    Examples
    --------
    >>> category_indices(['bear', 'Keyboard'])
    [(294, 295, 296, 297), (508, 878)]
    """
    categories = _categories()
    keys = [str(label).lower().replace(" ", "") for label in labels]
    unknown = [str(label) for label, key in zip(labels, keys, strict=True) if key not in categories]
    if unknown:
        hints = {label: nearest(label, categories, most=2) for label in unknown}
        similar = "; ".join(f"{label!r}: {' or '.join(map(repr, names))}" for label, names in hints.items() if names)
        raise UnknownIdentifierError(
            f"No ImageNet classes are known for the labels {unknown} ({len(categories)} labels known)."
            + (f" Did you mean {similar}?" if similar else "")
            + f" Known are, for example, {', '.join(list(categories)[:16])}."
        )
    return [categories[key] for key in keys]
