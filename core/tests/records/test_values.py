"""Values stored with a record are complete, bounded in size and from the same run."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from brainscore_core.errors import CorruptFileError
from brainscore_core.metrics import Score
from brainscore_core.records import values as module
from brainscore_core.records.values import digest_of, read_values, values_bytes, values_of, values_path, write_values

VALUES = {"raw.neuroid": np.array([0.1, np.nan, 0.3]), "raw.neuroid_id": np.array(["a", "b", "ü"])}


def make_score(per_neuroid):
    score = Score(0.5)
    raw = Score(np.nanmean(per_neuroid))
    coords = {"split": range(len(per_neuroid)), "neuroid_id": ("neuroid", [f"n{i}" for i in range(3)])}
    raw.attrs["raw"] = Score(per_neuroid, coords=coords, dims=["split", "neuroid"])
    score.attrs["raw"] = raw
    return score


def test_each_neuroid_has_its_mean_over_splits():
    found = values_of(make_score(np.array([[0.1, np.nan, 0.3], [0.3, np.nan, np.nan]])))
    np.testing.assert_allclose(found["raw.neuroid"], [0.2, np.nan, 0.3])
    assert found["raw.neuroid_id"].tolist() == ["n0", "n1", "n2"]


def test_values_of_subjects_and_of_scores_without_any():
    score = Score(0.5)
    assert values_of(score) == {}
    score.attrs["raw"] = Score(0.4)
    assert values_of(score) == {}
    score.attrs["raw"].attrs["subject_scores"] = [0.3, 0.5]
    assert values_of(score)["raw.subject"].tolist() == [0.3, 0.5]


def test_raw_that_refers_to_itself_has_no_values():
    score = Score(0.5)
    raw = Score([0.1, 0.2], dims=["split"])
    raw.attrs["raw"] = raw
    score.attrs["raw"] = raw
    assert values_of(score) == {}


@given(
    st.dictionaries(
        st.sampled_from(["raw.neuroid", "raw.subject", "ceiling.neuroid"]),
        arrays_of.arrays(np.float64, st.integers(0, 20)),
    )
)
def test_values_are_read_as_written(tmp_path_factory, values):
    record = tmp_path_factory.mktemp("values") / "m.json"
    found = read_values(record, write_values(record, values))
    assert found.keys() == values.keys()
    for name, array in values.items():
        np.testing.assert_array_equal(found[name], array)


def test_file_opens_in_numpy_and_is_reproducible(tmp_path, monkeypatch):
    digest = write_values(tmp_path / "m.json", VALUES)
    with np.load(tmp_path / "m.values.npz", allow_pickle=False) as opened:
        assert opened["raw.neuroid_id"].tolist() == ["a", "b", "ü"]
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 3, 33, 20, 2, 138, 0))
    assert digest_of(values_bytes(dict(reversed(VALUES.items())))) == digest


def test_rejects_values_of_another_run(tmp_path):
    record = tmp_path / "m.json"
    first = write_values(record, VALUES)
    write_values(record, {**VALUES, "raw.neuroid": np.zeros(3)})
    with pytest.raises(CorruptFileError, match="another run"):
        read_values(record, first)
    values_path(record).unlink()
    with pytest.raises(CorruptFileError, match="cannot be read"):
        read_values(record, first)


def archive(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return stream.getvalue()


def npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


def array_that_claims(shape):
    """Return an array of 8 bytes whose header claims another shape."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue() + b"\0" * 8


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK nonsense",
        archive(x=b"no array"),
        archive(x=npy(np.array([{"a": 1}], dtype=object), allow_pickle=True)),
        archive(x=npy(np.zeros((2, 2)))),
        archive(x=npy(np.zeros(2, dtype=[("a", "f8")]))),
        archive(x=array_that_claims((10**15,))),
        archive(x=array_that_claims((-1,))),
        archive(**{f"x{i}": npy(np.zeros(1)) for i in range(17)}),
        archive(x=npy(np.zeros(9 * 2**20))),
    ],
    ids=["empty", "no zip", "no array", "pickle", "table", "fields", "huge claim", "negative", "many", "bomb"],
)
def test_rejects_files_without_values(tmp_path, content):
    record = tmp_path / "m.json"
    values_path(record).write_bytes(content)
    with pytest.raises(CorruptFileError, match="is not a valid file of values"):
        read_values(record, digest_of(content))


def test_oversized_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    record = tmp_path / "m.json"
    values_path(record).write_bytes(b"x" * 5000)
    with pytest.raises(CorruptFileError):
        read_values(record, digest_of(b"x" * 5000))
