import inspect

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Ceiling, Metric, Score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

X, Y = np.arange(12.0).reshape(4, 3), np.arange(8.0).reshape(4, 2)
NAMES = ["dog", "cat", "cup", "car"]


class Keep(Metric):
    """A metric that keeps its arguments."""

    quantity = "share"

    def __call__(self, source, target):
        """Keep both."""
        self.seen = source, target
        return Score(1.0)


class KeepOne(Ceiling):
    def __call__(self, assembly):
        self.seen = assembly
        return Score(1.0)


class KeepParts(Metric):
    def __call__(self, source_train, source_test, target_train, target_test):
        self.seen = source_train, source_test, target_train, target_test
        return Score(1.0)


class Tensor:
    """A tensor on a device: NumPy cannot convert it until it is on the CPU in a type that NumPy has."""

    def __init__(self, values, place="device", dtype="float32"):
        self.values, self.place, self.dtype, self.ndim = values, place, dtype, np.ndim(values)

    def detach(self):
        return Tensor(self.values, "graphless", self.dtype)

    def cpu(self):
        return Tensor(self.values, "cpu" if self.place == "graphless" else self.place, self.dtype)

    def float(self):
        return Tensor(self.values, self.place)

    def __array__(self, dtype=None, copy=None):
        if self.place != "cpu" or self.dtype == "bfloat16":
            raise TypeError(f"cannot convert {self.dtype} on {self.place}")
        return self.values


def seen(*arguments, of=Keep, **kwargs):
    metric = of()
    metric(*arguments, **kwargs)
    return metric.seen


def ids(assembly):
    return assembly["stimulus_id"].values.tolist()


