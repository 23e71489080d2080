"""The profile of a Slurm cluster is read strictly, and all its problems are reported at once."""

import re

import pytest
import yaml

from brainscore_core.errors import ConfigurationError
from brainscore_core.scoring.cluster.places import Jobs, read_profile

GOOD = {"memory": "16 GB", "walltime": "04:00:00", "jobs": {"max": 20}}


@pytest.fixture
def profile(tmp_path):
    """Return a function that reads a profile with the given content."""

    def read(content):
        file = tmp_path / "profile.yml"
        file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return read_profile(file)

    return read


def test_short_profile_gets_defaults(profile):
    read = profile(GOOD)
    assert (read.memory_gb, read.minutes, read.jobs, read.cores) == (16.0, 240.0, Jobs(min=0, max=20), 1)
    assert (read.queue, read.env, read.directives, read.private) == (None, {}, (), False)


def test_full_profile_is_read(profile):
    more = {
        "queue": "gpu",
        "account": "lab",
        "cores": 8,
        "gpus": 1,
        "private": True,
        "python": "/shared/env/bin/python",
    }
    more |= {"interface": "ib0", "folder": "/shared/logs", "env": {"HF_HOME": "/shared/a b"}}
    more |= {"directives": ["--constraint=avx512"], "walltime": "1-12:00:00", "memory": "0.5TB"}
    read = profile({**GOOD, **more})
    assert (read.memory_gb, read.minutes, read.gpus, read.env["HF_HOME"]) == (500.0, 36 * 60.0, 1, "/shared/a b")
    assert read.directives == ("--constraint=avx512",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"memroy": "3 GB"}, "memroy: unknown key. Did you mean 'memory'?"),
        ({"jobs": {"max": 3, "mx": 3}}, "jobs.mx: unknown key. Did you mean 'max'?"),
        ({"memory": "plenty"}, "memory: expected a size such as '16 GB', found 'plenty'"),
        ({"memory": 16}, "memory: .*string.*, found 16"),
        ({"walltime": 14400}, "walltime: .*, found 14400"),
        ({"walltime": "4 hours"}, "walltime: expected 'hours:minutes:seconds'"),
        ({"walltime": "00:00:00"}, "walltime: expected"),
        ({"jobs": {"max": 0}}, "jobs.max: .*greater than or equal to 1, found 0"),
        ({"jobs": 3}, "jobs: .*, found 3"),
        ({"cores": "4"}, "cores: .*integer, found '4'"),
        ({"cores": True}, "cores: .*integer"),
        ({"private": "yes"}, "private: .*boolean"),
        ({"queue": "main\n#SBATCH --uid=0"}, "queue: expected letters, digits"),
        ({"queue": "a b"}, "queue: expected letters, digits"),
        ({"python": "python; rm -rf /"}, "python: expected letters, digits"),
        ({"directives": ["--wrap=$(id)"]}, "directives.0: expected letters, digits"),
        ({"env": {"A-B": "1"}}, "env: expected variable names"),
        ({"env": {"A": "1\nrm"}}, "env: expected .* one line"),
    ],
)
def test_error_describes_each_invalid_entry(profile, change, said):
    with pytest.raises(ConfigurationError) as raised:
        profile({**GOOD, **change})
    assert re.search(said, str(raised.value), re.DOTALL), raised.value


def test_all_problems_are_reported_at_once(profile):
    with pytest.raises(ConfigurationError) as raised:
        profile({"memory": "x", "jobs": {"max": "y"}, "queu": "main"})
    message = str(raised.value)
    assert all(name in message for name in ("memory:", "walltime: is required", "jobs.max:", "Did you mean 'queue'"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("- a\n", "has no keys"),
        ("a: [", "is not valid YAML"),
        ("!!python/object:os.system x", "is not valid YAML"),
        ("", "has no keys"),
    ],
)
def test_rejects_files_that_are_not_profiles(profile, content, said):
    with pytest.raises(ConfigurationError, match=said):
        profile(content)


def test_missing_profile_error_lists_the_required_keys(tmp_path):
    with pytest.raises(ConfigurationError, match=r"cannot be read.*slurm:FILE.*memory, walltime, jobs"):
        read_profile(tmp_path / "none.yml")
