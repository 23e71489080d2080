"""The table of stimuli keeps its attributes; the loader reads files written by packaging and by older tools."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from brainscore_core.errors import MissingStimulusError, StimulusError
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet, StimulusSetLoader

PATHS = {"a": Path("/stimuli/a.png"), "b": Path("/stimuli/b.png"), "c": Path("/stimuli/c.png")}


@pytest.fixture
def stimuli():
    """Three stimuli in two categories."""
    columns = {"category": ["face", "face", "car"], "size": [1.5, 2.5, 3.5]}
    stimulus_set = StimulusSet({"stimulus_id": ["a", "b", "c"], **columns})
    stimulus_set.identifier = "Made2024"
    stimulus_set.stimulus_paths = PATHS
    return stimulus_set


OPERATIONS = {
    "mask": lambda s: s[s["size"] > 2],
    "iloc": lambda s: s.iloc[1:],
    "iloc list": lambda s: s.iloc[[2, 0]],
    "loc": lambda s: s.loc[[0, 2]],
    "loc columns": lambda s: s.loc[:, ["stimulus_id"]],
    "columns": lambda s: s[["stimulus_id", "size"]],
    "head": lambda s: s.head(1),
    "copy": lambda s: s.copy(),
    "shallow copy": lambda s: s.copy(deep=False),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda s: pickle.loads(pickle.dumps(s)),  # noqa: S301 -- made on the same line
    "constructor": StimulusSet,
    "constructor with columns": lambda s: StimulusSet(s, columns=["stimulus_id"]),
    "constructor with copy": lambda s: StimulusSet(s, copy=True),
    "sort_values": lambda s: s.sort_values("size", ascending=False),
    "sort_index": lambda s: s.sort_index(ascending=False),
    "drop_duplicates": lambda s: s.drop_duplicates(subset="category"),
    "reset_index": lambda s: s[s["size"] > 2].reset_index(drop=True),
    "set_index": lambda s: s.set_index("category"),
    "query": lambda s: s.query("size > 2"),
    "isin": lambda s: s[s["stimulus_id"].isin(["a"])],
    "sample": lambda s: s.sample(2, random_state=0),
    "assign": lambda s: s.assign(degrees=8),
    "rename": lambda s: s.rename(columns={"size": "degrees"}),
    "drop": lambda s: s.drop(columns="size"),
    "astype": lambda s: s.astype({"size": "float32"}),
    "fillna": lambda s: s.fillna(0),
    "merge with a table": lambda s: s.merge(pd.DataFrame({"category": ["face", "car"], "alive": [1, 0]})),
    "merge with itself": lambda s: s.merge(s[["stimulus_id"]], on="stimulus_id"),
    "merge from the right": lambda s: s.merge(pd.DataFrame({"stimulus_id": ["a"], "rank": [1]}), how="right"),
    "join": lambda s: s.join(pd.DataFrame({"rank": [1, 2, 3]})),
    "concat": lambda s: pd.concat([s.iloc[:1], s.iloc[1:]]),
    "concat of columns": lambda s: pd.concat([s[["stimulus_id"]], s[["size"]]], axis=1),
    "concat with a table": lambda s: pd.concat([s, pd.DataFrame({"stimulus_id": ["d"]})]),
    "group": lambda s: next(group for _, group in s.groupby("category")),
    "get_group": lambda s: s.groupby("category").get_group("face"),
    "groupby.apply": lambda s: s.groupby("category")[["stimulus_id"]].apply(lambda group: group.head(1)),
    "concat of groups": lambda s: pd.concat([group for _, group in s.groupby("category")]),
    "chain": lambda s: pd.concat([s[s["size"] > 2], s.head(1)]).merge(s[["stimulus_id"]]).sort_values("stimulus_id"),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_attributes_survive_operations_and_unset_ones_stay_unset(stimuli, operation):
    bare = StimulusSet(pd.DataFrame(stimuli))
    result = operation(bare)
    for attribute in ("identifier", "name", "stimulus_paths", "original_paths"):
        assert not hasattr(bare, attribute)
        assert not hasattr(result, attribute)
    with pytest.raises(AttributeError, match=r"stimulus_set\.identifier = "):
        _ = result.identifier
    result = operation(stimuli)
    assert type(result) is StimulusSet
    assert result.identifier == result.name == "Made2024"
    assert result.stimulus_paths == PATHS
    assert not hasattr(result, "original_paths")
    stimuli.original_paths = {"a": "/before/a.png"}
    assert operation(stimuli).original_paths == {"a": "/before/a.png"}


def test_selection_has_a_separate_identifier_but_shares_paths(stimuli):
    part = stimuli[stimuli["size"] > 2]
    part.identifier = "Made2024.large"
    assert stimuli.identifier == "Made2024"
    assert part.stimulus_paths is PATHS


def test_identifier_and_name_are_the_same(stimuli):
    stimuli.name = "First2024"
    assert stimuli.identifier == "First2024"
    stimuli.identifier = "Second2024"
    assert stimuli.name == "Second2024"
    del stimuli.identifier
    assert not hasattr(stimuli, "name")


def test_columns_may_be_named_like_attributes():
    stimuli = StimulusSet({"stimulus_id": ["a", "b"], "name": ["Ada", "Bob"], "identifier": [1, 2]})
    assert not hasattr(stimuli, "name")
    assert not hasattr(stimuli, "identifier")
    stimuli.name = "Made2024"
    assert stimuli["name"].tolist() == ["Ada", "Bob"]
    assert stimuli["identifier"].tolist() == [1, 2]
    assert stimuli[stimuli["name"] == "Bob"].identifier == "Made2024"


def test_pandas_names_groups_by_their_key(stimuli):
    seen = {}

    def look(group):
        seen[group.name] = (group.identifier, type(group), group.copy().name)
        return group

    stimuli.groupby("category")[["stimulus_id"]].apply(look)
    assert seen == dict.fromkeys(("face", "car"), ("Made2024", StimulusSet, "Made2024"))


def test_concat_joins_paths_and_leaves_contradictions_unset(stimuli):
    other = StimulusSet({"stimulus_id": ["d"]})
    other.identifier = "Made2024"
    other.stimulus_paths = {"d": "/stimuli/d.png"}
    both = pd.concat([stimuli, other])
    assert both.identifier == "Made2024"
    assert both.stimulus_paths == {**PATHS, "d": "/stimuli/d.png"}
    assert stimuli.stimulus_paths == PATHS
    other.identifier = "Other2024"
    other.stimulus_paths = {"a": "/elsewhere/a.png"}
    both = pd.concat([stimuli, other])
    assert not hasattr(both, "identifier")
    assert not hasattr(both, "stimulus_paths")


def test_operations_keep_a_subclass(stimuli):
    class Videos(StimulusSet):
        pass

    assert type(Videos(stimuli)[["stimulus_id"]]) is Videos
    assert Videos(stimuli).identifier == "Made2024"


def test_get_stimulus_returns_the_path_or_explains_the_error(stimuli):
    assert stimuli.get_stimulus("b") is PATHS["b"]
    with pytest.raises(KeyError, match=r"'img'.*'Made2024' \(3 known\)"):
        stimuli.get_stimulus("img")
    with pytest.raises(AttributeError, match="stimulus_paths"):
        StimulusSet({"stimulus_id": ["a"]}).get_stimulus("a")
    stimuli.stimulus_paths = {1: "/stimuli/1.png"}
    with pytest.raises(KeyError, match="of type int"):
        stimuli.get_stimulus("xyz")


# --- loading ----------------------------------------------------------------------------------------------------------


def load(tmp_path, content, names=("a.png", "b.png")):
    (tmp_path / "set.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    for name in names:
        (tmp_path / name).write_bytes(b"x")
    return StimulusSet.from_files(tmp_path / "set.csv", tmp_path)


def test_from_files_reads_table_and_paths(tmp_path):
    stimuli = load(tmp_path, "stimulus_id,filename,object_name,size\nb,b.png,car,0.1\na,a.png,face,\n")
    assert stimuli["stimulus_id"].tolist() == ["b", "a"]
    assert stimuli.stimulus_paths == {"a": tmp_path / "a.png", "b": tmp_path / "b.png"}
    assert stimuli["size"].isna().tolist() == [False, True]
    assert not hasattr(stimuli, "identifier")


def test_older_integer_ids_stay_integers(tmp_path):
    # Published benchmarks compare them with integer coordinates of their assemblies.
    stimuli = load(tmp_path, "stimulus_id,filename\n7,a.png\n")
    assert stimuli["stimulus_id"].tolist() == [7]
    assert stimuli.get_stimulus(stimuli["stimulus_id"].values[0]) == tmp_path / "a.png"


def test_quoted_values_stay_text(tmp_path):
    header = '"stimulus_id","filename","note","number","mixed","signed","value"\n'
    rows = '"007","a.png","NA",1,1,"+5",-5\n"008","b.png","say ""hi"", now",2,"x","-5",5\n'
    stimuli = load(tmp_path, header + rows)
    assert stimuli["stimulus_id"].tolist() == ["007", "008"]
    assert stimuli["note"].tolist() == ["NA", 'say "hi", now']
    assert stimuli["number"].tolist() == [1, 2]
    assert stimuli["mixed"].tolist() == ["1", "x"]
    assert stimuli["signed"].tolist() == ["+5", "-5"]
    assert stimuli["value"].tolist() == [-5, 5]


def test_numbers_are_read_exactly(tmp_path):
    number = 0.1 + 0.2  # 0.30000000000000004: the last digit is lost by pandas' default parser for some numbers
    numbers = [number, 1e-300, 123456789.123456789, 5e-324]
    rows = "".join(f"{i},a.png,{value!r}\n" for i, value in enumerate(numbers))
    assert load(tmp_path, "stimulus_id,filename,v\n" + rows)["v"].tolist() == numbers


def test_image_id_becomes_stimulus_id_unless_both_exist(tmp_path):
    stimuli = load(tmp_path, "image_id,filename\na,a.png\n")
    assert stimuli["stimulus_id"].tolist() == ["a"]
    assert stimuli["image_id"].tolist() == ["a"]  # published plugins read it
    assert stimuli.get_stimulus("a") == tmp_path / "a.png"
    stimuli = load(tmp_path, "image_id,stimulus_id,filename\nold,new,a.png\n")
    assert (stimuli["image_id"].tolist(), stimuli["stimulus_id"].tolist()) == (["old"], ["new"])


def test_error_names_all_missing_files(tmp_path):
    rows = "".join(f"s{i},{i}.png\n" for i in range(14))
    with pytest.raises(MissingStimulusError) as caught:
        load(tmp_path, "stimulus_id,filename\n" + rows, ["3.png"])
    message = str(caught.value)
    for part in ("13 of 14 stimulus files", "'s0': ", str(tmp_path / "2.png"), "... and 3 more"):
        assert part in message
    assert "3.png" not in message.replace("13.png", "")
    assert isinstance(caught.value, (FileNotFoundError, AssertionError))


def test_loader_class_can_be_overridden(tmp_path):
    class UpperCase(StimulusSetLoader):
        def load(self):
            loaded = super().load()
            loaded["object_name"] = loaded["object_name"].str.upper()
            return loaded

    class Shouting(StimulusSet):
        @classmethod
        def get_loader_class(cls):
            return UpperCase

    load(tmp_path, "stimulus_id,filename,object_name\na,a.png,car\n")
    loaded = Shouting.from_files(tmp_path / "set.csv", tmp_path)
    assert type(loaded) is Shouting
    assert loaded["object_name"].tolist() == ["CAR"]
    assert loaded.get_stimulus("a") == tmp_path / "a.png"


# --- damaged and hostile tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"stimulus_id,filename\na,a.png\nb,b\0.png\n", "line 3 holds a NUL byte"),
        (b"\0" * 100, "line 1 holds a NUL byte"),
        (b"stimulus_id,x\na.png,1\n", "no column 'filename'"),
        (b"filename,x\na.png,1\n", "no column 'stimulus_id'"),
        (b"stimulus_id,filename\n\xff\xfe,a.png\n", "not text in UTF-8"),
        (b"stimulus_id,filename,stimulus_id\na,a.png,b\n", "duplicate columns .stimulus_id"),
        (b"stimulus_id,filename,filename\na,a.png,b.png\n", "duplicate columns .filename"),
        (b"stimulus_id,filename\na,a.png,more\n", "more fields than its header"),
        (b"stimulus_id,filename\na,a.png\nb,b.png,more\n", "not a table"),
        (b"", "not a table"),
        (b"stimulus_id,filename\na,../a.png\n", "outside of its folder .*'../a.png'"),
        (b"stimulus_id,filename\na,sub/../../a.png\n", "outside of its folder"),
        (b"stimulus_id,filename\na,/etc/passwd\n", "outside of its folder"),
        (b"stimulus_id,filename\na,..\\a.png\n", "outside of its folder"),
        (b'"stimulus_id","filename"\n"a","a.png', "not a table"),
        (b"stimulus_id,filename\na,a.png\nb,\n", "row 3: filename is empty"),
        (b'"stimulus_id","filename"\n"","a.png"\n', "row 2: stimulus_id is empty"),
        (b"stimulus_id,filename\na," + b"x" * 256 + b"\n", "longer than 255 bytes"),
        (b"stimulus_id,filename\na," + "\xe9".encode() * 128 + b"\n", "longer than 255 bytes"),
        (b"stimulus_id,filename\na," + b"x/" * 2500 + b"\n", "longer"),
        (b"stimulus_id,filename\na,a.png\na,b.png\n", "'a' is given to 'a.png' and 'b.png'"),
    ],
)
def test_rejects_damaged_tables(tmp_path, content, problem):
    with pytest.raises(StimulusError, match=problem):
        load(tmp_path, content)


@pytest.mark.parametrize("quote", ["", '"'])
def test_byte_order_mark_is_ignored(tmp_path, quote):
    text = "stimulus_id,filename\n007,a.png\n".replace("007", f"{quote}007{quote}")
    text = text.replace("stimulus_id", f"{quote}stimulus_id{quote}")
    stimuli = load(tmp_path, b"\xef\xbb\xbf" + text.encode())
    assert list(stimuli.columns) == ["stimulus_id", "filename"]
    assert stimuli["stimulus_id"].tolist() == ["007" if quote else 7]


def test_other_columns_may_be_repeated(tmp_path, caplog):
    stimuli = load(tmp_path, b"stimulus_id,filename,note,note\na,a.png,first,second\n")
    assert (stimuli["note"].tolist(), stimuli["note.1"].tolist()) == (["first"], ["second"])
    assert "note" in caplog.text


@pytest.mark.parametrize("cell", ["=1+1", "=cmd|' /C calc'!A0", "+cmd", "-cmd", "@SUM(A1)", "=HYPERLINK(x)"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_formulas_are_text(tmp_path, cell, quote):
    """Formulas that a spreadsheet program would evaluate are plain text here and stay unchanged."""
    text = f"{quote}stimulus_id{quote},filename,note\na,a.png,{quote}{cell}{quote}\nb,b.png,{quote}{cell}{quote}\n"
    assert load(tmp_path, text)["note"].tolist() == [cell, cell]


@pytest.mark.slow
def test_a_million_rows_are_read(tmp_path):
    n = 1_000_000
    (tmp_path / "one.png").write_bytes(b"shown again and again")
    ids = np.char.add("stimulus", np.arange(n).astype(str))
    table = pd.DataFrame({"stimulus_id": ids, "filename": "one.png", "contrast": np.arange(n) / n})
    table["block"] = np.arange(n) % 7
    csv = tmp_path / "stimuli.csv"
    table.to_csv(csv, index=False)
    loaded = StimulusSet.from_files(csv, tmp_path)
    assert loaded["stimulus_id"].is_unique
    np.testing.assert_array_equal(loaded["contrast"], table["contrast"])
    np.testing.assert_array_equal(loaded["block"], table["block"])
    assert loaded.get_stimulus("stimulus999999") == tmp_path / "one.png"
