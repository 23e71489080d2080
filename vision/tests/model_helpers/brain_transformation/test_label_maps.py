import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.errors import ConfigurationError, UnknownIdentifierError
from brainscore_vision.model_helpers.brain_transformation import label_maps
from brainscore_vision.model_helpers.brain_transformation.label_maps import (
    categories,
    class_names,
    label_map_of,
    synsets,
)

NAMES = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=12)


@pytest.mark.parametrize("given_map", [None, "imagenet", synsets()])
def test_imagenet_map_has_categories_names_and_ids(given_map):
    label_map = label_map_of(given_map)
    assert label_map.outputs_of(list(categories())) == list(categories().values())
    assert label_map.outputs_of(["n07920052"]) == [(967,)]
    assert label_map.imagenet == tuple(enumerate(synsets()))
    assert label_map.fits(1000)
    assert not label_map.fits(1001)


def test_imagenet_class_names_select_their_outputs():
    label_map = label_map_of(None)
    assert label_map.outputs_of(["Espresso", "sea cucumber"]) == [(967,), (class_names().index("sea cucumber"),)]
    # A category takes precedence over a class of the same name; a name shared by two classes means both.
    assert label_map.outputs_of(["bicycle"]) == [categories()["bicycle"]]
    assert label_map.outputs_of(["cardigan"]) == [(264, 474)]


def test_cifar_maps_have_the_published_order():
    small, large = label_map_of("cifar10"), label_map_of("cifar100")
    assert small.outputs_of(["airplane", "truck"]) == [(0,), (9,)]
    # The order of the publisher's files of names (batches.meta, meta); fine labels are in alphabetical order.
    assert large.outputs_of(["apple", "Maple Tree", "worm"]) == [(0,), (47,), (99,)]
    assert (small.n_outputs, large.n_outputs) == (10, 100)
    with pytest.raises(UnknownIdentifierError, match=r"CIFAR-10 are known for the labels \['shipp', 'bear'\]"):
        small.outputs_of(["shipp", "truck", "bear"])
    with pytest.raises(UnknownIdentifierError, match="'shipp': 'ship'"):
        small.outputs_of(["shipp"])


def test_larger_head_with_wordnet_ids_has_the_categories():
    # An animal and a domestic cat, which are not classes of ImageNet-1k, then the 1000 classes in reverse.
    label_map = label_map_of(["n00015388", "n02121808", *reversed(synsets())])
    assert label_map.n_outputs == 1002
    assert sorted(label_map.outputs_of(["cat"])[0]) == sorted(1001 - index for index in categories()["cat"])
    assert label_map.outputs_of(["n02121808"]) == [(1,)]
    assert dict(label_map.imagenet)[2] == synsets()[-1]
    assert 0 not in dict(label_map.imagenet)


def test_head_with_some_imagenet_classes():
    label_map = label_map_of(["n02123045", "n02084071"])  # a tabby, and a dog that is not a class of ImageNet-1k
    assert label_map.imagenet == ((0, "n02123045"),)
    assert label_map.outputs_of(["cat"]) == [(0,)]
    with pytest.raises(UnknownIdentifierError):
        label_map.outputs_of(["airplane"])


@given(NAMES)
def test_repeated_names_have_several_outputs(names):
    label_map = label_map_of(names)
    for name in set(names):
        assert label_map.outputs_of([name]) == [tuple(index for index, other in enumerate(names) if other == name)]
    assert label_map.fits(len(names))
    assert label_map.imagenet == ()


def test_dict_gives_the_outputs_of_labels():
    label_map = label_map_of({"Cat": [0, 4], "dog": (1,)})
    assert label_map.outputs_of(["dog", "cat"]) == [(1,), (0, 4)]
    assert label_map.fits(5)
    assert label_map.fits(1000)
    assert not label_map.fits(4)


@pytest.mark.parametrize(
    "wrong", ["imagenette", [], ["cat", 3], ["cat", ""], {}, {"cat": []}, {"cat": [-1]}, {"cat": ["a"]}, {"cat": [1.5]}]
)
def test_rejects_invalid_label_maps(wrong):
    with pytest.raises(ConfigurationError, match=r"[Ll]abel map"):
        label_map_of(wrong)


# -- classes of ImageNet -----------------------------------------------------------------------------------------------
# Facts about ImageNet, checked against independent sources.

SIXTEEN = [
    "airplane", "bear", "bicycle", "bird", "boat", "bottle", "car", "cat",
    "chair", "clock", "dog", "elephant", "keyboard", "knife", "oven", "truck",
]  # fmt: skip


def test_1000_classes_are_sorted_by_wordnet_id():
    assert len(set(label_maps.synsets())) == 1000
    assert label_maps.synsets() == sorted(label_maps.synsets())  # the order in which networks are trained
    assert all(re.fullmatch(r"n\d{8}", synset) for synset in label_maps.synsets())
    assert len(label_maps.class_names()) == 1000


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
    assert (label_maps.synsets()[index], label_maps.class_names()[index]) == (synset, name)


def test_16_categories_have_the_published_members():
    # Geirhos et al. (2018) define them by these WordNet ids; dogs and birds are counted.
    classes, categories = label_maps.class_names(), label_maps.categories()
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
    rest = set(label_maps.categories()["kato2026_others"])
    named = {
        index
        for label, indices in label_maps.categories().items()
        if label.startswith("kato2026_") and label != "kato2026_others"
        for index in indices
    }
    assert rest | named == set(range(1000))
    assert not rest & named
