import sys

import pytest

import brainscore_vision
from brainscore_core.errors import ConfigurationError, UnknownIdentifierError
from brainscore_core.plugin_management import import_plugin
from brainscore_core.plugin_management.index import PluginRoot
from brainscore_vision import loading
from brainscore_vision.isolation.prepared import plugin_folder
from brainscore_vision.model_interface import BrainModel

PLUGINS = {
    "data/lab2026": """
        from brainscore_vision import data_registry, stimulus_set_registry, load_stimulus_set
        data_registry['Lab2026'] = lambda: ['measurements', load_stimulus_set('Lab2026')]
        stimulus_set_registry['Lab2026'] = lambda: 'stimuli'
        """,
    "metrics/example": """
        from brainscore_vision import metric_registry
        class Metric:
            def __init__(self, *args, **kwargs): self.given = args, kwargs
            def __call__(self, source, target): pass
        metric_registry['example'] = Metric
        """,
    "benchmarks/lab2026": """
        import brainscore_vision
        from brainscore_vision import benchmark_registry
        class Benchmark:
            def __init__(self):
                self.data = brainscore_vision.load_dataset('Lab2026')
            def __call__(self, candidate): pass
        benchmark_registry['Lab2026.IT-example'] = Benchmark
        """,
    "models/tiny-0.1": """
        from brainscore_vision import model_registry
        class Model:
            def look_at(self, stimuli, number_of_trials=1): pass
        model_registry['tiny'] = lambda: Model()
        """,
}


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """Replace the plugins of `brainscore_vision` by those above."""
    for place, source in PLUGINS.items():
        (tmp_path / place).mkdir(parents=True)
        lines = source.strip().splitlines()
        (tmp_path / place / "__init__.py").write_text("\n".join(line.removeprefix(" " * 8) for line in lines))
    roots = [
        PluginRoot(folder=folder, path=tmp_path / folder, package=f"brainscore_vision.{folder}")
        for folder in ("data", "metrics", "benchmarks", "models")
    ]
    monkeypatch.setattr(import_plugin, "library_roots", lambda library: roots)
    registries = [getattr(brainscore_vision, name) for name in brainscore_vision.registries.__all__]
    before = [dict(registry) for registry in registries]
    modules = set(sys.modules)
    for registry in registries:
        registry.clear()
    yield tmp_path
    for registry, content in zip(registries, before, strict=True):
        registry.clear()
        registry.update(content)
    for name in set(sys.modules) - modules:
        if "lab2026" in name or "tiny" in name or name.endswith("metrics.example"):
            del sys.modules[name]


def test_every_kind_has_a_loading_function(plugins):
    assert loading.load_dataset("Lab2026") == ["measurements", "stimuli"]
    assert loading.load_stimulus_set("Lab2026") == "stimuli"
    assert loading.load_benchmark("Lab2026.IT-example").data == ["measurements", "stimuli"]
    assert type(loading.load_model("tiny")).__name__ == "Model"


def test_each_load_returns_a_new_unchanged_model(plugins):
    first, second = loading.load_model("tiny"), loading.load_model("tiny")
    assert first is not second
    assert vars(first) == {}


@pytest.mark.parametrize("load", [loading.load_metric, loading.load_ceiling])
def test_metrics_and_ceilings_take_arguments(plugins, load):
    assert load("example", 1, splits=2).given == ((1,), {"splits": 2})
    assert load("example").given == ((), {})


def test_registrations_at_run_time_are_loaded(plugins):
    mine = BrainModel()
    brainscore_vision.model_registry["mine"] = lambda: mine
    assert loading.load_model("mine") is mine
    assert loading.known_identifiers("models") == ["mine", "tiny"]


def test_error_explains_an_identifier_of_another_kind(plugins):
    with pytest.raises(UnknownIdentifierError) as caught:
        loading.load_model("Lab2026.IT-example")
    assert str(caught.value) == (
        "No model is registered as 'Lab2026.IT-example' (1 known). 'Lab2026.IT-example' is the identifier of a "
        "benchmark: use load_benchmark('Lab2026.IT-example'). Models live in brainscore_vision/models."
    )


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("google/vit-base-patch16-224", "'transformers:google/vit-base-patch16-224'"),
        ("hf-hub:google/vit-base-patch16-224", "'transformers:google/vit-base-patch16-224'"),
        ("https://huggingface.co/google/vit-base-patch16-224", "'transformers:google/vit-base-patch16-224'"),
        ("hf-hub:timm/vit_base_patch16_224.augreg_in21k", "'timm:vit_base_patch16_224.augreg_in21k'"),
        ("timm/resnet18.a1_in1k", "'timm:resnet18.a1_in1k'"),
        ("vit_base_patch16_224", "'timm:vit_base_patch16_224' or 'torchvision:vit_base_patch16_224'"),
        ("resnet18", "'timm:resnet18' or 'torchvision:resnet18'"),
    ],
)
def test_error_suggests_the_scheme_of_a_library_network(plugins, name, offered):
    with pytest.raises(UnknownIdentifierError) as caught:
        loading.load_model(name)
    message = str(caught.value)
    assert message.startswith(f"No model is registered as {name!r} (1 known).")
    assert message.endswith(f"To load a network from a library or hub, put its scheme before the name: {offered}.")


def test_error_suggests_the_scheme_before_isolation_starts():
    with pytest.raises(UnknownIdentifierError, match="put its scheme before the name: 'transformers:lab/network'"):
        plugin_folder("lab/network")


@pytest.mark.parametrize("name", ["tinny", "MyLab2026", "Lab2026.IT-example", "mine:net"])
def test_error_suggests_no_scheme_for_unknown_names(plugins, name):
    with pytest.raises(UnknownIdentifierError) as caught:
        loading.load_model(name)
    assert "scheme:" not in str(caught.value)


@pytest.mark.parametrize("kind", ["model", "models"])
def test_plugin_folder_is_found_without_importing_it(plugins, kind):
    assert loading.find_plugin_directory(kind, "tiny") == plugins / "models" / "tiny-0.1"
    assert "brainscore_vision.models.tiny-0.1" not in sys.modules


def test_rejects_a_missing_plugin_folder(plugins):
    with pytest.raises(UnknownIdentifierError, match="Did you mean 'tiny'"):
        loading.find_plugin_directory("model", "tinny")
    with pytest.raises(ConfigurationError, match="Unknown kind of plugin 'network'"):
        loading.find_plugin_directory("network", "tiny")


def test_errors_are_caught_by_callers_of_the_published_system(plugins):
    for error in (AssertionError, KeyError):
        with pytest.raises(error):
            loading.load_stimulus_set("none")


def test_every_plugin_of_the_library_can_be_read():
    from brainscore_core.plugin_management.index import PluginIndex, library_roots

    index = PluginIndex(library_roots("brainscore_vision"))
    for folder in ("data", "metrics", "benchmarks", "models"):
        assert [plugin.problem for plugin in index.broken(folder)] == []


@pytest.mark.parametrize("kind", ["data", "stimulus_set", "metric", "benchmark", "model"])
def test_no_identifier_of_the_library_is_registered_twice(kind):
    for identifier in loading.known_identifiers(kind):
        if identifier not in getattr(brainscore_vision, f"{kind}_registry"):
            loading.find_plugin_directory(kind, identifier)  # raises DuplicateIdentifierError
