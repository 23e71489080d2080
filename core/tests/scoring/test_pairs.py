"""Test that no pair can take others down, whatever its process does."""

import base64
import dataclasses
import json
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.processes import scrub
from brainscore_core.scoring import provenance
from brainscore_core.scoring._secrets import environment_of, secrets_of
from brainscore_core.scoring.pairs import Limits, PairOutcome, has_private_data, run_pair, run_pairs
from brainscore_core.scoring.records import ScoreRecord, record_path
from brainscore_core.scoring.store import FolderStore, reuse

# A library whose models do what their names say.
LIBRARY = """
    import argparse, json, os, pathlib, signal, subprocess, sys, time

    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["score"])
    for option in ("--model_identifier", "--benchmark_identifier", "--record", "--failure"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    template = json.loads(pathlib.Path(__file__).with_name("record.json").read_text())  # importing takes long
    record = {**template, "model": options.model_identifier, "benchmark": options.benchmark_identifier}
    target = pathlib.Path(options.record)

    def write(file=target, **changes):
        pathlib.Path(file).write_text(json.dumps({**record, **changes}))

    match options.model_identifier:
        case "raises":
            message = "no layer " + os.environ.get("HF_HOME", "")
            write(options.failure, score=None, status="failed:LayerNotFoundError", message=message)
            sys.exit("Error: no layer")
        case "exits":
            print("the last words", file=sys.stderr)
            sys.exit(3)
        case "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hangs":
            time.sleep(600)
        case "eats":
            kept = []
            while True:
                kept.append(bytearray(os.urandom(2**20)) * 20)
        case "child eats":
            subprocess.run([sys.executable, "-c", "x = bytearray(os.urandom(2**20)) * 1000; time.sleep(60)".join(
                ["import os, time; ", ""])])
        case "writes nothing":
            pass
        case "writes another":
            write(model="other")
        case "writes words":
            target.write_text("words")
        case "writes a failure":
            write(status="failed:X")
        case "writes wrong types":
            write(score="much")
        case "writes much":
            target.write_text(json.dumps(record) + " " * 2**21)
        case "links":
            other = target.with_name("other.json")
            write(other)
            target.symlink_to(other)
        case "pipes":
            os.mkfifo(target)
        case "fails oddly":
            write(options.failure, status="failed:<b>x</b>")
            sys.exit(1)
        case "leaves one running":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=False)
            subprocess.Popen([sys.executable, "-c", "import os, time; os.setpgid(0, 0); time.sleep(300)"])
            write()
        case "tells":
            write()
            print("environment", json.dumps(dict(os.environ)))
        case "talks":
            write()
            sys.stdout.write("first words\\n" + "x" * 2_000_000 + "\\nlast words\\n")
        case _:
            write()
"""