def refusal(*arguments, of=Keep, **kwargs):
    with pytest.raises(AssemblyError) as caught:
        seen(*arguments, of=of, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize(
    "target",
    [
        Y,
        Tensor(Y),
        Tensor(Y, dtype="bfloat16"),
        pd.DataFrame(Y),
        xr.DataArray(Y),
        xr.DataArray(Y, dims=["image", "cell"]),
    ],
    ids=["numpy", "tensor", "bfloat16", "pandas", "xarray", "xarray with its own dimensions"],
)
def test_matrix_becomes_an_assembly_labelled_by_position(target):
    for assembly, values in zip(seen(X, target), (X, Y), strict=True):
        assert isinstance(assembly, NeuroidAssembly)
        assert assembly.dims == ("presentation", "neuroid")
        np.testing.assert_array_equal(assembly.values, values)
        assert ids(assembly) == ["000000", "000001", "000002", "000003"]
    assert assembly["neuroid_id"].values.tolist() == ["000000", "000001"]


def test_assembly_is_passed_on_unchanged():
    assembly = NeuroidAssembly(X, coords={"stimulus_id": ("presentation", NAMES)}, dims=["presentation", "neuroid"])
    source, target = seen(assembly, target := assembly.copy())
    assert source is assembly
    assert target is not assembly


@pytest.mark.parametrize(
    "named", [pd.DataFrame(Y, index=NAMES), xr.DataArray(Y, coords={"image": NAMES}, dims=["image", "u"])]
)
def test_unnamed_array_takes_the_names_of_the_other_array(named):
    source, target = seen(X, named)
    assert ids(source) == ids(target) == NAMES


def test_unnamed_array_takes_the_names_of_an_assembly():
    named = NeuroidAssembly(Y, coords={"stimulus_id": ("presentation", NAMES)}, dims=["presentation", "neuroid"])
    source, target = seen(X, named)
    assert ids(source) == NAMES
    assert target is named


def test_tables_keep_their_own_names():
    source, target = seen(pd.DataFrame(X, index=NAMES), pd.DataFrame(Y, index=NAMES[::-1], columns=["u1", "u2"]))
    assert (ids(source), ids(target)) == (NAMES, NAMES[::-1])
    assert target["neuroid_id"].values.tolist() == ["u1", "u2"]


def test_index_levels_of_a_table_become_coordinates():
    rows = pd.MultiIndex.from_arrays(
        [NAMES, ["animal", "animal", "thing", "thing"]], names=["stimulus_id", "object_name"]
    )
    columns = pd.MultiIndex.from_arrays([["a", "b", "b"]] * 2, names=["layer", "region"])
    source, _ = seen(pd.DataFrame(X, index=rows, columns=columns), Y)
    assert source["object_name"].values.tolist() == ["animal", "animal", "thing", "thing"]
    assert source["layer"].values.tolist() == ["a", "b", "b"]
    assert source["neuroid_id"].values.tolist() == ["000000", "000001", "000002"]


def test_xarray_is_read_by_dimension_name():
    turned = xr.DataArray(X.T, dims=["neuroid", "presentation"], coords={"layer": ("neuroid", ["a", "b", "c"])})
    source, _ = seen(turned, Y)
    np.testing.assert_array_equal(source.transpose("presentation", "neuroid").values, X)
    assert source["layer"].values.tolist() == ["a", "b", "c"]


def test_xarray_keeps_its_time_bins():
    bins = {"time_bin_start": ("time_bin", [70, 90]), "time_bin_end": ("time_bin", [90, 110])}
    source, _ = seen(xr.DataArray(np.stack([X, -X], 2), dims=["image", "unit", "time_bin"], coords=bins), Y)
    assert source.dims == ("presentation", "neuroid", "time_bin")
    assert source["time_bin_start"].values.tolist() == [70, 90]


def third(assembly):
    return assembly["repetition"].values.tolist()


def test_third_axis_holds_repetitions():
    assembly = seen(np.stack([Y, 10 * Y], axis=2), of=KeepOne)
    np.testing.assert_array_equal(assembly.values, np.concatenate([Y, 10 * Y]))
    assert third(assembly) == [0, 0, 0, 0, 1, 1, 1, 1]
    assert ids(assembly) == ["000000", "000001", "000002", "000003"] * 2


def test_presentation_that_is_all_nan_is_dropped():
    responses = np.stack([Y, 10 * Y], axis=2)
    responses[2, :, 1] = np.nan
    assembly = seen(responses, of=KeepOne)
    assert third(assembly) == [0, 0, 0, 0, 1, 1, 1]
    assert ids(assembly)[4:] == ["000000", "000001", "000003"]


@pytest.mark.parametrize("repetitions", [2, np.int64(2), [0, 0, 0, 0, 1, 1, 1, 1]])
def test_repetitions_label_repeated_rows(repetitions):
    source, target = seen(X, np.concatenate([Y, 10 * Y]), repetitions=repetitions)
    assert "repetition" not in source.coords
    assert third(target) == [0, 0, 0, 0, 1, 1, 1, 1]
    assert ids(target) == ids(source) * 2


def test_repetitions_may_alternate_between_rows():
    target = seen(np.repeat(Y, 2, axis=0), repetitions=[0, 1] * 4, of=KeepOne)
    assert ids(target) == [name for name in ["000000", "000001", "000002", "000003"] for _ in range(2)]


def test_index_levels_give_stimulus_and_repetition_of_each_row():
    rows = pd.MultiIndex.from_arrays([["cup", "dog", "cup", "cup"], [0, 0, 1, 2]], names=["stimulus_id", "repetition"])
    assembly = seen(pd.DataFrame(Y, index=rows), of=KeepOne)
    assert (ids(assembly), third(assembly)) == (["cup", "dog", "cup", "cup"], [0, 0, 1, 2])


@pytest.mark.parametrize("along", ["presentation", "neuroid"])
def test_metric_chooses_the_meaning_of_the_third_axis(along):
    class OfSubjects(KeepOne):
        third_axis = "subject", along

    assembly = seen(np.stack([Y, 10 * Y], axis=2), of=OfSubjects)
    assert assembly["subject"].dims == (along,)
    assert len(np.unique(assembly["subject"])) == 2
    np.testing.assert_array_equal(assembly.values, np.concatenate([Y, 10 * Y], axis=int(along == "neuroid")))


def test_training_and_test_parts_may_differ_in_stimuli():
    parts = seen(X, X[:2], Y, Y[:2], of=KeepParts)
    assert [len(part) for part in parts] == [4, 2, 4, 2]


@pytest.mark.parametrize(
    ("target", "remedy"),
    [
        (Y.T, "target.T"),
        (np.zeros((5, 4, 2)), "target.transpose(1, 2, 0)"),
        (np.zeros((5, 2, 4)), "target.transpose(2, 1, 0)"),
        (np.zeros((8, 2)), "repetitions=2, if the rows of target repeat all stimuli"),
    ],
)
def test_shape_error_names_the_argument_and_a_shape_that_fits(target, remedy):
    message = refusal(X, target)
    found = f"'source' has (4, 3), so 4 stimuli; 'target' has {target.shape}, so {len(target)} stimuli; "
    assert found in message
    assert "expected n_stimuli x n_units" in message
    assert message.endswith(f"This would fit: {remedy}.")


def test_shape_error_without_a_remedy_suggests_nothing():
    assert refusal(X, np.zeros((5, 2))).endswith("n_repetitions.")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Y[:, 0], "'target' has shape (4,); expected n_stimuli x n_units, or n_stimuli x n_units x n_repetitions"),
        (np.zeros((4, 2, 2, 2)), "'target' has shape (4, 2, 2, 2) and type float64"),
        (Y.astype(str), "of real numbers"),
        (pd.DataFrame({"word": NAMES, "number": 1.0}), "'target' has shape (4, 2) and type object"),
    ],
)
def test_rejects_arguments_that_are_not_numeric_matrices(target, words):
    assert words in refusal(X, target)


