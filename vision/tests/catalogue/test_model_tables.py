import re
from pathlib import Path

import pytest

from brainscore_vision.catalogue.model_tables import TableError, published_rows, read_table
from brainscore_vision.loading import known_identifiers

PUBLISHED = (Path(__file__).parents[1] / "published_models.txt").read_text().splitlines()
OURS = {"alexnet", "pixels"}  # models with their own plugins


def read(tmp_path, text):
    (tmp_path / "models.csv").write_text(text)
    return read_table(tmp_path / "models.csv")


def test_every_published_name_is_known():
    assert len(set(PUBLISHED)) == 741
    rows = published_rows()
    reasons = {row.identifier for row in rows.values() if row.reason}
    assert set(PUBLISHED) - set(known_identifiers("model")) == reasons
    assert set(PUBLISHED) - set(rows) == OURS
    assert set(rows) <= set(PUBLISHED)


def test_page_states_the_numbers_of_models():
    rows = published_rows().values()
    page = (Path(__file__).parents[3] / "docs/reference/models.md").read_text()
    counts = {
        "known": len(PUBLISHED),
        "loadable": len([row for row in rows if not row.reason]) + len(OURS),
        "not": len([row for row in rows if row.reason]),
        "mapped": len([row for row in rows if row.region_layer_map]),
    }
    sentence = (
        "All {known} published names are known; {loadable} of them can be loaded, and {not} state why they cannot"
    )
    assert sentence.format(**counts) in " ".join(page.split())
    assert f"{counts['mapped']} of the rows have a layer for each region" in " ".join(page.split())


def test_rows_mark_checkpoints_that_published_plugins_unpickle():
    unpickled = {row.identifier: row.pickle for row in published_rows().values() if row.pickle}
    assert unpickled.pop("imagenet_l2_3_0") == "dill"
    assert set(unpickled.values()) == {"weights_only=False"}
    families = [name for name in unpickled if name.startswith("CE-") or name.endswith("_gram_aligned_dinov3")]
    assert len(families) == 25
    assert set(unpickled) - set(families) == {
        "CORnet-S", "aughost_fair_resnet18", "resnet18_fair",
        "resnet_50_mapping0_1", "resnet_50_mapping1_1", "resnet_50_mapping2_1",
    }  # fmt: skip


def test_rejects_unknown_values_of_the_pickle_column(tmp_path):
    with pytest.raises(
        TableError, match="2: a: invalid pickle 'yes'; expected weights_only=False, dill or an empty cell"
    ):
        read(tmp_path, "identifier,source,weights,pickle\na,resnet18,random,yes\n")


def test_empty_cells_are_defaults(tmp_path):
    rows = read(tmp_path, "identifier,source,weights,V1,IT,degrees\na,resnet18,random,layer1,layer4,\nb,timm:c,,,,4\n")
    assert list(rows) == ["a", "b"]
    assert rows["a"].region_layer_map == {"V1": "layer1", "IT": "layer4"}
    assert (rows["a"].library, rows["b"].library, rows["b"].degrees) == ("", "timm", "4")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("net,,,,,,", "2: net: expected either a source or a reason"),
        ("net,resnet18,,,,,", "2: net: the architecture 'resnet18' needs weights; expected random or the URL"),
        ("net,resnet18,random,,,,no public weights", "2: net: expected either a source or a reason"),
        ("net,resnet18,ftp://a/b,,,,", "2: net: invalid weights 'ftp://a/b'; expected random, s3://"),
        ("net,resnet18,https://a/b.pth,5d41,,,", "2: net: invalid digest '5d41'; expected the SHA-1 of a file in S3"),
        (f"net,resnet18,https://a/b.pth,{'0' * 40},,,", "expected the SHA-1 of a file in S3, or a SHA-256"),
        (
            "net,resnet18,random,,imagenet-224,,",
            "2: net: invalid pictures 'imagenet-224'; expected steps such as 'short",
        ),
        ("net,resnet18,random,,short 40,,", "2: net: invalid pictures 'short 40'; expected steps such as 'short"),
        (
            'net,resnet18,random,,"short 40, half",,',
            "2: net: invalid pictures 'short 40, half'; expected steps such as",
        ),
        ("net,resnet18,random,,,wide,", "2: net: invalid degrees 'wide'; expected a number"),
        ("net,resnet18", "2: 2 cells; expected 7"),
    ],
)
def test_rejects_invalid_rows(tmp_path, row, problem):
    with pytest.raises(TableError, match=re.escape(problem)):
        read(tmp_path, f"identifier,source,weights,digest,pictures,degrees,reason\n{row}\n")


def test_error_lists_all_problems_with_their_lines(tmp_path):
    with pytest.raises(TableError) as raised:
        read(tmp_path, "identifier,source,classes\nnet,timm:a,many\nnet,timm:b,\n")
    assert str(raised.value).splitlines()[1:] == [
        f"  {tmp_path}/models.csv:2: net: invalid classes 'many'; expected a whole number",
        f"  {tmp_path}/models.csv:3: net is already in line 2",
    ]


def test_rejects_an_unknown_column(tmp_path):
    with pytest.raises(TableError, match=r"models\.csv:1: unknown column 'weightz'\. Did you mean 'weights'\?"):
        read(tmp_path, "identifier,weightz\n")
