"""The schema of metadata.yml reports each problem with its line and a correction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_ci.checks.metadata import KEYS, check_metadata
from brainscore_ci.planning.metadata import read_values

SOUND = {
    "access": "public",
    "licence": "CC-BY-4.0",
    "contact": "jane@example.org",
    "citation": "Jane (2024)",
    "minutes": "2.5",
    "memory_gb": "4",
    "gpus": "1",
    "region": "[V4, IT]",
    "species": "Macaca mulatta",
    "technique": "electrophysiology",
    "n_stimuli": "2560",
    "n_neuroids": "{V4: 88, IT: 168}",
    "n_subjects": "2",
    "family": "ResNet",
    "training_data": "[ImageNet-1k, Stylized-ImageNet]",
    "parameters": "{net18: 11689512, net50: 25557032}",
    "imagenet_top1": "{net18: 0.698, net50: 0.761}",
}


def text(**changes):
    return "".join(f"{key}: {value}\n" for key, value in {**SOUND, **changes}.items() if value is not None).encode()


def lines(content):
    return [problem.line for problem in check_metadata(content)]


def test_sound_metadata_has_no_problems():
    assert check_metadata(text()) == []
    assert check_metadata(text(citation=None, doi="10.1523/JNEUROSCI.5181-14.2015")) == []
    assert check_metadata(b"\xef\xbb\xbf# comment\n" + text(minutes=None, memory_gb=None)) == []


WRONG = {
    "access": ("secret", "true"),
    "licence": ("CC-BY", "proprietary", "[MIT]"),
    "contact": ("Jane", "http://example.org", "https://ex\u0430mple.org"),
    "citation": ("''",),
    "minutes": ("0", "'2'", ".inf"),
    "memory_gb": ("-1", "yes", "2024-01-01"),
    "gpus": ("0", "0.5", "{V4: 1}"),
    "region": ("[]", "[V4, 4]"),
    "species": ("' '",),
    "technique": ("{fMRI: yes}",),
    "n_stimuli": ("2560.5", "0"),
    "n_neuroids": ("{V4: 88, IT: many}", "{}"),
    "n_subjects": ("true",),
    "parameters": ("25.6M",),
    "imagenet_top1": ("76.1", "{}"),
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in WRONG for value in WRONG[key]])
def test_wrong_value_is_reported_on_its_line(key, value):
    assert lines(text(**{key: value})) == [list(SOUND).index(key) + 1]


@pytest.mark.parametrize("licence", ["MIT", "Apache-2.0 OR MIT", "LicenseRef-agreement", "CC0-1.0"])
@pytest.mark.parametrize("contact", ["'@octocat'", "https://example.org/lab", "a.b+c@lab.example.org"])
def test_accepts_licences_and_contacts(licence, contact):
    assert lines(text(licence=licence, contact=contact)) == []


@pytest.mark.parametrize(
    ("other", "ours"), [("behavior", "behaviour"), ("n_images", "n_stimuli"), ("n_voxels", "n_neuroids")]
)
def test_other_spellings_get_the_expected_key(other, ours):
    (problem,) = check_metadata(text() + f"{other}: 3\n".encode())
    assert problem.fix == f"rename it to {ours!r}"


def test_reports_missing_unknown_and_repeated_keys():
    problems = check_metadata(b"acces: public\nfoo: 1\nfoo: 2\nlicense: MIT\n")
    found = {problem.message: problem.fix for problem in problems}
    assert found["the key 'acces' is unknown"] == "rename it to 'access'"
    assert found["the key 'license' is unknown"] == "rename it to 'licence'"
    assert found["the key 'foo' occurs twice"] == "keep one of them"
    assert all(name in found["the key 'foo' is unknown"] for name in KEYS)
    assert {"the key 'access' is missing", "the key 'licence' is missing", "the key 'contact' is missing"} <= set(found)
    assert "neither 'citation' nor 'doi' is given" in found


def test_metadata_of_the_published_system_is_accepted():
    assert check_metadata(b"schema_version: 2\ndomain: vision\nmodels:\n  alexnet:\n    architecture: DCNN\n") == []
    assert check_metadata(b"models: alexnet\n") != []


def test_read_values_does_not_check_them():
    assert read_values(text(minutes="3"))["minutes"] == 3
    assert read_values(b"a: [") == {}


def test_deep_and_aliased_values_are_rejected_early():
    laughs = b"a: &a [x]\n" + b"".join(b"k%d: &k%d [*a, *a, *a, *a]\n" % (number, number) for number in range(30))
    assert lines(laughs) == [2]
    (problem,) = check_metadata(b"access: public\nlicence: " + b"[" * 50_000)
    assert (problem.line, problem.message) == (2, "cannot be read: it is nested too deeply")


@pytest.mark.parametrize(
    "content",
    [b"", b"- a\n- b\n", b"text", b"a: [", b"\xff\xfe\0", b"!!python/object/apply:os.system ['x']", b"? [a]\n: b\n",
     b"[" * 20_000, b"a: &x [1]\nb: *x\n", b"x" * 200_000, b"a: 1\n--- \nb: 2\n", b"\t"],
    ids=range(12),
)  # fmt: skip
def test_malformed_metadata_is_a_problem_not_a_crash(content):
    assert check_metadata(content)


@given(st.binary(max_size=60) | st.text("ab:- \n\t[]{}&*!?|>'\"#%@`,0.", max_size=60).map(str.encode))
def test_arbitrary_metadata_never_crashes(content):
    assert isinstance(read_values(content), dict)
    for problem in check_metadata(content):
        assert problem.line >= 1
        assert problem.fix
