import itertools
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.metric_helpers.labelled.splits import (
    Alignment,
    CartesianProduct,
    CrossValidation,
    CrossValidationSingle,
    Split,
    TestOnlyCrossValidation,
    Transformation,
    apply_aggregate,
    enumerate_done,
    expand,
    extract_coord,
    standard_error_of_the_mean,
)


def assembly(n=40, neuroids=3, *, order=None, objects=4, repetitions=1, seed=0):
    rng = np.random.default_rng(seed)
    ids = np.tile([f"s{i:02d}" for i in range(n)], repetitions)
    names = np.tile([f"o{i % objects}" for i in range(n)], repetitions) if objects else None
    coords = {"neuroid_id": ("neuroid", np.arange(neuroids)), "region": ("neuroid", ["V4", "IT", "IT"][:neuroids])}
    coords |= {"stimulus_id": ids, "repetition": np.repeat(range(repetitions), n), "object_name": names}
    result = assembly_of(rng.normal(size=(len(ids), neuroids)), **coords)
    return result if order is None else result.isel(presentation=order)


def ids_of(part):
    return part["stimulus_id"].values.tolist()


SHUFFLED = np.random.default_rng(5).permutation(40)


@pytest.mark.parametrize("compat", [False, True])
def test_default_splits_sort_stimuli_and_published_ones_do_not(compat):
    target = assembly(order=SHUFFLED)
    divided = target if compat else assembly()
    values, splits = Split(compat=compat).build_splits(target)
    expected = StratifiedShuffleSplit(10, train_size=0.9, random_state=1).split(
        np.zeros(40), divided["object_name"].values
    )
    assert len(splits) == 10
    for (train, test), (reference_train, reference_test) in zip(splits, expected, strict=True):
        np.testing.assert_array_equal(train, reference_train)
        np.testing.assert_array_equal(test, reference_test)
    np.testing.assert_array_equal(values.values, divided["stimulus_id"].values)


def stimuli_of(target, **kwargs):
    """Return the stimuli of each training and test set, in order, for all splits and for folds of the same kind."""
    split = Split(**kwargs)
    parts = [part for both in split.plan(target).presentations(target) for part in both]
    return [target["stimulus_id"].values[part].tolist() for part in [*parts, *split.folds(target, 3, random_state=2)]]


@given(
    order=st.permutations(range(24)),
    ids=st.sampled_from([lambda i: f"s{i}", lambda i: i, lambda i: f"s{i // 2}"]),
    kwargs=st.sampled_from(
        [{}, {"kfold": True, "splits": 4}, {"stratification_coord": None}, {"train_size": 0.5}, {"test_size": 5}]
    ),
)
@settings(max_examples=40, derandomize=True, database=None)
def test_splits_do_not_depend_on_the_order_of_rows(order, ids, kwargs):
    given_rows = assembly(24).assign_coords(stimulus_id=("presentation", [ids(i) for i in range(24)]))
    moved = given_rows.isel(presentation=list(order))
    assert stimuli_of(moved, **kwargs) == stimuli_of(given_rows, **kwargs)
    positions = Split(**kwargs).plan(moved).presentations(moved)
    assert all(not set(train) & set(test) for train, test in positions)


def test_published_splits_depend_on_order_unless_stimuli_repeat():
    for repetitions in (1, 2):
        given_rows = assembly(repetitions=repetitions)
        moved = given_rows.isel(presentation=np.random.default_rng(3).permutation(40 * repetitions))
        same = stimuli_of(given_rows, compat=True) == stimuli_of(moved, compat=True)
        assert same == (repetitions == 2)
    assert stimuli_of(assembly(), compat=True) == stimuli_of(assembly())  # sorted rows
    assert stimuli_of(assembly(order=SHUFFLED), compat=True, unique_split_values=True) == stimuli_of(assembly())


def test_numbers_are_sorted_by_size_and_strings_by_character():
    names = [str(i) for i in range(12)]
    for ids, expected in ((names, sorted(names)), (list(range(12)), list(range(12)))):
        target = assembly(12, objects=0).assign_coords(stimulus_id=("presentation", ids))
        assert Split().build_splits(target)[0].values.tolist() == expected


