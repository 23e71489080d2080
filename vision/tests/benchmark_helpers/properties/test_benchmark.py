import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import PropertyAssembly
from brainscore_vision.benchmark_helpers import properties_common
from brainscore_vision.benchmark_helpers.properties.single_units import GratingSets
from brainscore_vision.benchmark_helpers.stand_ins.sharing import SharedCandidate


def recorded(world, names=("circular_variance",), n=12, region="V1"):
    result = PropertyAssembly(
        np.random.default_rng(0).random((n, len(names))),
        coords={
            "neuroid_id": ("neuroid", range(n)),
            "region": ("neuroid", [region] * n),
            "neuronal_property": list(names),
        },
        dims=["neuroid", "neuronal_property"],
    )
    result.attrs.update(number_of_trials=7, stimulus_set=world.SETS["Marques2020_orientation"])
    return result


def circular_variance(model_identifier, responses, baseline):
    assert model_identifier == "v1"
    assert baseline.dims == responses.dims == ("neuroid", "presentation")
    assert baseline.shape == (len(responses), 1)
    properties_common._assert_grating_activations(responses)
    curves = responses.values.reshape(len(responses), -1, 4, 2).mean(axis=(1, 3))
    return properties_common.calc_circular_variance(curves, np.arange(0, 180, 45.0))


def test_score_uses_the_responsive_units_at_the_stimulus(world):
    seen = {}

    def similarity(values, assembly):
        seen["values"] = values
        assert assembly is target
        return Score(0.4)

    target = recorded(world)
    model = world.V1()
    benchmark = properties_common.PropertiesBenchmark(
        "Test2020-circular_variance",
        assembly=target,
        neuronal_property=circular_variance,
        similarity_metric=similarity,
        timebins=[(70, 170)],
        ceiling_func=lambda assembly: Score(0.5 if assembly is target else 0.1),
        version=1,
        parent="V1-orientation",
    )
    score = benchmark(model)
    assert float(score) == pytest.approx(0.8)
    assert float(benchmark.ceiling) == 0.5
    there = (model.centres == 0.5).all(axis=1) & (model.gain > 0)
    assert len(seen["values"]) == score.attrs["n_model_units"] == there.sum()
    assert score.attrs["n_trials"] == 7
    assert model.recorded == ("V1", [(70, 170)])
    assert [name for name, _ in model.shown].count("Marques2020_orientation") == 2
    assert (model.shown[0][1], model.shown[-1]) == (10, ("Marques2020_blank", 7))


def test_rejects_several_regions(world):
    target = recorded(world)
    mixed = target.assign_coords(region=("neuroid", ["V1"] * 11 + ["V2"]))
    mixed.attrs.update(target.attrs)
    benchmark = properties_common.PropertiesBenchmark(
        "x", mixed, None, lambda *_: Score(1), [(70, 170)], ceiling_func=lambda _: 1, version=1
    )
    with pytest.raises(AssemblyError, match="V2"):
        benchmark(world.V1())


def test_steps_are_not_shared_between_different_gratings(world, monkeypatch):
    far = world.gratings("Far", position_x=[-0.5], position_y=[-0.5], orientation=world.ORIENTATIONS)
    monkeypatch.setitem(world.SETS, "Far", far)
    other = GratingSets("Marques2020_blank", "Marques2020_receptive_field", "Far")
    found = []

    def median_rate(model_identifier, responses, baseline):
        return float(np.median(responses.values))

    def similarity(value, assembly):
        found.append(value)
        return Score(0.5)

    settings = {"timebins": [(70, 170)], "ceiling_func": lambda _: Score(1), "version": 1}
    usual, others = (
        properties_common.PropertiesBenchmark("x", recorded(world), median_rate, similarity, **settings, **more)
        for more in ({}, {"gratings": other})
    )
    for candidate in (world.V1(), SharedCandidate(world.V1())):
        usual(candidate)
        others(candidate)
    assert found[0] != found[1]  # different units determine the firing-rate scale
    assert found[2:] == found[:2]
