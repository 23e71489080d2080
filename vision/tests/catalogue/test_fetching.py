from functools import cache

import numpy as np
import pytest

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.command_line import NOT_AVAILABLE, WRONG_USAGE, run_app
from brainscore_core.errors import DownloadError, UnknownIdentifierError
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import benchmark_registry, load_dataset, load_stimulus_set
from brainscore_vision.benchmark_helpers.multi_subject import MultiSubjectNeuralBenchmark
from brainscore_vision.catalogue.facts import benchmark_facts
from brainscore_vision.catalogue.fetching import plan_of
from brainscore_vision.catalogue.needs import data_of
from brainscore_vision.commands.data import app
from brainscore_vision.loading import noting_data
from brainscore_vision.testing.stand_ins import draw_stimuli
from brainscore_vision.utils import LazyLoad

BENCHMARK = "Maniquet2024-tasks_consistency"


def run(*arguments):
    return run_app(app, ["fetch", *arguments], program="data")


def names(entries):
    return [(entry.kind, entry.identifier) for entry in entries]


# -- data of a benchmark -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("benchmark", "expected"),
    {
        BENCHMARK: [
            ("stimulus_set", "Maniquet2024-train"),
            ("stimulus_set", "Maniquet2024-test"),
            ("data", "Maniquet2024"),
        ],
        "Scialom2024_rgbEngineeringAccuracy": [("data", "Scialom2024_rgb"), ("stimulus_set", "Scialom2024_rgb")],
        "ImageNet-C-blur-top1": [("stimulus_set", "imagenet_c.blur")],
        "Malania2007.long2-threshold_elevation": [
            ("data", "Malania2007.vernier_only"),
            ("data", "Malania2007.long2"),
            ("stimulus_set", "Malania2007.long2_fit"),
            ("stimulus_set", "Malania2007.vernier_only"),
            ("stimulus_set", "Malania2007.long2"),
        ],
        "SimulatedCortex2026.V1-pls": [("data", "SimulatedCortex2026")],
    }.items(),
)
def test_data_of_known_benchmarks(benchmark, expected):
    assert names(data_of(benchmark)) == expected


def test_data_in_nested_attributes_are_found(monkeypatch):
    class Nested(BenchmarkBase):
        def __init__(self):
            hidden = LazyLoad(lambda: load_dataset("Scialom2024_contours"))
            self.parts = {"one": [LazyLoad(lambda: load_stimulus_set("imagenet_val"))], "again": self}
            super().__init__("Nested", ceiling_func=lambda: hidden.mean(), version=1)

    class Eager(BenchmarkBase):
        def __init__(self):
            self.stimuli = load_stimulus_set("BarbuMayo2019")[:10]

    monkeypatch.setitem(benchmark_registry, "Nested2026", Nested)
    monkeypatch.setitem(benchmark_registry, "Eager2026", Eager)
    assert set(names(data_of("Nested2026"))) == {
        ("stimulus_set", "imagenet_val"),
        ("data", "Scialom2024_contours"),
        ("stimulus_set", "Scialom2024_contours"),
    }
    assert names(data_of("Eager2026")) == [("stimulus_set", "BarbuMayo2019")]


def test_data_of_child_benchmarks_are_found(monkeypatch):
    def child(subject):
        part = BenchmarkBase(f"Child-{subject}", ceiling=1, version=1, parent="IT")
        part.assembly = LazyLoad(cache(lambda: load_dataset(f"Malania2007.{subject}")))
        return part

    monkeypatch.setitem(
        benchmark_registry, "Parts2026", lambda: MultiSubjectNeuralBenchmark("Parts2026", ["short2", "long2"], child)
    )
    assert names(data_of("Parts2026")) == [("data", "Malania2007.short2"), ("data", "Malania2007.long2")]


@pytest.mark.usefixtures("shared_caches")
def test_data_of_every_benchmark_are_known():
    facts = benchmark_facts()
    assert len(facts) > 250
    assert [fact.identifier for fact in facts if not fact.data] == []


def test_rejects_an_unknown_benchmark():
    with pytest.raises(UnknownIdentifierError, match="Did you mean 'ImageNet-top1'"):
        data_of("ImageNet-top2")


def test_noting_data_ends_with_its_block(monkeypatch):
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    with noting_data() as noted:
        load_stimulus_set("imagenet_val")
        load_stimulus_set("imagenet_val")
        load_stimulus_set("is not registered")
    assert noted == [("stimulus_set", "imagenet_val"), ("stimulus_set", "is not registered")]
    with pytest.raises(DownloadError):
        load_stimulus_set("imagenet_val")


# -- fetching ----------------------------------------------------------------------------------------------------------


def stand_in_images(stand_ins):
    for part in ("train", "test"):
        columns = {"image_label": ["cat", "bus"] * 3}
        stimuli = draw_stimuli(f"Maniquet2024-{part}", 6, columns=columns, size_px=16)
        stand_ins.stimuli(f"Maniquet2024-{part}", stimuli)


