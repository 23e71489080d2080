"""Check that every registered metric and ceiling keeps the same promises; registering an identifier is enough to test
it.

`DATA` states on which data an identifier is tested; identifiers not listed there compare a model's features with
recordings, cross-validated, on a fixed split (``_split``) or over time (``spantime_``, ``_pertime``).
"""

import contextlib
import copy
import functools
import importlib
import importlib.util
import json
import re
import runpy
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import brainscore_core
import brainscore_vision
from brainscore_core.benchmarks import explained_variance
from brainscore_core.errors import AssemblyError, BrainScoreError
from brainscore_core.metrics import Ceiling, Quantity
from brainscore_core.plugin_management.index import PluginIndex, library_roots
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.supported_data_standards.brainio import assemblies
from brainscore_core.testing.synthetic import make_neuroid_assembly
from brainscore_vision import load_ceiling, load_metric

FIXTURES = Path(__file__).parent / "fixtures"
HERE = tuple(str(Path(package.__file__).parent) for package in (brainscore_core, brainscore_vision))


MAKERS = SimpleNamespace(**runpy.run_path(str(FIXTURES / "peer_data.py")))
SHIPPED = (Path(__file__).parents[1] / "shipped_plugins.txt").read_text().split()  # other plugins have their own tests
PLUGINS = {
    identifier: plugin.module
    for plugin in PluginIndex(library_roots("brainscore_vision")).plugins(KINDS["metric"].folder)
    for identifier in plugin.identifiers(KINDS["metric"])
    if f"metrics/{plugin.name}" in SHIPPED
}
IDENTIFIERS = sorted(PLUGINS)
WITHOUT_PUBLICATION = {"accuracy", "accuracy_distance", "value_delta"}  # simple arithmetic without a publication


# -- data --------------------------------------------------------------------------------------------------------------


def ratings(case, rng):
    """Return several people's answers to the same stimuli: the repetitions of `trials` become people."""
    (table,) = MAKERS.trials(case, rng)
    table["coords"]["subject"] = table["coords"].pop("repetition")
    return [table]


def banded_pair(case, rng):
    """Return features in two layers, and recordings."""
    source, target = MAKERS.neural(case, rng)
    p = case["p"]
    source["coords"]["layer"] = ("neuroid", [f"layer{2 * i // p}" for i in range(p)])
    return [source, target]


def repeated_pair(case, rng):
    """Return features of a model and single trials of recordings."""
    source, target = MAKERS.neural(case, rng)
    times, n = case["repetitions"], case["n"]
    table = MAKERS.take(target, np.tile(np.arange(n), times))
    table["values"] = table["values"] + rng.normal(size=table["values"].shape)
    table["coords"]["repetition"] = ("presentation", np.repeat(np.arange(times), n))
    return [source, table]


