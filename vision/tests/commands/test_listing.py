import json
from pathlib import Path

import pytest

from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_vision.__main__ import main
from brainscore_vision.catalogue.describe import describe
from brainscore_vision.catalogue.facts import benchmark_facts
from brainscore_vision.loading import known_identifiers


def lines(capsys, *arguments, code=0):
    assert main(list(arguments)) == code
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("kind", ["models", "benchmarks", "metrics", "data", "stimulus_sets"])
def test_list_prints_only_names_in_a_pipe(capsys, kind):
    assert lines(capsys, "list", kind) == known_identifiers(kind)


def test_all_models_have_a_state(capsys):
    rows = json.loads("\n".join(lines(capsys, "list", "models", "--all", "--format", "json")))
    states = {row["identifier"]: row["state"] for row in rows}
    assert states["densenet-121"] == states["pixels"] == "can be loaded"
    assert states["I3D"] == "cannot be loaded: needs a package of its authors that is on no index"


@pytest.mark.usefixtures("shared_caches")
def test_benchmarks_are_filtered_by_region_access_and_data(capsys):
    rows = json.loads("\n".join(lines(capsys, "list", "benchmarks", "--format", "json")))
    found = {row.pop("identifier"): row for row in rows}
    published = (Path(__file__).parents[1] / "published_identifiers.txt").read_text().splitlines()
    benchmarks = {line.split(" ")[2] for line in published if line.startswith("benchmarks ")}
    assert (
        benchmarks <= set(found) <= set(known_identifiers("benchmark"))
    )  # the others may need packages that are not installed
    here = {"access": "public", "data here": "yes"}
    assert found["SimulatedCortex2026.IT-pls"] == {"region": "IT", "kind": "neural", **here}
    assert found["SimulatedCortex2026-i2n"] == {"region": "-", "kind": "behavior", **here}
    away = {"data here": "no"}
    assert found["MajajHong2015public.IT-pls"] == {"region": "IT", "kind": "neural", "access": "public", **away}
    assert found["MajajHong2015.IT-pls"] == {"region": "IT", "kind": "neural", "access": "private", **away}
    assert found["ImageNet-top1"] == {"region": "-", "kind": "engineering", "access": "private", **away}
    assert {row["kind"] for row in found.values()} == {"neural", "behavior", "engineering"}
    offline = lines(capsys, "list", "benchmarks", "--region", "it", "--public", "--offline")
    simulated = {name for name in found if name.startswith("SimulatedCortex2026.")}
    expected = sorted(name for name in simulated if name.startswith("SimulatedCortex2026.IT-"))
    assert [name for name in offline if name in benchmarks | simulated] == expected
    public = lines(capsys, "list", "benchmarks", "--region", "IT", "--public")
    assert {"MajajHong2015public.IT-pls", *offline} < set(public)
    assert "MajajHong2015.IT-pls" not in public
    engineering = lines(capsys, "list", "benchmarks", "--kind", "engineering")
    assert "ImageNet-top1" in engineering
    assert not {name for name in engineering if name.endswith("-pls")}


@pytest.mark.usefixtures("shared_caches")
def test_error_for_an_unknown_region_lists_the_known_ones(capsys):
    assert main(["list", "data", "--region", "V9"]) == 2
    assert "No data are registered for the region 'V9'; expected one of IT, V1, V2, V4" in " ".join(
        capsys.readouterr().err.split()
    )


@pytest.mark.usefixtures("shared_caches")
@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("MajajHong2015.IT-pls", {"region": "IT", "stimuli": "2560", "neuroids": "168", "metric": "pls"}),
        ("MajajHong2015public.V4-pls", {"region": "V4", "stimuli": "3200", "neuroids": "88", "metric": "pls"}),
        (
            "SimulatedCortex2026.V1-pref_or",
            {"region": "V1", "stimuli": "64", "neuroids": "240", "metric": "ks_similarity"},
        ),
        ("SimulatedCortex2026-i2n", {"stimuli": "250", "metric": "i2n"}),
    ],
)
def test_describe_gives_the_facts_of_a_benchmark(identifier, expected):
    (description,) = describe(identifier)
    facts = dict(description.lines)
    assert {label: facts.get(label) for label in ("region", "stimuli", "neuroids", "metric")} == {
        **dict.fromkeys(("region", "stimuli", "neuroids", "metric")),
        **expected,
    }


