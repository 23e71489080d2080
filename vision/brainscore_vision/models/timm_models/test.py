"""Networks of timm, tested without timm; for tests with it see vision/tests/frameworks/test_timm_models.py."""

import re

import pytest

from brainscore_core.errors import RequirementsError
from brainscore_vision.models.timm_models import model


@pytest.mark.parametrize("name", model.get_model_list())
def test_weights_are_pinned_by_revision_and_digest(name):
    weights = model.MODELS[name].weights
    assert re.fullmatch(
        r"https://huggingface\.co/timm/[\w.]+/resolve/[0-9a-f]{40}/(open_clip_)?model\.safetensors", weights.url
    )
    assert re.fullmatch(r"[0-9a-f]{64}", weights.sha256)
    assert weights.licence in ("Apache-2.0", "MIT")


@pytest.mark.parametrize("name", model.get_model_list())
def test_regions_are_in_the_order_of_layers(name):
    known = model.MODELS[name]
    places = [known.layers.index(known.region_layer_map[region]) for region in ("V1", "V2", "V4", "IT")]
    assert places == sorted(set(places))
    assert known.features in model.get_layers(name)


@pytest.mark.parametrize("get", [model.get_model, model.get_layers, model.get_bibtex])
def test_unknown_name_is_refused(get):
    with pytest.raises(ValueError, match=r"no model 'vit_b_61'; expected one of vit_b_16, convnext_tiny"):
        get("vit_b_61")


def test_missing_timm_is_reported_before_any_download(monkeypatch):
    def absent(name, *args):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("importlib.import_module", absent)
    monkeypatch.setattr(model, "fetch_weights", lambda *_: pytest.fail("it was downloaded"))
    with pytest.raises(RequirementsError, match=r"needs the package 'timm'.*pip install timm==1\.0\.31"):
        model.get_model("vit_b_16")
