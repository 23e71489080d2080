"""Test reading a project's policy."""

import pytest

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.policy import Policy, read_policy
from brainscore_core.errors import ConfigurationError


def policy(tmp_path, text):
    (tmp_path / "pyproject.toml").write_text("[tool.brainscore.ci]\n" + text)
    return read_policy(tmp_path)


def test_reads_values(tmp_path):
    read = policy(
        tmp_path,
        'representatives = ["models/pixels"]\nreference-models = ["pixels"]\npair-minutes = 7\nmost-shards = 9\n'
        "[tool.brainscore.ci.minutes]\nmodels = 3\n",
    )
    assert read.representatives == (PluginName("models", "pixels"),)
    assert read.reference_models == ("pixels",)
    assert (read.pair_minutes, read.most_shards) == (7.0, 9)
    assert (read.test_minutes("models"), read.test_minutes("data")) == (3.0, 1.0)


def test_policy_has_defaults(tmp_path):
    assert read_policy(tmp_path) == Policy()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pair-minuts = 3", "pair-minutes"),
        ("pair-minutes = -1", "above 0"),
        ("pair-minutes = true", "above 0"),
        ("reference-models = 'pixels'", "list of texts"),
        ("representatives = ['pixels']", "is no plugin"),
        ("nonsense", "cannot be read"),
    ],
)
def test_wrong_settings_are_errors(tmp_path, text, message):
    with pytest.raises(ConfigurationError, match=message):
        policy(tmp_path, text)