def test_a_stimulus_of_two_classes_is_stratified_by_the_first():
    target = assembly(12, repetitions=2, objects=2)
    classes = np.where(target["repetition"].values == 0, "z", target["object_name"].values)
    target = target.assign_coords(object_name=("presentation", classes))
    assert (
        stimuli_of(target)
        == stimuli_of(target.isel(presentation=np.arange(24)[::-1]))
        == stimuli_of(assembly(12, repetitions=2, objects=2))
    )


def test_kfold_and_plain_splits_equal_scikit_learn():
    target = assembly()
    folds = Split(kfold=True, splits=4).build_splits(target)[1]
    expected = list(StratifiedKFold(4, shuffle=True, random_state=1).split(np.zeros(40), target["object_name"].values))
    np.testing.assert_array_equal(np.concatenate([test for _, test in folds]), np.concatenate([t for _, t in expected]))
    plain = Split(splits=3, stratification_coord=None, train_size=0.5, random_state=7).build_splits(target)[1]
    expected = list(ShuffleSplit(3, train_size=0.5, random_state=7).split(np.zeros(40)))
    np.testing.assert_array_equal(plain[2][0], expected[2][0])
    assert not Split(stratification_coord=None).do_stratify


def test_folds_partition_presentations_and_are_stratified():
    target = assembly(repetitions=2, order=np.random.default_rng(1).permutation(80))
    folds = CrossValidation().folds(target, 5, random_state=3)
    assert sorted(np.concatenate(folds)) == list(range(80))
    stimuli = [set(target["stimulus_id"].values[fold]) for fold in folds]
    assert sum(map(len, stimuli)) == 40  # both presentations of a stimulus are in one fold
    for fold in folds:
        objects, counts = np.unique(target["object_name"].values[fold], return_counts=True)
        assert len(objects) == 4
        assert set(counts) == {4}
    again, other = (CrossValidation().folds(target, 5, random_state=seed) for seed in (3, 4))
    assert [fold.tolist() for fold in again] == [fold.tolist() for fold in folds]
    assert [fold.tolist() for fold in other] != [fold.tolist() for fold in folds]


def test_plan_notes_seed_and_stratification():
    assert Split().plan(assembly()).notes == {"seed": 1, "stratified_by": "object_name"}
    missing = Split().plan(assembly(objects=0)).notes
    assert missing["stratified_by"] is None
    assert "no coordinate 'object_name'" in missing["stratification"]
    infeasible = Split().plan(assembly(objects=40)).notes
    assert infeasible["stratified_by"] is None
    assert "does not allow" in infeasible["stratification"]


def test_repetitions_of_a_stimulus_stay_on_one_side():
    seen = []
    CrossValidation(splits=3)(
        assembly(repetitions=2), assembly(repetitions=2), apply=lambda *parts: (seen.append(parts), Score(1.0))[1]
    )
    for train, _, test, _ in seen:
        assert not set(ids_of(train)) & set(ids_of(test))
        assert len(ids_of(test)) == 8


def test_rejects_too_few_stimuli():
    with pytest.raises(AssemblyError, match="1 values of 'stimulus_id' cannot be divided"):
        Split().build_splits(assembly(1))


def test_cross_validation_passes_matching_parts_in_order():
    source, target = assembly(), assembly(order=SHUFFLED, seed=1)
    seen = []

    def apply(*parts):
        seen.append([ids_of(part) for part in parts])
        return Score(len(seen))

    score = CrossValidation(splits=4)(source, target, apply=apply)
    for source_train, target_train, source_test, target_test in seen:
        assert sorted(source_train) == sorted(target_train)
        assert sorted(source_test) == sorted(target_test)
        assert source_train == sorted(source_train)
        assert target_test == [i for i in ids_of(target) if i in set(target_test)]
        assert not set(source_train) & set(source_test)
    assert float(score) == 2.5
    assert score.attrs["split_error"] == pytest.approx(np.std([1, 2, 3, 4], ddof=1) / 2)
    assert np.isnan(score.attrs["error"])
    assert "half_sample_interval" in score.attrs["error_nan_reason"]
    assert score.attrs["raw"].values.tolist() == [1, 2, 3, 4]
    assert score.attrs["raw"].dims == ("split",)
    assert score.attrs["seed"] == 1


