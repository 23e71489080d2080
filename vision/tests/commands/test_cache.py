import json
import os

import numpy as np
import pytest
from PIL import Image

from brainscore_vision.__main__ import main
from brainscore_vision.model_helpers.activations.cache import layout as cache_layout
from brainscore_vision.model_helpers.activations.cache import stored_entries
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper


def brightness(paths):
    return np.asarray([np.asarray(Image.open(path), dtype=float).mean() for path in paths])


@pytest.fixture
def stimuli(write_stimuli):
    return write_stimuli({f"s{index}": np.full((4, 4, 3), 10 * index) for index in range(5)})


def record(stimuli, *layers, weight=2.0, batch_size=2, stop_at=None, **options):
    """Record layers of a model that multiplies its inputs by its weight."""
    seen = []

    def model(inputs, names):
        seen.append(len(inputs))
        if len(seen) == stop_at:
            raise KeyboardInterrupt
        return {name: np.outer(inputs, np.arange(1, 101)) * weight for name in names}

    parts = {"weights": str(weight), "code and settings": "code"}
    helper = ActivationsExtractorHelper(
        model,
        brightness,
        "net",
        batch_size=batch_size,
        model_digest=None if options else lambda: parts,
        check_steady=False,
    )
    return helper(stimuli, layers=list(layers))


def out(capsys, *arguments, code=0):
    assert main(["cache", *arguments]) == code
    return capsys.readouterr().out


def test_commands_on_an_empty_cache(capsys):
    assert out(capsys, "list").startswith("0 entries, 0.0 MB of ")
    assert out(capsys, "explain") == "This cache has no record of a call for activations.\n"
    assert out(capsys, "clean", "--all") == "Removed 0 entries, 0.0 MB; 0 remaining.\n"


def test_list_distinguishes_whole_and_partial_entries(capsys, stimuli):
    record(stimuli, "a")
    with pytest.raises(KeyboardInterrupt):
        record(stimuli, "b", stop_at=3)
    first, second, total = out(capsys, "list").splitlines()
    assert "whole" in first
    assert "net a" in first
    assert "partial" in second
    assert "4/5 stimuli" in second
    assert total.startswith("2 entries, 0.0 MB of ")
    listed = json.loads(out(capsys, "list", "--json"))
    assert [(each["layers"], each["state"], each["finished"]) for each in listed] == [
        (["a"], "whole", 5),
        (["b"], "partial", 4),
    ]
    assert listed[0]["parts"]["batch size"] == 2
    assert listed[0]["about"]["model"] == "net"
    assert listed[0]["size_bytes"] > 5 * 100 * 8


def test_list_verifies_on_demand(capsys, stimuli):
    record(stimuli, "a")
    (stored,) = stored_entries()
    assert "damaged" not in out(capsys, "list", "--verify")
    with (stored.folder / "values.npy").open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        stream.write(b"?")
    assert "whole" in out(capsys, "list")
    assert "damaged" in out(capsys, "list", "--verify", code=1)
    assert out(capsys, "clean", "--damaged").startswith("Removed 1 entry")
    assert stored_entries() == []


def test_explain_names_the_parts_that_differ(capsys, stimuli):
    record(stimuli, "a")
    assert "miss: a; no other entry to compare it with" in out(capsys, "explain")
    record(stimuli, "a")
    assert out(capsys, "explain").splitlines()[1:] == ["  hit: a"]
    record(stimuli, "a", "b", weight=3.0, batch_size=4)
    lines = out(capsys, "explain").splitlines()[1:]
    assert lines[0] == "  miss: a; the nearest entry (net a) differs in:"
    assert out(capsys, "explain").count("batch size: 4 in this call, 2 in the entry") == 2
    record(stimuli, "a", weight=3.0, batch_size=5)
    assert out(capsys, "explain").splitlines()[1:] == [
        "  miss: a; the nearest entry (net a, b) differs in:",
        "    batch size: 5 in this call, 4 in the entry",
    ]
    record(stimuli, "a", weight=4.0, batch_size=5)
    assert "    model weights: 4.0 in this call, 3.0 in the entry" in out(capsys, "explain")
    assert out(capsys, "explain", "--last", "3").count("stimuli, first ") == 3


def test_layers_recorded_together_are_one_entry(capsys, stimuli):
    record(stimuli, "a", "b", "c", "d", "e")
    line, total = out(capsys, "list").splitlines()
    assert "net a, b, c and 2 more" in line
    assert total.startswith("1 entry")
    record(stimuli, "d")
    assert out(capsys, "explain").splitlines()[1:] == ["  hit: d"]
    record(stimuli, "a", "f")
    assert out(capsys, "explain").splitlines()[1:] == [
        "  hit: a",
        "  miss: f; the nearest entry (net a, b, c and 2 more) differs in:",
        "    layer: f in this call, a, b, c, d, e in the entry",
    ]