def test_table_format_has_headers(capsys):
    header, *rows = lines(capsys, "list", "models", "--format", "table")
    assert header.split() == ["IDENTIFIER", "ACCESS", "LICENCE", "PLUGIN"]
    assert {"alexnet", "vgg_16"} < {row.split()[0] for row in rows}
    header = lines(capsys, "list", "data", "--region", "IT", "--format", "table")[0]
    assert header.split() == ["IDENTIFIER", "REGION", "ACCESS", "DATA", "HERE", "PLUGIN"]


@pytest.mark.parametrize(
    "arguments", [["models", "--region", "IT"], ["metrics", "--offline"], ["data", "--kind", "neural"], ["plugins"]]
)
def test_rejects_filters_that_do_not_apply(arguments):
    assert main(["list", *arguments]) == 2


def test_benchmark_facts_are_cached_and_install_nothing(monkeypatch):
    told = []
    monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", "yes")
    (first,) = benchmark_facts("SimulatedCortex2026.V1-pls", told.append)
    assert len(told) == 1
    assert [entry.identifier for entry in first.data] == ["SimulatedCortex2026"]
    monkeypatch.setattr("brainscore_vision.catalogue.needs.load_benchmark", None)
    assert benchmark_facts("SimulatedCortex2026.V1-pls", told.append) == [first]
    assert len(told) == 1
    assert benchmark_facts("SimulatedCortex2026.V1-absent") == []


def test_benchmark_that_cannot_be_built_is_still_listed(monkeypatch):
    def broken(identifier):
        raise ImportError(identifier)

    monkeypatch.setattr("brainscore_vision.catalogue.needs.load_benchmark", broken)
    monkeypatch.setattr("brainscore_vision.catalogue.needs._made", broken)
    (facts,) = benchmark_facts("SimulatedCortex2026.V1-pls")
    assert (facts.region, facts.kind, facts.data, facts.here) == ("V1", None, None, "?")


# -- info --------------------------------------------------------------------------------------------------------------


def info_of(capsys, name):
    printed = lines(capsys, "info", name)
    return printed[0], {
        line.split(maxsplit=1)[0]: line.split(maxsplit=1)[1] for line in printed[1:] if line.split()[1:]
    }


@pytest.mark.usefixtures("shared_caches")
def test_info_of_a_benchmark(capsys, own_homes):
    title, found = info_of(capsys, "MajajHong2015public.IT-pls")
    assert title == "MajajHong2015public.IT-pls (benchmark)"
    assert found["kind"] == "neural, IT"
    assert found["access"] == "public"
    assert found["data"] == "hvm-public (stimulus_set, not here)"
    assert found["ceiling"] == "known after the first model is scored"
    assert found["takes"] == "about 5 minutes and 4 GB of memory"
    assert found["citation"].startswith("@article{majajhong2015simple")
    record = ScoreRecord.without_score("failed:X", model="m", benchmark="MajajHong2015public.IT-pls")
    record = ScoreRecord(**{**vars(record), "status": "scored", "ceiling": 0.8172, "benchmark_version": 3})
    record.write(record_path(own_homes / "brain-score" / "scores", record.model, record.benchmark))
    assert info_of(capsys, "MajajHong2015public.IT-pls")[1]["ceiling"].startswith("0.8172 (version 3, ")
    assert info_of(capsys, "MajajHong2015.IT-pls")[1]["public"] == "MajajHong2015public.IT-pls"


@pytest.mark.parametrize(
    ("name", "kind", "labels"),
    [
        ("alexnet", "model", {"what", "access", "licence", "citation"}),
        ("I3D", "model", {"what", "state"}),
        ("densenet-121", "model", {"what", "source"}),
        ("pls", "metric", {"what", "citation"}),
        ("MajajHong2015.public", "data", {"species", "stimuli", "cached", "bucket", "sha1", "licence", "contact"}),
        ("hvm-public", "stimulus_set", {"cached", "bucket", "sha1"}),
    ],
)
def test_info_of_every_kind(capsys, name, kind, labels):
    title, found = info_of(capsys, name)
    assert title == f"{name} ({kind})"
    assert labels <= set(found)


def test_info_of_a_folder_covers_all_its_identifiers(capsys):
    printed = lines(capsys, "info", "regression_correlation")
    assert {"pls (metric)", "ridge (metric)"} <= set(printed)


def test_info_rejects_an_unknown_name(capsys):
    assert main(["info", "alexnt"]) == 2
    assert "Did you mean 'alexnet'?" in capsys.readouterr().err
