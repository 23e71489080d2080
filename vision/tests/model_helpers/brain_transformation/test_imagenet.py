"""Facts about ImageNet, checked against independent sources."""

import re

import pytest

from brainscore_vision.model_helpers.brain_transformation import imagenet

SIXTEEN = [
    "airplane", "bear", "bicycle", "bird", "boat", "bottle", "car", "cat",
    "chair", "clock", "dog", "elephant", "keyboard", "knife", "oven", "truck",
]  # fmt: skip


def test_1000_classes_are_sorted_by_wordnet_id():
    assert len(set(imagenet.synsets())) == 1000
    assert imagenet.synsets() == sorted(imagenet.synsets())  # the order in which networks are trained
    assert all(re.fullmatch(r"n\d{8}", synset) for synset in imagenet.synsets())
    assert len(imagenet.class_names()) == 1000


@pytest.mark.parametrize(
    ("index", "synset", "name"),
    [
        (0, "n01440764", "tench"),
        (294, "n02132136", "brown bear"),
        (386, "n02504458", "African elephant"),
        (404, "n02690373", "airliner"),
        (967, "n07920052", "espresso"),
        (999, "n15075141", "toilet tissue"),
    ],
)
def test_classes_have_the_known_ids_and_names(index, synset, name):
    assert (imagenet.synsets()[index], imagenet.class_names()[index]) == (synset, name)


def test_16_categories_have_the_published_members():
    # Geirhos et al. (2018) define them by these WordNet ids; dogs and birds are counted.
    classes, categories = imagenet.class_names(), imagenet.categories()
    names = [[classes[index] for index in categories[label]] for label in SIXTEEN]
    members = dict(zip(SIXTEEN, names, strict=True))
    assert members["bear"] == ["brown bear", "American black bear", "ice bear", "sloth bear"]
    assert members["elephant"] == ["Indian elephant", "African elephant"]
    assert members["keyboard"] == ["computer keyboard", "typewriter keyboard"]
    assert members["oven"] == ["rotisserie"]
    assert members["knife"] == ["cleaver"]
    assert members["clock"] == ["analog clock", "digital clock", "wall clock"]
    assert len(members["dog"]) == 109
    assert len(members["bird"]) == 49
    flat = [name for part in names for name in part]
    assert len(set(flat)) == len(flat)


def test_other_classes_complete_the_experiment():
    rest = set(imagenet.categories()["kato2026_others"])
    named = {
        index
        for label, indices in imagenet.categories().items()
        if label.startswith("kato2026_") and label != "kato2026_others"
        for index in indices
    }
    assert rest | named == set(range(1000))
    assert not rest & named
