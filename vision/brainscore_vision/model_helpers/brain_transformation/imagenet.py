"""List the classes of ImageNet (ILSVRC 2012) and of everyday categories."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files

__all__ = ["N_CLASSES", "categories", "class_names", "synsets"]

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
def categories() -> Mapping[str, tuple[int, ...]]:
    """Return the indices, from 0, of the ImageNet classes of each category.

    The 16 categories of 16-class-ImageNet (airplane, bear, bicycle, bird, boat, bottle, car, cat, chair, clock, dog,
    elephant, keyboard, knife, oven, truck) are from [1]_; the data file names the sources of the others.

    References
    ----------
    .. [1] Geirhos et al. (2018), NeurIPS 31,
    https://doi.org/10.48550/arXiv.1808.08750

    Examples
    --------
    >>> categories()['bear'], categories()['keyboard']
    ((294, 295, 296, 297), (508, 878))
    """
    text = files(__package__).joinpath("imagenet_categories.json").read_text(encoding="utf-8")
    indices_of = {
        label: tuple(_indices(ranges)) for labels in json.loads(text).values() for label, ranges in labels.items()
    }
    prefix = _REST.partition("_")[0]
    named = {index for label, indices in indices_of.items() if label.startswith(prefix) for index in indices}
    indices_of[_REST] = tuple(index for index in range(N_CLASSES) if index not in named)
    return indices_of


def _indices(ranges: str) -> Iterable[int]:
    for part in ranges.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