N = st.one_of(st.integers(1, 6), st.integers(15, 45))
SMALL = {
    "n": N,
    "p": st.one_of(st.integers(1, 5), st.integers(26, 60)),
    "q": st.integers(1, 5),
    "objects": st.integers(1, 6),
}
# kind: the maker, its parameters, and the parameters drawn at random
HEALTHY = {"n": 60, "p": 30, "q": 4, "noise": 1.0, "objects": 5}
REVERSED = {**HEALTHY, "p": 4, "q": 30}  # recordings predict features
REVERSED_SMALL = {**SMALL, "p": SMALL["q"], "q": SMALL["p"]}
REPEATED = {"n": 30, "q": 4, "noise": 1.0, "repetitions": 4, "image_id": True}
REPEATED_SMALL = {"n": N, "q": st.integers(1, 5), "repetitions": st.integers(1, 5)}
PEOPLE = {"n": 60, "classes": 4, "p_right": 0.6, "subjects": 5, "conditions": 3}
PEOPLE_SMALL = {"n": N, "classes": st.integers(1, 4), "subjects": st.integers(1, 4), "conditions": st.integers(1, 3)}
OFFSETS = {"n": 400, "levels": 8, "slope": 4.0, "subjects": 5, "elevation": 1.5}
OFFSETS_SMALL = {
    "n": st.integers(4, 40),
    "levels": st.integers(1, 4),
    "slope": st.sampled_from([-3.0, 0.0, 0.5, 5.0, 100.0]),
    "subjects": st.integers(1, 3),
}
MATCHED = {"n": 20, "classes": 4, "trials": 2000, "signal": 1.5}
MATCHED_SMALL = {"n": N, "classes": st.integers(2, 4), "trials": st.sampled_from([45, 100, 600])}
ANIMALS = {"n": 72, "classes": 6, "subjects": 12, "model": (0.8, 0.6), "human": (0.9, 0.55)}
ANIMALS_SMALL = {"n": N, "classes": st.integers(1, 3), "subjects": st.integers(1, 5)}
MANIPULATED = {"n": 150, "classes": 5, "subjects": 6}
MANIPULATED_SMALL = {"n": N, "classes": st.integers(1, 4), "subjects": st.integers(1, 3)}
TUNED = {"property": "circular_variance", "p": 80, "q": 60}
TUNED_SMALL = {"p": st.integers(1, 6), "q": st.integers(1, 6)}
KIND = {
    "pair": (MAKERS.neural, HEALTHY, SMALL),
    "map": (MAKERS.neural, {**HEALTHY, "n": 40, "p": 18, "q": 2, "side": 3}, {**SMALL, "p": st.just(18)}),
    "banded_pair": (banded_pair, HEALTHY, SMALL),
    "repeated_pair": (
        repeated_pair,
        {**HEALTHY, "n": 30, "repetitions": 4},
        {**SMALL, "repetitions": st.integers(1, 4)},
    ),
    "fixed_split": (MAKERS.fixed_split, HEALTHY, SMALL),
    "reverse_pair": (MAKERS.neural, REVERSED, REVERSED_SMALL),
    "reverse_split": (MAKERS.fixed_split, REVERSED, REVERSED_SMALL),
    "over_time": (MAKERS.temporal, {**HEALTHY, "times": 2}, {**SMALL, "times": st.integers(1, 3)}),
    "trials": (MAKERS.trials, REPEATED, REPEATED_SMALL),
    "trials_over_time": (MAKERS.trials, {**REPEATED, "times": 2}, {**REPEATED_SMALL, "times": st.integers(1, 3)}),
    "ratings": (ratings, REPEATED, REPEATED_SMALL),
    "subjects": (
        MAKERS.subjects,
        {"n": 20, "q": 10, "noise": 2.0, "subjects": 4},
        {"n": N, "q": st.integers(1, 4), "subjects": st.integers(1, 4)},
    ),
    "choices": (MAKERS.choices, PEOPLE, PEOPLE_SMALL),
    "answers": (MAKERS.choices, {"n": 60, "classes": 4, "p_right": 0.6}, {"n": N, "classes": st.integers(1, 4)}),
    "silent_choices": (MAKERS.choices, {**PEOPLE, "silent": 0.1}, {**PEOPLE_SMALL, "silent": st.floats(0, 1)}),
    "matching": (MAKERS.match_to_sample, MATCHED, MATCHED_SMALL),
    "two_alternatives": (MAKERS.two_alternatives, OFFSETS, OFFSETS_SMALL),
    "two_conditions": (MAKERS.two_conditions, OFFSETS, OFFSETS_SMALL),
    "values": (MAKERS.values, {"values": (1.5, 1.0)}, {"values": st.tuples(st.floats(-9, 9), st.floats(-9, 9))}),
    "whole_and_parts": (MAKERS.whole_and_parts, ANIMALS, ANIMALS_SMALL),
    "manipulated": (MAKERS.manipulated, MANIPULATED, MANIPULATED_SMALL),
    "properties": (MAKERS.properties, TUNED, TUNED_SMALL),
    "property_of_neurons": (MAKERS.property_of_neurons, TUNED, TUNED_SMALL),
    "factors": (
        MAKERS.factors,
        {"n": 60, "q": 30, "shape": 2.0, "texture": 0.5},
        {"n": N, "q": st.integers(1, 5), "shape": st.floats(0, 3)},
    ),
    "solution_times": (
        MAKERS.solution_times,
        {"n": 180, "p": 6, "classes": 3, "signal": 0.5, "noise": 5.0, "i1": 1.0},
        {"n": N, "p": st.integers(1, 4), "classes": st.integers(1, 4)},
    ),
}
# identifier: kind of data, arguments of the metric (a similarity metric as identifier and arguments)
TUNING = {"property_name": "circular_variance"}
DATA = {
    "accuracy": ("answers", {}),
    **dict.fromkeys(("accuracy_distance", "error_consistency"), ("choices", {})),
    **dict.fromkeys(("kato_accuracy_distance", "kato_error_consistency"), ("silent_choices", {})),
    **dict.fromkeys(("confusion_similarity", "tasks_consistency"), ("manipulated", {})),
    **dict.fromkeys(("cka_noise_corrected", "rdm_whitened", "rsa_crossnobis"), ("repeated_pair", {})),
    **dict.fromkeys(("internal_consistency", "noise_ceiling", "predictor_consistency"), ("trials", {})),
    **dict.fromkeys(("i1", "i2n"), ("matching", {})),
    "internal_consistency_temporal": ("trials_over_time", {}),
    "leave_one_subject_out": ("ratings", {}),
    "ost": ("solution_times", {}),
    "rsa_ceiling": ("subjects", {}),
    "value_delta": ("values", {}),
    "banded_ridge": ("banded_pair", {"n_draws": 2}),
    "baker_accuracy_delta": ("whole_and_parts", {"image_types": ["w", "f"]}),
    "factor_dimensionality": ("factors", {"factor": "shape"}),
    "ks_similarity": ("properties", TUNING),
    "mask_regression": ("map", {"crossvalidation_kwargs": {"splits": 2, "compat": False}, "compat": True}),
    "property_ceiling": ("property_of_neurons", {"similarity_metric": ("ks_similarity", TUNING)}),
    "threshold": ("two_alternatives", {"independent_variable": "offset"}),
    "threshold_elevation": (
        "two_conditions",
        {"independent_variable": "offset", "baseline_condition": "baseline", "test_condition": "test"},
    ),
}
PAIRS = ("pair", "banded_pair", "fixed_split", "reverse_pair", "reverse_split", "over_time")  # model, recordings
TWO_SIDED = {*PAIRS, "map", "repeated_pair", "choices", "answers", "silent_choices", "matching", "solution_times"}
RESPONSES = {*PAIRS, "map", "repeated_pair", "trials", "trials_over_time"}
BEYOND_ONE = {"cka_noise_corrected", "rsa_crossnobis"}  # single scores may exceed 1, so their mean is unbiased
GEOMETRIES = ["cka_noise_corrected", "rdm_whitened", "rsa_crossnobis"]
SHARES_OF_SIGNAL = ("_signal", "_r2er")  # these may exceed 1 too, and fall below -1
ORDER_COUNTS = {"factors"}  # entries of the two sides are paired by position