@pytest.mark.parametrize("index", ["entry.json", "progress.jsonl"])
def test_outdated_entries_are_ignored_and_can_be_removed(capsys, stimuli, index):
    record(stimuli, "a")
    (stored,) = stored_entries()
    before = cache_layout.sealed({"format": cache_layout.FORMAT - 1, "key": stored.key, "layer": "a", "n_stimuli": 5})
    if index != "entry.json":
        (stored.folder / "entry.json").unlink()
    (stored.folder / index).write_text(before)
    assert "outdated" in out(capsys, "list")
    np.testing.assert_array_equal(record(stimuli, "a").values[:, 0], 20.0 * np.arange(5))
    assert "whole" in out(capsys, "list")
    (stored.folder / "progress.jsonl").unlink(missing_ok=True)
    (stored.folder / index).write_text(before)
    if index != "entry.json":
        (stored.folder / "entry.json").unlink()
    assert out(capsys, "clean", "--damaged").startswith("Removed 1 entry")


def test_explain_reports_uncached_and_resumed_layers(capsys, stimuli):
    record(stimuli, "a", digest=None)
    assert "not cached: nothing identifies the model (model_digest)" in out(capsys, "explain")
    with pytest.raises(KeyboardInterrupt):
        record(stimuli, "a", stop_at=2)
    record(stimuli, "a")
    assert "resumed: a; continued from an interrupted extraction" in out(capsys, "explain")


def test_clean_removes_least_recently_used_entries(capsys, stimuli):
    for age, layer in enumerate("cba"):
        record(stimuli, layer)
        for stored in stored_entries():
            if stored.layers == [layer]:
                for path in stored.folder.iterdir():
                    os.utime(path, (1e9 + age, 1e9 + age))
    assert [stored.layers for stored in stored_entries()] == [["c"], ["b"], ["a"]]
    record(stimuli, "c")  # used again
    assert [stored.layers for stored in stored_entries()] == [["b"], ["a"], ["c"]]
    size_gb = max(stored.size_bytes for stored in stored_entries()) / 1e9
    assert out(capsys, "clean", "--to-gb", str(2.1 * size_gb)).startswith("Removed 1 entry")
    assert [stored.layers for stored in stored_entries()] == [["a"], ["c"]]


def test_clean_leaves_entries_in_use(capsys, stimuli):
    record(stimuli, "a")
    held = record(stimuli, "a")
    record(stimuli, "b")
    assert main(["cache", "clean", "--all"]) == 0
    said = capsys.readouterr()
    assert said.out.endswith("1 remaining.\n")
    assert "in use" in said.err
    np.testing.assert_array_equal(held.values[:, 0], 20.0 * np.arange(5))
    del held
    out(capsys, "clean", "--all")
    assert stored_entries() == []


def test_clean_leaves_the_file_of_a_layer_in_use(capsys, stimuli):
    record(stimuli, "a", "b")
    held = record(stimuli, "b").values[:, 3:5]
    for _ in range(2):
        assert main(["cache", "clean", "--all"]) == 0
        np.testing.assert_array_equal(held[:, 0], 80.0 * np.arange(5))
    assert [stored.state for stored in stored_entries()] == ["whole"]
    del held
    assert out(capsys, "clean", "--all").endswith("0 remaining.\n")


def test_clean_leaves_entries_being_written(capsys, stimuli):
    helper_saw = []

    def model(inputs, names):
        main(["cache", "clean", "--all"])
        helper_saw.append([stored.state for stored in stored_entries()])
        return dict.fromkeys(names, inputs[:, None])

    helper = ActivationsExtractorHelper(
        model, brightness, "net", batch_size=2, model_digest=lambda: "net", check_steady=False
    )
    np.testing.assert_array_equal(helper(stimuli, layers=["a"]).values[:, 0], 10.0 * np.arange(5))
    assert helper_saw == [[], ["partial"], ["partial"]]


@pytest.mark.parametrize("arguments", [["clean"], ["clean", "--all", "--damaged"], ["clean", "--to-gb", "-1"], []])
def test_rejects_wrong_usage(arguments):
    assert main(["cache", *arguments]) == 2


@pytest.mark.parametrize("size", ["inf", "nan", "many"])
def test_rejects_invalid_sizes(size, capsys):
    assert main(["cache", "clean", "--to-gb", size]) == 2
    assert "Removed" not in capsys.readouterr().out