@dataclass(frozen=True)
class Task:
    model: str
    benchmark: str = "b"
    minutes: float = 1.0
    memory_gb: float = 1.0
    private: bool = False


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Make the library importable for the processes of pairs."""
    package = tmp_path / "lib/lively"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(textwrap.dedent(LIBRARY))
    template = dataclasses.replace(ScoreRecord.without_score("scored", model="", benchmark=""), score=0.5)
    template.write(package / "record.json")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package.parent), *filter(None, sys.path)]))
    for name in [name for name in os.environ if name.startswith(("AWS_", "GITHUB_"))]:
        monkeypatch.delenv(name)
    return "lively"


def test_a_pair_that_is_scored(library):
    ran = run_pair(Task("pixels"), library)
    assert (ran.record.status, ran.record.score, ran.record.model) == ("scored", 0.5, "pixels")


@pytest.mark.parametrize(
    ("model", "status", "message"),
    [
        ("raises", "failed:LayerNotFoundError", "no layer"),
        ("exits", "failed:Exit3", "the last words"),
        ("crashes", "failed:SIGSEGV", ""),
        ("writes nothing", "failed:NoRecord", ""),
        ("writes another", "failed:NoRecord", ""),
        ("writes words", "failed:NoRecord", ""),
        ("writes a failure", "failed:NoRecord", ""),
        ("writes wrong types", "failed:NoRecord", ""),
        ("writes much", "failed:NoRecord", ""),
        ("links", "failed:NoRecord", ""),
        ("pipes", "failed:NoRecord", ""),
        ("fails oddly", "failed:Exit1", ""),
        ("nul\0", "failed:NotStarted", "null byte"),
    ],
)
def test_a_pair_that_is_not(library, model, status, message):
    record = run_pair(Task(model), library).record
    assert record.status == status
    assert message in record.message
    assert (record.model, record.benchmark, record.score) == (model, "b", None)


def test_a_library_that_is_not_there(library):
    record = run_pair(Task("pixels"), "no_such_library").record
    assert record.status == "failed:Exit1"
    assert "No module named no_such_library" in record.message


def test_timeout(library):
    started = time.monotonic()
    record = run_pair(Task("hangs", minutes=5), library, Limits(most_minutes=2 / 60)).record
    assert record.status == "failed:Timeout"
    assert "5 were planned" in record.message
    assert time.monotonic() - started < 30


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much memory others use")
@pytest.mark.parametrize("model", ["eats", "child eats"])
def test_memory(library, model):
    record = run_pair(Task(model, memory_gb=0.2), library, Limits(least_memory_gb=0.3)).record
    assert record.status == "failed:MemoryLimit"
    assert "0.2 were planned" in record.message


def pids():
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in listed.splitlines() if "time.sleep(300)" in line and "import" in line}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions")
def test_what_a_pair_leaves_running_is_ended(library):
    before = pids()
    assert run_pair(Task("leaves one running"), library).record.is_scored
    time.sleep(0.2)
    assert pids() <= before


# -- credentials -------------------------------------------------------------------------------------------------------

SECRETS = {
    "GITHUB_TOKEN": "ghs_0123456789",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "oidc-0123456789",
    "AWS_SECRET_ACCESS_KEY": "aws/secret+0123456789",
    "HF_TOKEN": "hf_0123456789",
    "BSC_DATABASESECRET": "database-0123456789",
    "MY_PASSWORD": "hunter2-hunter2",
    "PIP_INDEX_URL": "https://me:pip-password@example.org/simple",
    "DATABASE_URL": "postgres://me:pg-password@host/db",
}
VALUES = [value.split(":")[-1].split("@")[0] if "://" in value else value for value in SECRETS.values()]
FILES = {"GITHUB_ENV": "/runner/env", "GITHUB_OUTPUT": "/runner/output", "GITHUB_PATH": "/runner/path"}


def told(ran):
    line = next(line for line in ran.output.splitlines() if line.startswith("environment "))
    return json.loads(line.removeprefix("environment "))


def test_a_pair_sees_no_credentials(library):
    ran = run_pair(Task("tells"), library, environment={**os.environ, **SECRETS, **FILES, "OMP_NUM_THREADS": "1"})
    seen = told(ran)
    assert ran.record.is_scored
    assert not [value for value in VALUES if value in json.dumps(seen)]
    assert not FILES.keys() & seen.keys()
    assert not [name for name in seen if name.startswith("AWS_") and "FILE" not in name and "METADATA" not in name]
    assert (seen["AWS_SHARED_CREDENTIALS_FILE"], seen["OMP_NUM_THREADS"]) == (os.devnull, "1")


def test_a_private_pair_sees_those_for_private_data_only_and_its_output_is_scrubbed(library):
    ran = run_pair(Task("tells", private=True), library, environment={**os.environ, **SECRETS, "AWS_REGION": "us-x-1"})
    seen = told(ran)
    assert seen["AWS_SECRET_ACCESS_KEY"] == "***"  # noqa: S105 - what is shown instead
    assert seen["AWS_REGION"] == "us-x-1"
    assert "GITHUB_TOKEN" not in seen
    assert not [value for value in VALUES if value in ran.output]


def test_the_message_of_a_failure_is_scrubbed(library):
    environment = {**os.environ, "HF_HOME": "the hunter2-hunter2 folder", "MY_PASSWORD": "hunter2-hunter2"}
    assert run_pair(Task("raises"), library, environment=environment).record.message == "no layer the *** folder"


@given(
    secret=st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=8, max_size=30),
    shift=st.binary(max_size=5),
)
def test_secrets_are_found_in_base64_and_in_addresses(secret, shift):
    forms = secrets_of({"MY_TOKEN": secret})
    encoded = base64.b64encode(shift + secret.encode() + b"after").decode()
    for text in (secret, f"https://x:{quote(secret, safe='')}@y", encoded):
        assert "***" in scrub(text, forms)


def test_output_is_cut_in_the_middle(library):
    output = run_pair(Task("talks"), library).output
    assert output.startswith("first words\n")
    assert output.endswith("\nlast words\n")
    assert "left out" in output
    assert len(output) < 2**18 + 100


def test_environment_is_what_is_named_not_what_is_left():
    given_ = {"PATH": "/bin", "ANYTHING": "x", "http_proxy": "http://proxy", "HTTPS_PROXY": "http://me:pw@proxy"}
    kept = environment_of(given_, with_aws=False)
    assert {"PATH", "http_proxy"} <= kept.keys()
    assert not {"ANYTHING", "HTTPS_PROXY"} & kept.keys()


def test_private_data_need_credentials():
    assert not has_private_data({"AWS_REGION": "x", "AWS_ACCESS_KEY_ID": ""})
    assert has_private_data({"AWS_WEB_IDENTITY_TOKEN_FILE": "/x"})


# -- many pairs --------------------------------------------------------------------------------------------------------


def of(task, status="scored"):
    return ScoreRecord.without_score(status, model=task.model, benchmark=task.benchmark)


def revision_of(kind, identifier):
    return f"{kind} {identifier}"


def test_every_pair_gets_its_record_whatever_becomes_of_the_others(library, tmp_path):
    tasks = [Task(model) for model in ("pixels", "crashes", "raises", "writes nothing", "last")]
    made, left = run_pairs(tasks, tmp_path / "records", library_of=lambda pair: library, revision_of=revision_of)
    assert [record.status for record in made] == [
        "scored",
        "failed:SIGSEGV",
        "failed:LayerNotFoundError",
        "failed:NoRecord",
        "scored",
    ]
    assert left == []
    for record in made:
        assert ScoreRecord.read(record_path(tmp_path / "records", record.model, "b")) == record
        assert (record.model_revision, record.benchmark_revision) == (f"model {record.model}", "benchmark b")
        assert record.version_class == provenance.version_class()


def test_a_second_run_scores_only_what_is_missing_or_failed(tmp_path):
    calls = []

    def run(pair, library, limits):
        calls.append(pair.model)
        return PairOutcome(of(pair, "failed:X" if (pair.model, len(calls)) == ("b", 2) else "scored"))

    def again(records):
        calls.clear()
        is_scored = reuse([FolderStore(records)], revision_of)
        tasks = [Task(model) for model in "abc"]
        return run_pairs(
            tasks, records, library_of=lambda pair: "x", revision_of=revision_of, is_scored=is_scored, run=run
        )

    again(tmp_path)
    assert calls == ["a", "b", "c"]
    made, left = again(tmp_path)
    assert calls == ["b"]
    assert [record.model for record in made] == ["b"]
    assert [(each.pair.model, each.is_fine) for each in left] == [("a", True), ("c", True)]
    again(tmp_path)
    assert calls == []


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("y"), MemoryError(), SystemError("z")])
def test_a_runner_that_fails_keeps_nothing_back(tmp_path, error):
    def run(pair, library, limits):
        if pair.model == "a":
            raise error
        return PairOutcome(of(pair))

    made, _ = run_pairs([Task("a"), Task("b")], tmp_path, library_of=lambda pair: "x", run=run)
    assert [record.status for record in made] == [f"failed:{type(error).__name__}", "scored"]


def test_interrupting_keeps_the_records_there_are(tmp_path):
    def run(pair, library, limits):
        if pair.model == "b":
            raise KeyboardInterrupt
        return PairOutcome(of(pair))

    with pytest.raises(KeyboardInterrupt):
        run_pairs([Task("a"), Task("b"), Task("c")], tmp_path, library_of=lambda pair: "x", run=run)
    assert [record.model for record in FolderStore(tmp_path)] == ["a"]


def test_a_record_that_cannot_be_written_keeps_nothing_back(tmp_path):
    (tmp_path / "b").write_text("a file where a folder should be")
    tasks = [Task("a"), Task("a", benchmark="c")]
    made, left = run_pairs(tasks, tmp_path, library_of=lambda pair: "x", run=lambda *_: PairOutcome(of(_[0])))
    assert [record.benchmark for record in made] == ["c"]
    assert [(each.pair.benchmark, each.is_fine) for each in left] == [("b", False)]


def test_private_pairs_without_private_data_say_so(tmp_path):
    tasks = [Task("a", private=True), Task("b")]
    made, _ = run_pairs(
        tasks, tmp_path, library_of=lambda pair: "x", run=lambda *_: PairOutcome(of(_[0])), with_private=False
    )
    assert [record.status for record in made] == ["skipped:private data are not available", "scored"]


def test_nothing_is_started_when_time_is_over_and_what_runs_gets_only_what_is_left(tmp_path):
    given_minutes = []

    def run(pair, library, limits):
        given_minutes.append(limits.seconds(pair) / 60)
        time.sleep(0.3)
        return PairOutcome(of(pair))

    tasks = [Task(model) for model in "abc"]
    made, left = run_pairs(tasks, tmp_path, library_of=lambda pair: "x", run=run, minutes=5.2 / 60)
    assert [record.model for record in made] == ["a"]
    assert [(each.pair.model, each.is_fine) for each in left] == [("b", False), ("c", False)]
    assert given_minutes[0] < 5.3 / 60


def test_revisions_are_those_from_before(tmp_path):
    """Plugins may write into their own folder while they run."""
    state = {"revision": "before"}

    def run(pair, library, limits):
        state["revision"] = "after"
        return PairOutcome(of(pair))

    made, _ = run_pairs(
        [Task("a"), Task("b")],
        tmp_path,
        library_of=lambda pair: "x",
        revision_of=lambda kind, identifier: state["revision"],
        run=run,
    )
    assert {record.model_revision for record in made} == {"before"}
