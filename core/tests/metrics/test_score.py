import copy
import operator
import pickle

import numpy as np
import pytest
import xarray as xr

import brainscore_core
from brainscore_core import metrics
from brainscore_core.metrics import Ceiling, Metric, Score
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly


def make():
    """Return scores of two splits, averaged over neuroids."""
    raw = Score(
        [[0.1, 0.3], [0.5, 0.7]],
        coords={"split": [0, 1], "neuroid_id": ("neuroid", ["a", "b"]), "region": ("neuroid", ["V4", "IT"])},
        dims=["split", "neuroid"],
    )
    score = raw.mean("neuroid")
    score.attrs.update({"raw": raw, "raw_other": "text", "ceiling": Score(0.8), "error": 0.1, "comment": "kept"})
    return score


class TestScalar:
    def test_scalar_score_acts_as_a_number(self):
        score = Score(0.5)
        assert float(score) == score.item() == 0.5
        assert score.dims == ()
        assert isinstance(score, DataAssembly)
        assert not hasattr(score, "__dict__")
        assert f"Score: {Score(0.51239).values:.4f}" == "Score: 0.5124"  # as in the tutorial
        assert f"{Score(0.51239):.2f}" == "0.51"

    def test_comparison_is_a_bool_only_for_a_single_number(self):
        assert Score(0.5) == 0.5
        assert 0 < Score(0.5) <= 1
        assert not Score(1.5) <= 1
        assert Score(np.nan) != Score(np.nan)
        assert Score(0.5) == pytest.approx(0.5004, abs=0.001)
        assert pytest.approx(0.5004, abs=0.001) == Score(0.5)
        assert Score(0.5) != pytest.approx(0.51, abs=0.001)
        with pytest.raises(ValueError, match="ambiguous"):
            bool(Score([1.0, 2.0]) == 1)

    def test_score_can_be_made_from_another_array(self):
        assert Score(DataAssembly(0.5, attrs={"raw": 1})).raw == 1
        assert type(Score(Score(1.0) / Score(2.0))) is Score
        assert Score(np.float32(0.25)).item() == 0.25

    def test_attributes(self):
        score = make()
        assert float(score.ceiling) == 0.8
        assert score.error == 0.1
        assert score.raw.dims == ("split", "neuroid")
        with pytest.raises(AttributeError):
            Score(1.0).raw  # noqa: B018  # reading it is the test


class TestSelection:
    def test_sel_keeps_attributes_and_selects_in_raw(self):
        score = make().sel(split=1)
        assert set(score.attrs) == {"raw", "raw_other", "ceiling", "error", "comment"}
        assert score.raw.values.tolist() == [0.5, 0.7]
        assert score.raw_other == "text"

    def test_isel_and_squeeze_apply_to_raw(self):
        assert make().isel(split=0).raw.values.tolist() == [0.1, 0.3]
        squeezed = make().isel(split=[1]).squeeze("split")
        assert squeezed.raw.dims == ("neuroid",)
        assert set(squeezed.attrs) == set(make().attrs)

    def test_expand_dims_applies_to_raw(self):
        expanded = make().expand_dims(subject=["s"])
        assert expanded.dims == ("subject", "split")
        assert expanded.raw.dims == ("subject", "split", "neuroid")
        assert make().expand_dims("subject").raw.sizes["subject"] == 1

    def test_raw_is_kept_if_it_cannot_be_selected_from(self):
        score = Score([1.0, 2.0], coords={"split": [0, 1]}, dims=["split"], attrs={"raw": Score(7.0)})
        assert score.sel(split=1).raw == 7.0
        assert score.isel(split=0).raw == 7.0
        score = Score([1.0, 2.0], dims=["split"], attrs={"raw": np.array([1.0, 2.0])})
        assert score.isel(split=0).raw.shape == (2,)

    def test_selection_leaves_the_original_and_raw_is_optional(self):
        score = make()
        score.sel(split=1)
        assert score.raw.dims == score.sel(split=1, _apply_raw=False).raw.dims == ("split", "neuroid")


REDUCTIONS = ["mean", "sum", "std", "var", "min", "max", "median", "prod", "count"]


class TestReductions:
    @pytest.mark.parametrize("name", REDUCTIONS)
    def test_reductions_keep_only_raw(self, name):
        score = make()
        reduced = getattr(score, name)("split")
        assert type(reduced) is Score
        assert set(reduced.attrs) == {"raw", "raw_other"}
        assert reduced.raw.identical(score.raw)
        assert float(reduced) == pytest.approx(getattr(np, {"count": "size"}.get(name, name))(score.values))

    def test_reduce_keeps_only_raw_unless_asked(self):
        reduced = make().reduce(np.ptp, "split")
        assert set(reduced.attrs) == {"raw", "raw_other"}
        assert make().mean(keep_attrs=True).error == 0.1

    def test_reduce_can_apply_to_raw(self):
        reduced = make().reduce(np.mean, "split", _apply_raw=True)
        np.testing.assert_allclose(reduced.raw.values, [0.3, 0.5])