def kind_of(identifier):
    """Return the kind of data of an identifier, and the metric's arguments."""
    if identifier in DATA:
        return DATA[identifier]
    if identifier.startswith("spantime") or identifier.endswith("pertime"):
        return "over_time", {}
    if identifier.endswith(SHARES_OF_SIGNAL):
        return "repeated_pair", {}
    kind = "reverse_" if identifier.startswith("reverse_") else ""
    if identifier.endswith("_split"):
        return f"{kind or 'fixed_'}split", {}
    return kind + "pair", {}


def of_kind(*kinds):
    return [identifier for identifier in IDENTIFIERS if kind_of(identifier)[0] in kinds]


def make(identifier):
    kwargs = dict(kind_of(identifier)[1])
    if "similarity_metric" in kwargs:
        inner, more = kwargs["similarity_metric"]
        kwargs["similarity_metric"] = load_metric(inner, **more)
    return load_metric(identifier, **kwargs)


def tables_for(identifier, **changes):
    maker, parameters, _ = KIND[kind_of(identifier)[0]]
    return maker({**parameters, **changes}, np.random.default_rng(3))


def assembled(tables):
    return [MAKERS.assemble(copy.deepcopy(table), assemblies) for table in tables]


def score_of(identifier, tables):
    return make(identifier)(*assembled(tables))


@functools.cache
def healthy_score(identifier):
    return score_of(identifier, tables_for(identifier))


def number(score):
    return np.asarray(score, dtype=float)


def leaves(value):
    """Return the assemblies in an argument of a metric."""
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    return [value] if hasattr(value, "coords") else []


def state(assembly):
    coords = {name: np.asarray(coord.values).tolist() for name, coord in assembly.coords.items()}
    return assembly.values.tobytes(), assembly.dims, coords, list(assembly.attrs), assembly.dtype


# -- documentation -------------------------------------------------------------------------------------


def own_documentation(identifier):
    """Return the docstrings of a plugin's `metric.py` or `ceiling.py` and of the registered class or function."""
    make(identifier)
    modules = [f"{PLUGINS[identifier]}.{name}" for name in ("metric", "ceiling")]
    texts = [importlib.import_module(name).__doc__ for name in modules if importlib.util.find_spec(name)]
    return "\n".join([*texts, brainscore_vision.metric_registry[identifier].__doc__])