def stand_in_people(stand_ins):
    answers = answers_of(np.ones(2), stimulus_id=list("ab"), task=["control", "clutter_light"])
    stand_ins.data("Maniquet2024", answers)


def test_fetch_shows_sizes_then_fetches_the_files(stand_ins, capsys, monkeypatch):
    stand_in_images(stand_ins)
    stand_in_people(stand_ins)
    plan = plan_of(data_of(BENCHMARK))
    assert [each.n_files for each in plan] == [2, 2, 1]
    assert all(each.size_bytes > 500 and each.n_unknown == 0 for each in plan)
    assert run("--benchmark", BENCHMARK, "--dry-run") == 0
    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines()]
    assert rows[0] == ["IDENTIFIER", "KIND", "HERE", "TO", "FETCH"]
    assert [row[:3] for row in rows[1:]] == [
        ["Maniquet2024-train", "stimulus_set", "no"],
        ["Maniquet2024-test", "stimulus_set", "no"],
        ["Maniquet2024", "data", "no"],
    ]
    assert all(row[4] == "kB" for row in rows[1:])
    assert "5 files in total" in printed.err
    assert run("--benchmark", BENCHMARK) == 0
    assert "Maniquet2024-train (stimulus_set): 2 files" in capsys.readouterr().out
    assert [each.n_files for each in plan_of(data_of(BENCHMARK))] == [0, 0, 0]
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    assert len(load_stimulus_set("Maniquet2024-test")) == 6
    assert load_dataset("Maniquet2024").sizes["presentation"] == 2
    assert run("--benchmark", BENCHMARK) == 0
    assert "To fetch: 0 B, 0 files in total" in capsys.readouterr().err


@pytest.mark.slow
def test_unavailable_files_do_not_stop_the_others(stand_ins, capsys):
    stand_in_images(stand_ins)
    assert run("--benchmark", BENCHMARK) == NOT_AVAILABLE
    printed = capsys.readouterr()
    assert "1 file of unknown size" in printed.out
    assert "Not fetched: Maniquet2024 (data). Cannot download" in printed.err
    assert "1 of 3 could not be fetched" in printed.err
    assert [each.n_files for each in plan_of(data_of(BENCHMARK))] == [0, 0, 1]


def test_named_data_are_loaded(stand_ins, capsys):
    stand_in_images(stand_ins)
    assert run("Maniquet2024-test") == 0
    assert "Maniquet2024-test (stimulus_set): StimulusSet, 6 stimuli" in capsys.readouterr().out
    assert run("Maniquet2024") == NOT_AVAILABLE  # the other images are not there
    capsys.readouterr()
    assert run("ImageNetSlim15000") == NOT_AVAILABLE
    assert "there is no such file or version" in capsys.readouterr().err


def test_public_option_fetches_all_public_data(plugins, capsys, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    call = 'load_assembly_from_s3("{}", "v", "{}", "b")'
    digest = iter(f"{number:040d}" for number in range(12))

    def registered(*identifiers):
        return "\n".join(f'data_registry["{each}"] = lambda: {call.format(each, next(digest))}' for each in identifiers)

    for name, access in (("open", "public"), ("closed", "private"), ("silent", None), ("broken", "public: [")):
        identifiers = [name.title(), f"{name.title()}.private", f"{name.title()}.public"]
        folder = plugins(name, __init__=registered(*identifiers))
        if access:
            (folder / "metadata.yml").write_text(f"access: {access}\n")
    plugins("generated", __init__='data_registry["Generated.public"] = make_up')
    assert run("--public", "--dry-run") == 0
    printed = capsys.readouterr()
    listed = [line.split()[0] for line in printed.out.splitlines()[1:]]
    assert listed == ["Broken.public", "Closed.public", "Open", "Open.public", "Silent.public"]
    assert "5 files of unknown size" in printed.err
    assert "metadata.yml cannot be read, so its data are treated as private" in printed.err


def test_plugin_option_fetches_without_running_the_plugin(plugins, capsys, monkeypatch):
    """This protects credentials: the library reads a plugin's sources to find its files and never imports it."""
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    call = 'load_assembly_from_s3("Mine", "v", "{}", "b")'.format("0" * 40)
    stop = 'raise RuntimeError("a plugin runs")\n'
    plugins("mine", __init__=f'{stop}data_registry["Mine"] = lambda: {call}\ndata_registry["Computed"] = make_up')
    plugins("other", __init__=f'{stop}data_registry["Other"] = lambda: {call}')
    assert run("--plugin", "mine", "--dry-run") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == ["Mine"]
    assert run("--plugin", "mine") == NOT_AVAILABLE
    assert "a plugin runs" not in capsys.readouterr().err
    assert run("--plugin", "mien") == WRONG_USAGE
    assert "Did you mean 'mine'" in capsys.readouterr().err


def test_fetch_requires_a_target(capsys):
    assert run() == WRONG_USAGE
    assert "--benchmark NAME" in capsys.readouterr().err
