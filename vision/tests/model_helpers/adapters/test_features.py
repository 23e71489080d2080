import numpy as np
import pandas as pd
import pytest
import xarray as xr

from brainscore_core.errors import AssemblyError, LayerNotFoundError
from brainscore_vision.model_helpers.adapters import as_brain_model

IDS = ["s4", "s3", "s2", "s1", "s0", "unused"]  # in another order than the stimuli, and one more
VALUES = np.random.default_rng(0).standard_normal((6, 7))

TABLES = {
    "frame with an index": pd.DataFrame(VALUES, index=IDS),
    "frame with a column": pd.DataFrame(VALUES).assign(stimulus_id=IDS),
    "data array": xr.DataArray(VALUES, dims=["presentation", "unit"], coords={"stimulus_id": ("presentation", IDS)}),
    "transposed": xr.DataArray(VALUES.T, dims=["unit", "stimulus"], coords={"stimulus_id": ("stimulus", IDS)}),
    "dict": dict(zip(IDS, VALUES, strict=True)),
    "pair": (VALUES, IDS),
    "pair with an array": (VALUES, np.array(IDS)),
}


def record(model, stimuli):
    model.start_recording("IT", time_bins=[(70, 170)])
    return model.look_at(stimuli)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_feature_rows_are_matched_by_stimulus(table, stimuli):
    stimuli["object_name"] = list("abcde")
    model = as_brain_model(table)
    assert model.layers == ["features"]
    activity = record(model, stimuli)
    np.testing.assert_array_equal(activity.values, VALUES[[4, 3, 2, 1, 0]])
    assert activity["stimulus_id"].values.tolist() == ["s0", "s1", "s2", "s3", "s4"]
    assert activity["object_name"].values.tolist() == list("abcde")


def test_equal_features_have_equal_names():
    names = {as_brain_model(TABLES[each]).identifier for each in ("pair", "dict", "frame with an index")}
    assert len(names) == 1
    assert as_brain_model((VALUES + 1, IDS)).identifier not in names


def test_layers_may_have_names(stimuli):
    model = as_brain_model({"early": (VALUES, IDS), "late": (VALUES.reshape(6, 1, 7, 1), IDS)}, layers=["late"])
    assert record(model, stimuli).shape == (5, 7)
    with pytest.raises(LayerNotFoundError, match="Did you mean 'late'"):
        as_brain_model({"early": (VALUES, IDS), "late": (VALUES, IDS)}, layers=["latt"])


def test_features_have_no_class_scores(stimuli):
    model = as_brain_model((VALUES, IDS))
    model.start_task("label", "imagenet")
    with pytest.raises(LayerNotFoundError, match="made of features and has no layer 'logits'"):
        model.look_at(stimuli)


def test_probabilities_are_learned_from_features(stimuli):
    stimuli["image_label"] = list("ababa")
    model = as_brain_model((VALUES, IDS))
    model.start_task("probabilities", stimuli)
    np.testing.assert_allclose(model.look_at(stimuli).sum("choice"), 1)


def test_stimuli_without_features_are_named(stimuli):
    with pytest.raises(AssemblyError, match=r"'features' for 2 of 5 stimuli \(first: 's3', 's4'\)"):
        record(as_brain_model((VALUES[:3], ["s0", "s1", "s2"])), stimuli)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (VALUES, r"need the stimulus_id of each row; got an array of shape \(6, 7\)"),
        (xr.DataArray(VALUES), "need the stimulus_id of each row; got a DataArray"),
        ({}, "need the stimulus_id of each row; got a dict"),
        ((VALUES, IDS[:3]), "for 3 stimuli; expected one row"),
        ((VALUES, ["s0"] * 6), "name 1 stimulus more than once"),
        ((np.where(VALUES[2, 2] == VALUES, np.nan, VALUES), IDS), "of 1 stimuli are NaN or infinite.*'s2'"),
        ((VALUES.astype(str), IDS), "dtype <U"),
        ({"a": [1, 2], "b": [1]}, "expected numbers, as many"),
        ((VALUES[:, 0], IDS), "expected one row"),
    ],
)
def test_unusable_features_are_refused_with_the_reason(features, message):
    with pytest.raises(AssemblyError, match=message):
        as_brain_model(features)


def test_features_reject_preprocessing():
    with pytest.raises(AssemblyError, match="need no preprocessing"):
        as_brain_model((VALUES, IDS), preprocessing="imagenet-224")