def test_cross_validation_aggregates_before_averaging_splits():
    numbers = iter([[1.0, 2.0, 9.0], [3.0, 4.0, 5.0]])

    def apply(*_):
        return Score(next(numbers), coords={"neuroid_id": ("neuroid", [0, 1, 2])}, dims=["neuroid"])

    score = CrossValidation(splits=2)(assembly(), assembly(), apply=apply, aggregate=lambda s: s.median("neuroid"))
    assert float(score) == 3.0
    assert score.attrs["split_error"] == pytest.approx(1.0)  # medians 2 and 4
    assert score.attrs["raw"].dims == ("split", "neuroid")
    assert score.attrs["raw"]["neuroid_id"].values.tolist() == [0, 1, 2]
    assert score.attrs["raw"].values.tolist() == [[1, 2, 9], [3, 4, 5]]


def test_raw_of_the_parts_is_stacked():
    count = iter(range(1, 3))

    def apply(*_):
        score = Score(float(next(count)))
        score.attrs["raw"] = Score([float(score), 2.0], coords={"neuroid": [0, 1]}, dims=["neuroid"])
        return score

    score = CrossValidation(splits=2)(assembly(), assembly(), apply=apply)
    assert score.attrs["raw"].values.tolist() == [[1, 2], [2, 2]]


def test_results_with_different_neuroids_are_joined():
    neuroids = iter([[0, 1], [1, 2]])

    def apply(*_):
        ids = next(neuroids)
        return Score([float(i) for i in ids], coords={"neuroid_id": ("neuroid", ids)}, dims=["neuroid"])

    raw = CrossValidation(splits=2)(assembly(), assembly(), apply=apply).attrs["raw"]
    np.testing.assert_array_equal(raw.values, [[0, 1, np.nan], [np.nan, 1, 2]])
    assert raw["neuroid_id"].values.tolist() == [0, 1, 2]


def test_rejects_different_stimuli():
    with pytest.raises(AssemblyError, match="'s39'"):
        CrossValidation()(assembly(39), assembly(40), apply=lambda *_: Score(1.0))


@pytest.mark.parametrize("repetitions", [1, 2])
def test_preprocess_indices_gets_positions_in_the_assembly(repetitions):
    """This holds for any order of rows, and every presentation of a returned stimulus is included."""

    def of_first_objects(train, test, given):
        assert len(set(given["stimulus_id"].values[train])) == len(train) == 36
        return train[given["object_name"].values[train] < "o2"], test

    order = np.random.default_rng(2).permutation(40 * repetitions)
    target = assembly(repetitions=repetitions, order=order)
    split = Split(preprocess_indices=of_first_objects)
    for train, test in split.plan(target).presentations(target):
        assert set(target["object_name"].values[train]) == {"o0", "o1"}
        assert len(test) == 4 * repetitions
        assert len(train) == 18 * repetitions


def test_test_only_and_single_pass_their_parts():
    seen = []
    TestOnlyCrossValidation(splits=2)(
        assembly(), assembly(), apply=lambda a, b: (seen.append((len(a), len(b))), Score(1.0))[1]
    )
    CrossValidationSingle(splits=2)(assembly(), apply=lambda a, b: (seen.append((len(a), len(b))), Score(1.0))[1])
    assert seen == [(4, 4), (4, 4), (36, 4), (36, 4)]


def test_single_divides_repetitions():
    halves = []
    single = CrossValidationSingle(splits=3, train_size=0.5, split_coord="repetition", stratification_coord=None)
    single(assembly(10, repetitions=4), apply=lambda a, b: (halves.append((a, b)), Score(1.0))[1])
    for one, two in halves:
        together = set(one["repetition"].values) | set(two["repetition"].values)
        assert together == {0, 1, 2, 3}
        assert len(one) == len(two) == 20


def test_cartesian_product_applies_to_each_combination():
    given = assembly()
    score = CartesianProduct(["region", "object_name"])(given, apply=lambda part: Score(float(part.mean())))
    assert score.dims == ("region", "object_name")
    assert score["region"].values.tolist() == ["IT", "V4"]
    expected = given.values[given["object_name"].values == "o2"][:, [1, 2]].mean()
    assert score.values[0, 2] == pytest.approx(expected)
    assert score.attrs["raw"].attrs.get("raw") is None
    repeated = CartesianProduct()(given, apply=lambda part: Score(float(part.sum())))
    assert float(repeated) == pytest.approx(float(given.values.sum()))