def documentation(identifier):
    """Return the documentation of an identifier and of those that it mentions or is a variant of."""
    text, variant = own_documentation(identifier), re.sub("^(dual_|spantime_)|(_split|_pertime)$", "", identifier)
    variants = {variant, re.sub("^(dual_|spantime_)|(_split|_pertime)$", "", variant)}
    named = sorted(({*re.findall(r"`(\w+)`", text)} | variants) & {*IDENTIFIERS} - {identifier})
    return "\n".join([text, *map(own_documentation, named)])


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_module_is_documented(identifier):
    text = documentation(identifier)
    assert [part for part in ("Input", "Output", "Invariances", "When") if part not in text] == []
    assert re.search(r"``[^`]*[=(/][^`]*``|:math:|\.\. math::", text), "no formula"
    if identifier not in WITHOUT_PUBLICATION:
        assert "References" in text
        assert re.search(r"doi:|https?://|arXiv:|NIPS|\(\d{4}\)", text), "no reference"


@pytest.mark.parametrize("identifier", [name for name in IDENTIFIERS if name not in WITHOUT_PUBLICATION])
def test_plugin_has_a_citation(identifier):
    make(identifier)
    assert importlib.import_module(PLUGINS[identifier]).BIBTEX.strip().startswith("@")


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_quantity_is_declared_and_written(identifier):
    quantity = make(identifier).quantity
    assert quantity in get_args(Quantity)
    assert healthy_score(identifier).attrs["quantity"] == quantity


# -- arguments ------------------------------------------------------------------------------------------------

# Labels and thresholds work without names; a model without units that have the property scores 0.
FINE = {("accuracy", "vector"), ("threshold", "vector"), ("ks_similarity", "nothing")}
NO_ASSEMBLIES = {
    "vector": lambda given: given.values.ravel(),
    "None": lambda _: None,
    "nothing": lambda given: given[:0],
}


@pytest.mark.parametrize("identifier", [name for name in IDENTIFIERS if kind_of(name)[0] != "values"])
@pytest.mark.parametrize("what", NO_ASSEMBLIES)
def test_rejects_arguments_that_are_empty_or_not_assemblies(identifier, what):
    """This holds for every argument."""
    metric, arguments = make(identifier), assembled(tables_for(identifier))
    for place, argument in enumerate(arguments):
        if not hasattr(argument, "dims") or (identifier, what) in FINE:
            continue
        given = list(arguments)
        given[place] = NO_ASSEMBLIES[what](argument)
        with pytest.raises(BrainScoreError):
            metric(*given)


# Labels that an array cannot express are passed as the columns of a table.
OF_UNITS = {"banded_pair": ["layer"], "map": ["channel", "channel_x", "channel_y"]}
MATRICES = [*RESPONSES, "ratings", "subjects"]
FORMS = {
    "numpy": np.asarray,
    "torch": torch.from_numpy,
    "pandas": lambda values: pd.DataFrame(values) if values.ndim == 2 else values,
    "xarray": xr.DataArray,
}


def in_order(table):
    """Return a table sorted by repetition (or person) and stimulus, with labels that only number stimuli and units."""
    coords = table["coords"]
    along = {name for name in ("repetition", "subject") if name in coords and coords[name][0] == "presentation"}
    rows = np.lexsort([coords["stimulus_id"][1], *(coords[name][1] for name in along)])
    table = MAKERS.take(table, rows)
    names = {"stimulus_id": "presentation", "neuroid_id": "neuroid"}
    taken = {*along, "subject", "layer", "channel", "channel_x", "channel_y", "time_bin_start", "time_bin_end"}
    of = {name: value for name, value in table["coords"].items() if name in taken}
    for name, dim in names.items():
        _, places = np.unique(table["coords"][name][1], return_inverse=True)
        if dim == "neuroid":
            places = np.arange(len(places))
        of[name] = dim, [f"{place:06d}" for place in places]
    return {**table, "coords": of}


def as_matrix(table, form, of_units):
    """Return the values of a table in order, as n_stimuli x n_units (x repetitions or people), or with time bins."""
    values, coords = table["values"], table["coords"]
    if "time_bin" in table["dims"]:
        bins = {name: value for name, value in coords.items() if name.startswith("time_bin")}
        dims = ["image", "unit", "time_bin"]
        if "repetition" in coords:
            values, dims = np.stack(np.split(values, len({*coords["repetition"][1]})), 2), [*dims[:2], "run", dims[2]]
        return xr.DataArray(values, dims=dims, coords=bins)
    for name in {"repetition", "subject"} & coords.keys():
        axis = int(coords[name][0] == "neuroid")
        values = np.stack(np.split(values, len({*coords[name][1]}), axis=axis), 2)
    if {*of_units} & coords.keys():
        columns = pd.MultiIndex.from_arrays([coords[name][1] for name in of_units], names=of_units)
        return pd.DataFrame(values, columns=columns)
    return FORMS[form](values)