@pytest.mark.parametrize("repetitions", [3, [0, 1], [0, 0, 0, 0, 0, 1, 1, 1]])
def test_rejects_repetitions_that_do_not_fit_the_rows(repetitions):
    assert "does not fit 'target' of shape (8, 2)" in refusal(X, np.zeros((8, 2)), repetitions=repetitions)


def test_rejects_repetitions_together_with_a_third_axis():
    message = refusal(np.stack([Y, Y], axis=2), of=KeepOne, repetitions=2)
    assert "does not fit 'assembly' of shape (4, 2, 2)" in message


def test_stimulus_without_repetitions_is_dropped():
    responses = np.stack([Y, Y], axis=2)
    responses[3] = np.nan
    assert ids(seen(responses, of=KeepOne)) == ["000000", "000001", "000002"] * 2
    assert "'target' has (4, 2, 2), so 3 stimuli" in refusal(X, responses)


def test_rejects_repetitions_for_an_assembly():
    assembly = NeuroidAssembly(Y, coords={"stimulus_id": ("presentation", NAMES)}, dims=["presentation", "neuroid"])
    assert "repetitions=2 does not fit an assembly" in refusal(assembly, of=KeepOne, repetitions=2)


def test_rejects_unnamed_rows_with_names_that_repeat():
    table = pd.DataFrame(np.zeros((8, 2)), index=NAMES * 2)
    assert "The rows of 'source' have no labels, and the labels of 'target' repeat" in refusal(X, table)


def test_rejects_index_levels_without_a_stimulus_id():
    rows = pd.MultiIndex.from_arrays([NAMES, NAMES], names=["picture", "object_name"])
    assert "expected a name for each level, and 'stimulus_id'" in refusal(X, pd.DataFrame(Y, index=rows))


def test_error_of_a_metric_notes_generated_labels():
    class Refuse(Metric):
        def __call__(self, source, target):
            raise AssemblyError("no 'truth'")

    with pytest.raises(AssemblyError) as caught:
        Refuse()(X, target=pd.DataFrame(Y))
    assert caught.value.__notes__[0].startswith("source and target had no labels")


def test_repr_and_help_describe_arguments_and_score():
    assert repr(Keep()) == "<Keep, (source, target, repetitions) -> Score of quantity 'share'>"
    assert list(inspect.signature(Keep()).parameters) == ["source", "target", "repetitions"]
    assert "source, target\n    Assemblies, which" in Keep.__call__.__doc__
    assert Keep.__call__.__doc__.startswith("Keep both.\n\nParameters\n")
    assert "Returns\n-------\nScore" in Keep.__call__.__doc__


def test_docstring_section_of_a_metric_replaces_the_default():
    class Own(Metric):
        def __call__(self, source, target):
            """Compare.

            Returns
            -------
            Score
                In [0, 1].
            """

    titles = [part.rpartition("\n")[2] for part in Own.__call__.__doc__.split("\n---")[:-1]]
    assert titles == ["Parameters", "Returns", "Raises"]
    assert "Returns\n-------\nScore\n    In [0, 1].\n\nRaises" in Own.__call__.__doc__