class TestArithmetic:
    @pytest.mark.parametrize(
        "op", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt]
    )
    def test_arithmetic_drops_all_attributes(self, op):
        score = make()
        for result in (op(score, 2), op(2, score), op(score, score)):
            assert type(result) is Score
            assert result.attrs == {}
        assert set(score.attrs) == {"raw", "raw_other", "ceiling", "error", "comment"}

    def test_division_by_the_ceiling_drops_attributes(self):
        score = make().mean("split")
        ceiled = score / Score(0.8, attrs={"raw": Score([0.7, 0.9]), "error": 0.2})
        assert float(ceiled) == pytest.approx(0.5)
        assert ceiled.attrs == {}

    def test_numpy_functions_and_where_return_a_score(self):
        root = np.sqrt(make())
        assert type(root) is type(make().where(make() > 0.3)) is Score
        assert root.attrs == {}
        assert set(abs(make()).attrs) == set(make().attrs)


class TestAssignment:
    def test_assignment_leaves_raw_unchanged(self):
        score = Score(1.3, attrs={"raw": Score(1.3)})
        score[()] = 1.0
        assert float(score) == 1.0
        assert float(score.raw) == pytest.approx(1.3)
        score.loc[()] = 0.5
        assert float(score) == 0.5
        assert float(score.raw) == pytest.approx(1.3)

    def test_assignment_by_label_leaves_raw_unchanged(self):
        score = make()
        score.loc[{"split": 0}] = -1
        assert score.values[0] == -1
        assert score.raw.values[0].tolist() == [0.1, 0.3]


class TestCopies:
    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s)), Score])  # noqa: S301  # our own bytes
    def test_copies_keep_values_and_attributes(self, duplicate):
        score = make()
        copied = duplicate(score)
        assert copied.equals(score)
        assert set(copied.attrs) == set(score.attrs)
        assert copied.raw.equals(score.raw)
        assert copied.ceiling == 0.8


class TestMerge:
    def split(self, number):
        raw = Score([[0.1 * number, 0.2]], {"split": [number], "n": ("neuroid", ["a", "b"])}, ["split", "neuroid"])
        return Score([float(number)], {"split": [number]}, ["split"], attrs={"raw": raw, "comment": f"of {number}"})

    def test_merge_joins_values_and_raw(self):
        merged = Score.merge(self.split(0), self.split(1), self.split(2))
        assert type(merged) is Score
        assert merged.values.tolist() == [0.0, 1.0, 2.0]
        assert merged.raw.sizes == {"split": 3, "neuroid": 2}
        assert merged.sel(split=2).raw.values.tolist() == [0.2, 0.2]
        assert merged.comment == "of 0"

    def test_merge_drops_warns_or_raises_for_incompatible_raw(self, caplog):
        odd = self.split(1)
        odd.attrs["raw"] = "text"
        assert "raw" not in Score.merge(self.split(0), odd).attrs
        Score.merge(self.split(0), odd, exception_handling="warn")
        assert "cannot be merged" in caplog.text
        with pytest.raises(TypeError, match="str"):
            Score.merge(self.split(0), odd, exception_handling="raise")

    def test_merge_leaves_the_originals_unchanged(self):
        first = self.split(0)
        Score.merge(first, self.split(1))
        assert first.raw.sizes["split"] == 1


def test_names_and_keys_of_published_metrics_work():
    assert brainscore_core.Score is Score
    assert brainscore_core.Metric is metrics.Metric
    assert brainscore_core.Ceiling is metrics.Ceiling
    assert type(xr.concat([make(), make()], "subject")) is Score
    assert Score(0.5, attrs={Score.RAW_VALUES_KEY: [0.4, 0.6]}).raw == [0.4, 0.6]


def test_contract_errors_name_the_method_to_define():
    class Mine(Metric):
        pass

    with pytest.raises(NotImplementedError, match="Mine must define"):
        Mine()(DataAssembly(1), DataAssembly(1))
    with pytest.raises(NotImplementedError, match="Ceiling must define"):
        Ceiling()(DataAssembly(1))


def test_metric_needs_no_super_init():
    class Mine(Metric):
        def __init__(self):
            self.seen = None

        def __call__(self, assembly1, assembly2):
            return Score(float(assembly1) * float(assembly2))

    assert Mine()(DataAssembly(2.0), DataAssembly(3.0)) == 6
