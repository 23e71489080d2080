"""Different data have different digests; equal data have the same digest."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from brainscore_core.identity.data import UNKNOWN, data_digest
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet


def assembly(**changes):
    given = {"values": np.arange(6.0).reshape(3, 2), "ids": ["a", "b", "c"], "region": ["V4", "IT"], **changes}
    return NeuroidAssembly(
        given["values"],
        coords={
            "stimulus_id": ("presentation", given["ids"]),
            "repetition": ("presentation", [0, 1, 0]),
            "neuroid_id": ("neuroid", ["x", "y"]),
            "region": ("neuroid", given["region"]),
        },
        dims=["presentation", "neuroid"],
    )


@pytest.mark.parametrize(
    "other",
    [
        assembly(values=np.arange(6.0).reshape(3, 2) + np.eye(3, 2) * 1e-9),
        assembly(values=np.arange(6, dtype=np.float32).reshape(3, 2)),
        assembly(ids=["a", "c", "b"]),
        assembly(region=["IT", "V4"]),
        assembly().T,
        assembly().isel(neuroid=[0]),
        xr.DataArray(np.arange(6.0).reshape(3, 2)),
    ],
    ids=["values", "type", "order", "labels", "dims", "size", "no coordinates"],
)
def test_different_assemblies_have_different_digests(other):
    assert data_digest(other) != data_digest(assembly())


def test_equal_assemblies_have_the_same_digest():
    first = assembly()
    assert data_digest(assembly()) == data_digest(first)
    same = assembly(ids=np.array(["a", "b", "c"], dtype=object))
    same.attrs["said"] = "attributes do not count"
    assert data_digest(same) == data_digest(first)
    assert len(data_digest(first)) == 64


@pytest.fixture
def stimuli(tmp_path):
    def make(pictures=("one", "two"), **columns):
        made = StimulusSet({"stimulus_id": ["a", "b"], **columns})
        made.identifier = "set"
        made.stimulus_paths = {}
        for stimulus_id, content in zip(("a", "b"), pictures, strict=True):
            path = tmp_path / f"{stimulus_id}-{content}.png"
            path.write_text(content)
            made.stimulus_paths[stimulus_id] = path
        return made

    return make


def test_digest_of_a_stimulus_set_covers_columns_and_pictures(stimuli):
    first = data_digest(stimuli(label=["cat", None]))
    assert data_digest(stimuli(label=pd.array(["cat", None], dtype="object"))) == first
    different = [
        stimuli(),
        stimuli(label=["cat", "dog"]),
        stimuli(("one", "three"), label=["cat", None]),
        stimuli(("two", "one"), label=["cat", None]),
        stimuli(name=["cat", None]),
    ]
    assert len({first, *map(data_digest, different)}) == 6


def test_digest_changes_if_a_file_is_edited_in_place(stimuli):
    made = stimuli()
    first = data_digest(made)
    made.stimulus_paths["a"].write_text("longer than before")
    assert data_digest(made) != first


def test_unsupported_or_missing_data_have_no_digest(stimuli):
    assert data_digest(object()) == UNKNOWN
    made = stimuli()
    made.stimulus_paths["a"].unlink()
    assert data_digest(made) == UNKNOWN


def test_digest_separates_texts_with_the_same_concatenation():
    assert data_digest(np.array(["ab", "c"])) != data_digest(np.array(["a", "bc"]))
    tables = [pd.DataFrame({"x": list(pair)}) for pair in (("ab", "c"), ("a", "bc"))]
    assert data_digest(tables[0]) != data_digest(tables[1])