def unlabelled_scores(identifier, forms):
    """Return the score of values with labels by position, and the scores of the same unlabelled values in each form."""
    kind = kind_of(identifier)[0]
    tables = [in_order(table) for table in tables_for(identifier)]
    of_units = OF_UNITS.get(kind, [])
    expected = make(identifier)(*assembled(tables))
    return expected, [make(identifier)(*[as_matrix(table, form, of_units) for table in tables]) for form in forms]


def check_unlabelled_scores(identifier, *forms):
    expected, scores = unlabelled_scores(identifier, forms)
    for score in scores:
        same_score(score, expected)


def same_score(score, expected):
    np.testing.assert_allclose(number(score), number(expected), rtol=1e-9, atol=1e-12)
    assert score.attrs.keys() == expected.attrs.keys()
    for name in ("error", "interval", "stimulus_error", "upper_bound", "lower_bound", "n_stimuli", "n_neuroids"):
        if isinstance(expected.attrs.get(name), (float, tuple)):
            np.testing.assert_allclose(score.attrs[name], expected.attrs[name], rtol=1e-6, atol=1e-9)
        elif not hasattr(expected.attrs.get(name), "coords"):
            assert score.attrs.get(name) == expected.attrs.get(name)


@pytest.mark.parametrize("identifier", of_kind(*MATRICES))
def test_arrays_score_like_assemblies(identifier):
    check_unlabelled_scores(identifier, "numpy")


@pytest.mark.slow
@pytest.mark.parametrize("identifier", of_kind(*MATRICES))
def test_every_kind_of_array_scores_like_assemblies(identifier):
    check_unlabelled_scores(identifier, "torch", "pandas", "xarray")


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_help_and_repr_describe_arguments_and_results(identifier):
    metric = make(identifier)
    assert repr(metric).startswith(f"<{identifier!r}: {type(metric).__name__}, (")
    assert f"of quantity {metric.quantity!r}" in repr(metric)
    text = type(metric).__call__.__doc__
    assert [part for part in ("Parameters\n", "Returns\n", "Score") if part not in text] == []


# -- results on healthy data -----------------------------------------------------------------------------------


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_score_is_finite(identifier):
    score = healthy_score(identifier)
    assert np.isfinite(number(score)).all()
    assert identifier in BEYOND_ONE or (number(score) <= 1 + 1e-12).all()
    assert "error" in score.attrs


@pytest.mark.parametrize("identifier", of_kind("pair", "repeated_pair", "trials", "ratings"))
def test_score_counts_stimuli_and_neuroids(identifier):
    (_, parameters, _), attrs = KIND[kind_of(identifier)[0]], healthy_score(identifier).attrs
    counted = {"n_stimuli": parameters["n"]}
    if identifier != "leave_one_subject_out":
        counted["n_neuroids"] = parameters["q"]
    if identifier in GEOMETRIES:
        counted["n_repetitions"] = parameters["repetitions"]
    assert {name: attrs[name] for name in counted} == counted
    if identifier in ("cka_noise_corrected", "rdm_whitened"):
        assert attrs["error_over"] == ["stimulus", "neuroid"]


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_attributes_can_be_written_as_json(identifier):
    attrs = healthy_score(identifier).attrs
    plain = {name: value for name, value in attrs.items() if name not in ("raw", "ceiling", "influence")}
    written = json.loads(json.dumps({name: value for name, value in plain.items() if not hasattr(value, "coords")}))
    assert written.keys() <= plain.keys()
    unwritten = [name for name in plain.keys() - written.keys() if not isinstance(plain[name], brainscore_vision.Score)]
    assert unwritten == []


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_calls_are_independent_and_do_not_change_arguments(identifier):
    """After a call with other data, a metric gives the same bytes as a new instance."""
    metric, first = make(identifier), healthy_score(identifier)
    with contextlib.suppress(BrainScoreError, ValueError):  # other sizes may be invalid for it
        metric(*assembled(tables_for(identifier, n=40, q=3, p=27)))
    arguments = assembled(tables_for(identifier))
    before = [state(leaf) for argument in arguments for leaf in leaves(argument)]
    second = metric(*arguments)
    assert number(first).tobytes() == number(second).tobytes()
    assert repr(first.attrs.get("error")) == repr(second.attrs.get("error"))
    if hasattr(first.attrs.get("raw"), "values"):
        assert first.attrs["raw"].values.tobytes() == second.attrs["raw"].values.tobytes()
    if hasattr(metric, "ceiling"):
        metric.ceiling(arguments[-1])
    assert [state(leaf) for argument in arguments for leaf in leaves(argument)] == before