def test_cartesian_product_is_nan_for_absent_combinations():
    given = assembly(4).isel(presentation=[0, 1, 2])
    given = given.isel(presentation=np.flatnonzero(given["stimulus_id"].values != "s03"))
    score = CartesianProduct(["stimulus_id", "object_name"])(given, apply=lambda part: Score(float(part.mean())))
    assert np.isnan(score.values).sum() == 6


def test_cartesian_product_of_single_entries_drops_the_dimension():
    given = assembly(neuroids=3)
    parts = []
    CartesianProduct(["neuroid_id"])(given, apply=lambda part: parts.append(part) or Score(0.0))
    assert [part.dims for part in parts] == [("presentation",)] * 3
    np.testing.assert_array_equal(parts[1].values, given.values[:, 1])
    assert parts[1]["neuroid_id"].item() == given["neuroid_id"].values[1]


def test_cartesian_product_concatenates_raw_along_its_entries():
    given = assembly(neuroids=3)

    def per_neuroid(part):
        score = Score(float(part.mean()))
        names = {name: ("entry", [part[name].item()]) for name in ("neuroid_id", "region")}
        score.attrs["raw"] = Score([float(part.max())], {**names, "half": ("entry", [0])}, ["entry"])
        return score

    score = CartesianProduct(["neuroid_id"])(given, apply=per_neuroid)
    assert score.dims == ("neuroid_id",)
    assert score.raw.dims == ("entry",)
    assert score.raw["neuroid_id"].values.tolist() == sorted(given["neuroid_id"].values.tolist())
    np.testing.assert_array_equal(score.raw.values, given.values.max(axis=0))
    two = CartesianProduct(["neuroid_id", "object_name"])(
        given, apply=lambda part: score.isel(neuroid_id=0, drop=True) * 0 + float(part.mean())
    )
    assert two.raw.dims == ("neuroid_id", "object_name")


def test_pipe_can_be_stepped_manually():
    given, seen = assembly(), []
    steps = CartesianProduct(["region"]).pipe(given)
    for parts in steps:
        assert isinstance(parts, tuple)
        seen.append(parts[0]["region"].values.flat[0])
        if steps.send(Score(float(parts[0].mean()))):
            break
    score = next(steps)
    assert seen == score["region"].values.tolist() == ["IT", "V4"]
    assert score.identical(CartesianProduct(["region"])(given, apply=lambda part: Score(float(part.mean()))).raw)
    with pytest.raises(StopIteration):
        next(steps)
    with pytest.raises(AssemblyError, match="no parts"):
        next(CartesianProduct(["region"]).pipe(given[:0]))


def test_pipe_of_a_split_adds_its_notes():
    given = assembly(objects=0)
    split = CrossValidation(splits=2)
    steps = split.pipe(given, given)
    assert [(len(parts), steps.send(Score(1.0))) for parts in itertools.islice(steps, 2)] == [(4, False), (4, True)]
    score = next(steps)
    assert score.dims == ("split",)
    assert "object_name" in score.attrs["stratification"]
    assert split(given, given, apply=lambda *_: 1.0).attrs["stratification"] == score.attrs["stratification"]
    assert "stratification" not in split(given, given, apply=lambda *_: 1.0).raw.attrs


def test_parts_are_released_before_the_next_are_created():
    alive = []

    class Watched(Transformation):
        def parts(self, *args, notes):
            for index in range(3):
                assert all(reference() is None for reference in alive)
                part = args[0].copy(deep=True)
                alive.append(weakref.ref(part.values))
                yield {"step": index}, [part]
                del part

    assert Watched()(assembly(), apply=lambda part: Score(float(part.sum()))).sizes == {"step": 3}


