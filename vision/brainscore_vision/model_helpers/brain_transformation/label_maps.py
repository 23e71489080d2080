"""Map labels to the outputs of a classifier, by the classes of ImageNet."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from brainscore_core.errors import ConfigurationError, UnknownIdentifierError, nearest

__all__ = ["N_CLASSES", "GivenMap", "LabelMap", "categories", "class_names", "label_map_of", "synsets"]

# -- classes of ImageNet -----------------------------------------------------------------------------------------------
# List the classes of ImageNet (ILSVRC 2012) and of everyday categories.

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
    .. [1] Geirhos et al. (2018), NeurIPS 31, https://doi.org/10.48550/arXiv.1808.08750

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


# -- maps of labels ----------------------------------------------------------------------------------------------------

GivenMap = str | Sequence[str] | Mapping[str, Sequence[int]]

_TITLES = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}


@dataclass(frozen=True)
class LabelMap:
    """The labels of the outputs of a classifier; see `label_map_of`.

    Attributes
    ----------
    n_outputs
        None: any number that includes all listed ones.
    outputs
        Outputs, from 0, of each label; keys in lower case, without spaces and underscores.
    imagenet
        Outputs that are classes of ImageNet (ILSVRC 2012), with their WordNet ids.
    """

    n_outputs: int | None
    outputs: Mapping[str, tuple[int, ...]]
    imagenet: tuple[tuple[int, str], ...]
    what: str

    def fits(self, n_units: int) -> bool:
        """Tell whether a readout with `n_units` units can be this classifier."""
        if self.n_outputs is not None:
            return n_units == self.n_outputs
        return n_units > max(index for indices in self.outputs.values() for index in indices)

    def outputs_of(self, labels: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the outputs of each label; `UnknownIdentifierError` names all unknown labels.

        Case, spaces and underscores are ignored.
        """
        unknown = [str(label) for label in labels if _key(label) not in self.outputs]
        if unknown:
            hints = {label: nearest(_key(label), self.outputs, most=2) for label in unknown}
            similar = "; ".join(
                f"{label!r}: {' or '.join(map(repr, names))}" for label, names in hints.items() if names
            )
            raise UnknownIdentifierError(
                f"No classes of {self.what} are known for the labels {unknown} ({len(self.outputs)} labels known)."
                + (f" Did you mean {similar}?" if similar else "")
                + f" Known are, for example, {', '.join(list(self.outputs)[:16])}."
            )
        return [self.outputs[_key(label)] for label in labels]


def label_map_of(given: GivenMap | None) -> LabelMap:
    """Return the label map that a model declares.

    For ImageNet, labels are categories (`imagenet.categories`), names and WordNet ids of the classes; other
    classifiers with WordNet ids get the categories that have classes among them.

    Parameters
    ----------
    given : str, sequence of str, mapping of str to sequence of int, or None
        None or ``'imagenet'``: the 1000 classes of ImageNet. ``'cifar10'``, ``'cifar100'``: those of CIFAR. Sequence:
        the name or WordNet id of each output, in order, such as the 21,841 ids of ImageNet-21k; a repeated name has
        several outputs. Mapping: the outputs of each label, from 0.

    Examples
    --------
    >>> label_map_of('cifar10').outputs_of(['frog', 'Ship'])
    [(6,), (8,)]
    """
    if given is None or given == "imagenet":
        return _imagenet()
    if isinstance(given, str):
        if given not in _TITLES:
            raise ConfigurationError(
                f"Unknown label map {given!r}; expected 'imagenet', {', '.join(map(repr, _TITLES))}, the list of "
                "the names of all outputs, or a dict of labels and their outputs."
            )
        text = files(__package__).joinpath("cifar_classes.txt").read_text(encoding="utf-8")  # Krizhevsky 2009
        (classes,) = (names for name, *names in map(str.split, text.splitlines()) if name == given)
        return _of_names(classes, _TITLES[given])
    if isinstance(given, Mapping):
        return _of_outputs(given)
    return _of_names(list(given), f"the {len(given)} that the model declares")


@lru_cache(maxsize=1)
def _imagenet() -> LabelMap:
    output_of_id = {synset: index for index, synset in enumerate(synsets())}
    names = _grouped((_key(name), index) for index, name in enumerate(class_names()))
    outputs = _with_categories({**names, **{synset: (index,) for synset, index in output_of_id.items()}}, output_of_id)
    return LabelMap(N_CLASSES, outputs, tuple(enumerate(synsets())), "ImageNet")


def _of_names(names: Sequence[str], what: str) -> LabelMap:
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ConfigurationError(
            f"The label map {names!r} is not a list of names, one for each output of the classifier."
        )
    ids = set(synsets())
    imagenet = tuple((index, name) for index, name in enumerate(names) if name in ids)
    outputs = _grouped((_key(name), index) for index, name in enumerate(names))
    return LabelMap(len(names), _with_categories(outputs, {name: index for index, name in imagenet}), imagenet, what)


def _of_outputs(given: Mapping[str, Sequence[int]]) -> LabelMap:
    outputs = {_key(label): tuple(indices) for label, indices in given.items()}
    wrong = {
        label: indices
        for label, indices in outputs.items()
        if not indices or not all(isinstance(index, int) and index >= 0 for index in indices)
    }
    if wrong or not outputs:
        raise ConfigurationError(
            f"The label map gives the outputs {wrong or outputs}; expected at least one output, a whole number from 0, "
            "for each label, such as {'cat': [0, 4], 'dog': [1]}."
        )
    return LabelMap(None, outputs, (), f"the {len(outputs)} that the model declares")


def _with_categories(
    outputs: Mapping[str, tuple[int, ...]], output_of_id: Mapping[str, int]
) -> dict[str, tuple[int, ...]]:
    """Add, in front, ImageNet's categories with classes among the outputs."""
    ids = synsets()
    outputs_of_category = {}
    for category, classes in categories().items():
        indices = [output_of_id[ids[index]] for index in classes if ids[index] in output_of_id]
        if indices:
            outputs_of_category[_key(category)] = tuple(indices)
    return {**outputs_of_category, **{key: value for key, value in outputs.items() if key not in outputs_of_category}}


def _grouped(pairs: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    grouped: dict[str, list[int]] = {}
    for name, index in pairs:
        grouped.setdefault(name, []).append(index)
    return {name: tuple(indices) for name, indices in grouped.items()}


def _key(label: object) -> str:
    return str(label).lower().replace(" ", "").replace("_", "")