CEILED = {"banded_ridge": {"band_coord": "region"}, "pls_per_neuron": {}, "one_to_one": {}, "soft_matching": {}}


@pytest.mark.parametrize(("identifier", "kwargs"), CEILED.items())
def test_internal_consistency_is_the_ceiling(identifier, kwargs):
    """The true signal of noisy recordings explains all the variance that can be explained."""
    repeated = make_neuroid_assembly(300, 10, n_repetitions=8, noise=1.0, seed=1)
    average = repeated.multi_groupby(["stimulus_id", "object_name"]).mean("presentation")
    score = load_metric(identifier, **kwargs)(make_neuroid_assembly(300, 10, noise=0.0, seed=1), average)
    explained = explained_variance(score, load_ceiling("internal_consistency")(repeated))
    assert float(explained) == pytest.approx(1, abs=0.05)


# -- invariances -----------------------------------------------------------------------------------------------


def same(identifier, score, tolerance):
    np.testing.assert_allclose(number(score), number(healthy_score(identifier)), rtol=0, atol=tolerance)


def unchanged(identifier, tables, tolerance=1e-8):
    same(identifier, score_of(identifier, tables), tolerance)


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_order_does_not_matter(identifier):
    """This holds for presentations, neuroids, choices and time bins on each side, and for dimensions."""
    tables = tables_for(identifier)
    if kind_of(identifier)[0] in ORDER_COUNTS or not isinstance(tables[0], dict) or "dims" not in tables[0]:
        pytest.skip("it has no presentations of its own")
    rng = np.random.default_rng(5)
    # Halves of the trials are drawn by position, as trials have no name; only the model's order may change.
    for place, table in enumerate(tables[:1] if kind_of(identifier)[0] == "matching" else tables):
        if isinstance(table, dict) and "stimulus_id" in table.get("coords", {}):
            size = len(table["coords"]["stimulus_id"][1])
            tables[place] = MAKERS.take(table, rng.permutation(size))
    arguments, orders = assembled(tables), {}
    for place, argument in enumerate(arguments):
        # PLS starts at the first neuroid, and the published stopping rule ends before the start is forgotten.
        dims = {*argument.dims} & {"choice", "time_bin", *(["neuroid"] if "pls" not in identifier else [])}
        for dim in dims:  # training and test sets get the same order
            orders.setdefault((dim, argument.sizes[dim]), rng.permutation(argument.sizes[dim]))
        arguments[place] = argument.isel({dim: orders[dim, argument.sizes[dim]] for dim in dims}).transpose()
    same(identifier, make(identifier)(*arguments), 1e-11)


LABELS = {"truth", "image_label", "object_name", "animal", "choice", "prediction", "sample_obj", "dist_obj"}
NAMED = ("choices", "answers", "silent_choices", "matching", "whole_and_parts", "manipulated", "solution_times")


@pytest.mark.parametrize("identifier", of_kind(*NAMED))
def test_names_of_objects_do_not_matter(identifier):
    """Each object gets another one's name, on both sides."""
    tables = tables_for(identifier)
    names = [np.asarray(v) for table in tables for name, (_, v) in table["coords"].items() if name in LABELS]
    names = sorted({*np.concatenate(names).tolist()} - {"", "NaN"})
    rename = np.vectorize(lambda name: dict(zip(names, names[::-1], strict=True)).get(name, name), otypes=[object])
    for table in tables:
        for name in LABELS & table["coords"].keys():
            dim, labels = table["coords"][name]
            table["coords"][name] = dim, rename(labels).astype(str)
        if table["values"].dtype.kind == "U":
            table["values"] = rename(table["values"]).astype(str)
    unchanged(identifier, tables, 1e-9)