def test_a_transformation_can_define_its_own_pipe():
    class Halves(Transformation):
        # The style of published code.
        def pipe(self, assembly):
            first = yield (assembly[: len(assembly) // 2],)
            yield False
            second = yield (assembly[len(assembly) // 2 :],)
            yield True
            yield Score([float(first), float(second)], {"half": ["first", "second"]}, ["half"])

    score = Halves()(assembly(), apply=lambda part: part.mean(), aggregate=lambda scores: scores.mean("half"))
    assert float(score) == pytest.approx(float(assembly().values.mean()))
    assert score.raw["half"].values.tolist() == ["first", "second"]


def test_apply_aggregate_keeps_the_first_raw():
    values = Score([1.0, 3.0], coords={"split": [0, 1]}, dims=["split"])
    mean = apply_aggregate(lambda scores: scores.mean("split"), values)
    assert mean.attrs["raw"].identical(values)
    assert apply_aggregate(lambda scores: scores * 1, mean).attrs["raw"].identical(values)


def test_an_unreduced_score_does_not_contain_itself():
    values = Score([1.0, 3.0], coords={"split": [0, 1]}, dims=["split"])
    same = apply_aggregate(lambda scores: scores, values)
    assert same.identical(values) is False  # it gains the attribute `raw`
    assert same.attrs["raw"] is values
    assert "raw" not in values.attrs
    assert apply_aggregate(lambda scores: scores.mean("split"), same).attrs["raw"] is values


def test_standard_error_matches_a_hand_computed_value():
    values = Score([1.0, 2.0, 4.0], coords={"split": [0, 1, 2]}, dims=["split"])
    assert float(standard_error_of_the_mean(values, "split")) == pytest.approx(0.8819171)  # variance 42 / 9 / 2


def test_extract_coord_can_return_unique_values():
    given = assembly(3, repetitions=2)
    assert extract_coord(given, "stimulus_id", unique=True).values.tolist() == ["s00", "s01", "s02"]
    assert extract_coord(given, "stimulus_id").dims == ("presentation",)


@pytest.mark.parametrize("dims", [("presentation", "neuroid"), ("neuroid", "presentation")])
def test_alignment_sorts_both_and_selects_the_targets_stimuli(dims):
    source, target = assembly(order=SHUFFLED), assembly(neuroids=2).isel(presentation=[7, 3, 12])
    seen = []
    score = Alignment()(
        source.transpose(*dims), target.copy(), apply=lambda *parts: seen.extend(parts) or Score(len(parts))
    )
    assert float(score) == 2
    assert [ids_of(part) for part in seen] == [["s03", "s07", "s12"]] * 2
    assert seen[0].dims == ("presentation", "neuroid")
    np.testing.assert_array_equal(seen[0].values, assembly().values[[3, 7, 12]])
    np.testing.assert_array_equal(seen[1].values, target.values[[1, 0, 2]])


def test_alignment_rejects_a_source_without_all_stimuli():
    with pytest.raises(AssemblyError, match="stimulus_id"):
        Alignment()(assembly(n=5), assembly(n=6), apply=lambda *_: Score(0))


def test_alignment_repeats_the_source_on_request():
    repeated = assembly(n=4, repetitions=3)
    with pytest.raises(AssemblyError):
        Alignment()(assembly(n=4), repeated, apply=lambda *_: Score(0))
    seen = []
    Alignment(repeat=True)(assembly(n=4), repeated, apply=lambda *parts: seen.extend(parts) or Score(0))
    assert ids_of(seen[0]) == ids_of(seen[1]) == [f"s{i:02d}" for i in range(4) for _ in range(3)]
    assert seen[1]["repetition"].values.tolist() == [0, 1, 2] * 4  # equal keys keep their order


def test_expand_turns_scalar_coordinates_into_dimensions():
    regions = DataAssembly(
        [0.5, 0.4],
        coords={"region": ("region", ["V4", "IT"]), "layer_source": "pool", "other": 3},
        dims=["region"],
        attrs={"note": 1},
    )
    expanded = expand(regions, ["region", "layer"])
    assert type(expanded) is DataAssembly
    assert expanded.dims == ("region", "layer_source")
    np.testing.assert_array_equal(expanded.values, [[0.5], [0.4]])
    assert expanded["layer_source"].values.tolist() == ["pool"]
    assert expanded["other"].ndim == 0
    assert expanded.attrs == {}
    assert regions.attrs == {"note": 1}


def test_enumerate_done_marks_the_last_item():
    assert list(enumerate_done("abc")) == [(0, "a", False), (1, "b", False), (2, "c", True)]
    assert list(enumerate_done([])) == []
    assert list(enumerate_done(iter([None]))) == [(0, None, True)]