@pytest.mark.parametrize("identifier", of_kind(*PAIRS))
def test_unit_and_origin_of_the_measurement_do_not_matter(identifier):
    tables = tables_for(identifier)
    for table in tables[len(tables) // 2 :]:
        table["values"] = 3e3 * table["values"] + 2e3
    unchanged(identifier, tables, 1e-7)


@pytest.mark.parametrize("identifier", of_kind("trials", "trials_over_time", "ratings"))
def test_unit_and_origin_of_trials_do_not_matter(identifier):
    (table,) = tables_for(identifier)
    table["values"] = 3e-3 * table["values"] - 2.0
    unchanged(identifier, [table], 1e-7)


PENALISED = "ridge|dual_ridge|spantime_ridge|mask"  # the scale of their features matters
UNITS = of_kind(
    *PAIRS, "repeated_pair", "trials", "trials_over_time", "subjects", "ratings", "factors", "solution_times"
)


def in_units(tables, sides, unit):
    """Multiply the values of some of the tables."""
    for place in sides:
        tables[place]["values"] = tables[place]["values"] * unit
    return tables


@pytest.mark.parametrize("identifier", UNITS)
def test_unit_of_either_side_does_not_matter_even_if_extreme(identifier):
    """No square overflows or underflows."""
    if first_name(identifier) != identifier:
        pytest.skip(f"another name of {first_name(identifier)}")
    kind, size = kind_of(identifier)[0], len(tables_for(identifier))
    sides = [range(size)] if kind == "factors" else [range(size // 2), range(size // 2, size)]
    for side in sides[re.match(PENALISED, identifier) is not None :]:
        for unit in (1e-300, 1e300):
            unchanged(identifier, in_units(tables_for(identifier), side, unit), 1e-11)


@pytest.mark.parametrize("identifier", [name for name in UNITS if re.match(PENALISED, name)])
def test_rejects_features_that_are_negligible_against_a_penalty(identifier):
    size = len(tables_for(identifier)) // 2
    for unit in (1e-300, 1e-30):
        if re.search("kfold|signal|r2er", identifier):  # these would score about 0, not NaN
            with pytest.raises(AssemblyError, match=r"lost next to a penalty.*Divide it by its standard deviation"):
                score_of(identifier, in_units(tables_for(identifier), range(size), unit))
            continue
        score = score_of(identifier, in_units(tables_for(identifier), range(size), unit))
        assert np.isnan(number(score)).all()
        assert re.search(r"The largest of the features is .*e-(30|29|300|299), .*divide", score.attrs["not_applicable"])
    for unit in (1e160, 1e300):
        with pytest.raises(AssemblyError, match=r"square overflows.*Divide it by its standard deviation"):
            score_of(identifier, in_units(tables_for(identifier), range(size), unit))


ROTATED = [
    *GEOMETRIES,
    *(name for name in of_kind("pair", "fixed_split") if re.match("pls|ridge|linear|dual_ridge|cka|procrustes", name)),
]


@pytest.mark.parametrize("identifier", ROTATED)
def test_orthogonal_transform_of_the_features_does_not_matter(identifier):
    tables = tables_for(identifier)
    rotation, _ = np.linalg.qr(np.random.default_rng(7).normal(size=(HEALTHY["p"], HEALTHY["p"])))
    for table in tables[: len(tables) // 2]:
        table["values"] = table["values"] @ rotation
    unchanged(identifier, tables, 1e-7)


DUPLICATED = [
    name
    for name in of_kind("pair", "fixed_split")
    if re.match("ridge|linear|neuron_to_neuron|soft_matching|dual_ridge_split|cka|rdm|procrustes", name)
]


@pytest.mark.parametrize("identifier", DUPLICATED)
def test_duplicated_neuroids_do_not_matter(identifier):
    tables = tables_for(identifier)
    for table in tables[len(tables) // 2 :]:
        table["values"] = np.concatenate([table["values"]] * 2, axis=1)
        names = table["coords"]["neuroid_id"][1]
        table["coords"]["neuroid_id"] = ("neuroid", [*names, *(f"{name}-copy" for name in names)])
        table["coords"]["region"] = ("neuroid", ["IT"] * len(names) * 2)
    unchanged(identifier, tables)


# -- invalid data ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("identifier", of_kind(*TWO_SIDED))
def test_rejects_different_stimuli(identifier):
    tables = tables_for(identifier)
    dim, names = tables[0]["coords"]["stimulus_id"]
    tables[0]["coords"]["stimulus_id"] = (dim, np.where(names == names[3], "another", names))
    with pytest.raises(AssemblyError, match="another"):
        score_of(identifier, tables)


@pytest.mark.parametrize("side", [0, -1])
@pytest.mark.parametrize("identifier", of_kind(*RESPONSES, "ratings", "subjects", "factors"))
def test_rejects_nan(identifier, side):
    if identifier.startswith("internal_consistency"):
        pytest.skip("to it NaN is a repetition that was not recorded")
    tables = tables_for(identifier)
    tables[side]["values"][(5,) + (0,) * (tables[side]["values"].ndim - 1)] = np.nan
    with pytest.raises(AssemblyError, match=r"(?i)nan|finite"):
        score_of(identifier, tables)


@pytest.mark.parametrize("value", [4.0, np.nan])
@pytest.mark.parametrize("identifier", of_kind(*RESPONSES))
def test_constant_or_empty_neuroids_are_listed(identifier, value):
    raw = healthy_score(identifier).attrs.get("raw")
    if "neuroid" not in getattr(raw, "dims", ()):
        pytest.skip("it gives no values per neuroid")
    tables = tables_for(identifier)
    scored = raw["neuroid_id"].values.tolist()
    sides = [table for table in tables if set(scored) <= set(np.asarray(table["coords"]["neuroid_id"][1]).tolist())]
    name = str(sides[0]["coords"]["neuroid_id"][1][1])
    for table in sides:
        table["values"][:, 1] = value
    score = score_of(identifier, tables)
    assert np.isfinite(number(score)).all()
    assert [str(left) for left in score.attrs["neuroids_left_out"]] == [name]
    assert score.attrs["n_neuroids_left_out"] == 1


@pytest.mark.parametrize("identifier", of_kind("pair", "map", "banded_pair", "over_time", "reverse_pair"))
def test_neuroids_constant_in_training_are_undefined(identifier):
    """A regression predicts such a neuroid as constant; what remains is rounding error, larger in later columns, which
    correlates by chance."""
    metric = make(identifier)
    if not hasattr(metric, "cross_validation"):
        pytest.skip("it fits nothing to training stimuli")
    tables = tables_for(identifier, n=120)
    table = tables[0 if kind_of(identifier)[0] == "reverse_pair" else -1]
    (target,) = assembled([table])
    (train, _), *_ = metric.cross_validation.plan(target).presentations(target)
    constants = np.array([0.1, 1 / 3e4, 7e4 / 3])[: table["values"].shape[1] - 1]
    for column, constant in enumerate(constants):
        table["values"][train, column] = constant
    score = metric(*assembled(tables))
    first, *others = score.attrs["raw"].transpose("split", ..., "neuroid").values
    undefined = np.isin(score.attrs["raw"]["neuroid_id"].values, target["neuroid_id"].values[: len(constants)])
    assert np.isnan(first[..., undefined]).all()
    assert np.isfinite(first[..., ~undefined]).all()
    assert score.attrs["n_undefined"] == np.isnan([first, *others]).sum()


# -- random data --------------------------------------------------------------------------------------------


HARM = [None, "a constant column", "no measurement", "one answer", "equal columns", "large numbers", "rare labels"]


def harm(kind, tables, rng):
    model, measurement = tables[0]["values"], tables[-1]["values"]
    match kind:
        case "a constant column":
            measurement[:, -1] = 1.0
        case "no measurement":
            measurement[...] = 0.0
        case "one answer":
            model[...] = 2.0
        case "equal columns":
            model[...] = model[:, :1]
        case "large numbers":
            tables[0]["values"], tables[-1]["values"] = model * 1e9, measurement * 1e-9
        case "rare labels":
            for table in tables:
                dim, names = table["coords"]["object_name"]
                table["coords"]["object_name"] = (dim, np.where(rng.random(len(names)) < 0.3, "rare", names))


def explains(error):
    """Return whether an error was raised on purpose, not by arithmetic further down, with more than a short message."""
    raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
    return (isinstance(error, BrainScoreError) or raised_in.startswith(HERE)) and len(str(error)) > 20


def first_name(identifier):
    """Return the first identifier of a plugin that is registered with the same class or function."""
    make(identifier)
    registry = brainscore_vision.metric_registry
    return min(name for name in IDENTIFIERS if registry.get(name) is registry[identifier])


@pytest.mark.parametrize("identifier", IDENTIFIERS)
@settings(
    max_examples=8,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_any_shape_gives_a_score_or_an_explanation(identifier, data):
    if first_name(identifier) != identifier:
        pytest.skip(f"another name of {first_name(identifier)}")
    kind = kind_of(identifier)[0]
    maker, parameters, drawn = KIND[kind]
    changes = data.draw(st.fixed_dictionaries(drawn), label="sizes")
    harmed = data.draw(st.sampled_from(HARM if kind in RESPONSES else [None]), label="harm")
    rng = np.random.default_rng(data.draw(st.integers(0, 3), label="seed"))
    tables = maker({**parameters, **changes}, rng)
    if harmed:
        harm(harmed, tables, rng)
    metric = make(identifier)
    try:
        with np.errstate(all="ignore"):
            value = number(metric(*assembled(tables)))
    except (BrainScoreError, ValueError) as error:
        refusal = error
    else:
        refusal = None
    if refusal is not None:
        assert explains(refusal), refusal
        return
    if identifier in BEYOND_ONE or identifier.endswith(SHARES_OF_SIGNAL):
        return
    inside = np.isnan(value) | (value <= 1 + 1e-7)
    if not isinstance(metric, Ceiling):  # stepping up a negative correlation has no lower bound
        inside &= np.isnan(value) | (value >= -1 - 1e-7)
    assert inside.all(), value
