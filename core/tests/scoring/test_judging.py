"""No pair affects the others of its batch, whatever its process does."""

import json
import os
import sys
import tempfile

import pytest

from brainscore_core.scoring.batches import USUAL, Batch, run_batch
from brainscore_core.scoring.pairs import Limits, Pair
from brainscore_core.testing.machine import running_processes, wait_until

# A library whose benchmarks behave as their names say; each pair that begins is logged in a file.
LIBRARY = """
    note(f"judge {options.model} ({options.isolation})")
    match options.model:
        case "cannot-be-loaded":
            print("no such layer", file=sys.stderr)
            sys.exit(3)
        case "is-killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "is-killed-once" if not (here / "killed").exists():
            (here / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        case "hangs-at-once":
            time.sleep(600)
    for benchmark in options.benchmark:
        tell("started", benchmark)
        note(f"{options.model} {benchmark}")
        match benchmark.rstrip("-0123456789"):
            case "raises":
                message = "no " + os.environ.get("HF_HOME", "")
                write(benchmark, score=None, status="failed:NoLayerError", message=message)
            case "has-none":
                write(benchmark, score=None, message="answers the same to all")
            case "exits":
                print(os.environ["HOME"], "said the last words", file=sys.stderr)
                sys.exit(3)
            case "crashes":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "is-killed-when-done":
                write(benchmark)
                os.kill(os.getpid(), signal.SIGKILL)
            case "hangs":
                time.sleep(600)
            case "sleeps":
                time.sleep(0.4)
                write(benchmark)
            case "eats":
                kept = []
                while True:
                    kept.append(bytearray(os.urandom(2**20)) * 20)
            case "child-eats":
                subprocess.run([sys.executable, "-c", "x = bytearray(os.urandom(2**20)) * 1000; time.sleep(60)".join(
                    ["import os, time; ", ""])])
            case "writes-nothing":
                pass
            case "writes-another":
                write(benchmark, model="other")
            case "writes-words":
                write(benchmark).write_text("words")
            case "writes-wrong-types":
                write(benchmark, score="much")
            case "writes-much":
                write(benchmark).write_text(json.dumps(template) + " " * 2**21)
            case "links":
                target = write(benchmark)
                target.rename(here / "other.json")
                target.symlink_to(here / "other.json")
            case "pipes":
                target = write(benchmark)
                target.unlink()
                os.mkfifo(target)
            case "tells-nonsense":
                write(benchmark)
                with open(options.events, "ab") as stream:
                    stream.write(b"\\xff{}\\n[1]\\n" + b"9" * 20_000 + b"\\n")
                tell("ended", "of nobody")
            case "takes-the-events-away":
                write(benchmark)
                pathlib.Path(options.events).unlink()
                os.mkfifo(options.events)
                sys.exit(0)
            case "leaves-one-running":
                for program in ("import time; time.sleep(300)", "import os, time; os.setpgid(0, 0); time.sleep(300)"):
                    subprocess.Popen([sys.executable, "-c", program, here])
                write(benchmark)
            case "tells":
                write(benchmark)
                print("environment", json.dumps(dict(os.environ)), flush=True)
            case "talks":
                write(benchmark)
                sys.stdout.write("first words\\n" + "x" * 2_000_000 + "\\nlast words\\n")
                sys.stdout.flush()
            case _:
                write(benchmark)
        tell("ended", benchmark)
"""


def pair_of(benchmark="b", model="pixels", minutes=1.0, memory_gb=1.0, private=False):
    return Pair(model, benchmark, minutes, memory_gb, private)


@pytest.fixture
def library(install_library):
    """Make the library importable in the processes of batches."""
    return install_library(LIBRARY).name


def score_pairs(
    library, *benchmarks, limits=USUAL, minutes=float("inf"), environment=os.environ, isolation="auto", **task
):
    batch = Batch(tuple(pair_of(benchmark, **task) for benchmark in benchmarks))
    return list(run_batch(batch, library, limits, minutes=minutes, environment=environment, isolation=isolation))


def judges(tmp_path):
    return (tmp_path / "lib/lively/log").read_text().splitlines().count("judge pixels (auto)")


def test_successful_pairs_share_a_process(library, tmp_path):
    records = [each.record for each in score_pairs(library, "a", "b", "has-none", "c")]
    assert [(record.benchmark, record.status, record.score) for record in records] == [
        ("a", "scored", 0.5),
        ("b", "scored", 0.5),
        ("has-none", "scored", None),
        ("c", "scored", 0.5),
    ]
    assert judges(tmp_path) == 1


@pytest.mark.parametrize(
    ("benchmark", "status", "message", "n_processes"),
    [
        ("raises", "failed:NoLayerError", "no", 1),
        ("exits", "failed:Exit3", "the last words", 2),
        ("crashes", "failed:SIGSEGV", "", 2),
        ("is-killed-when-done", "scored", "", 2),
        ("writes-nothing", "failed:NoRecord", "", 1),
        ("writes-another", "failed:NoRecord", "", 1),
        ("writes-words", "failed:NoRecord", "", 1),
        ("writes-wrong-types", "failed:NoRecord", "", 1),
        ("writes-much", "failed:NoRecord", "", 1),
        ("links", "failed:NoRecord", "", 1),
        ("pipes", "failed:NoRecord", "", 1),
        ("tells-nonsense", "scored", "", 1),
    ],
)
def test_failed_pair_does_not_affect_others(library, tmp_path, benchmark, status, message, n_processes):
    records = {each.record.benchmark: each.record for each in score_pairs(library, "a", benchmark, "b")}
    assert list(records) == ["a", benchmark, "b"]
    assert [records["a"].status, records["b"].status] == ["scored", "scored"]
    assert records[benchmark].status == status
    assert message in records[benchmark].message
    assert judges(tmp_path) == n_processes


def test_without_events_only_written_records_count(library):
    statuses = {
        each.record.benchmark: each.record.status for each in score_pairs(library, "takes-the-events-away", "b")
    }
    assert statuses == {"takes-the-events-away": "scored", "b": "failed:NoRecord"}


def test_model_that_cannot_load_fails_all_pairs_at_once(library, tmp_path):
    records = [each.record for each in score_pairs(library, "a", "b", "c", model="cannot-be-loaded")]
    assert [(record.status, record.message) for record in records] == [("failed:Exit3", "no such layer")] * 3
    assert (tmp_path / "lib/lively/log").read_text() == "judge cannot-be-loaded (auto)\n"


def test_batch_killed_before_it_begins_is_retried_once(library, tmp_path):
    assert [each.record.status for each in score_pairs(library, "a", "b", model="is-killed-once")] == ["scored"] * 2
    assert [each.record.status for each in score_pairs(library, "a", "b", model="is-killed")] == ["failed:SIGKILL"] * 2
    assert (tmp_path / "lib/lively/log").read_text().count("judge is-killed (auto)\n") == 2


def test_model_that_never_gets_ready_times_out(library):
    limits = Limits(time=0, least_minutes=1 / 60)
    outcomes = score_pairs(library, "a", "b", limits=limits, model="hangs-at-once")
    assert [each.record.status for each in outcomes] == ["failed:Timeout"] * 2


def test_process_that_cannot_start_fails_its_pairs(library):
    assert [each.record.status for each in score_pairs(library, "a", "nul\0")] == ["failed:NotStarted"] * 2
    (ran,) = score_pairs("no_such_library", "a")
    assert ran.record.status == "failed:Exit1"
    assert "No module named no_such_library" in ran.record.message


@pytest.mark.slow
def test_pair_over_its_time_limit_fails_alone(library):
    outcomes = score_pairs(library, "a", "hangs", "b", limits=Limits(time=0, least_minutes=6 / 60), minutes=5)
    records = [each.record for each in outcomes]
    assert [record.status for record in records] == ["scored", "failed:Timeout", "scored"]
    assert "1 were planned" in records[1].message
    assert 6 < records[1].duration_s < 60


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much memory others use")
@pytest.mark.parametrize("benchmark", ["eats", "child-eats"])
def test_pair_over_its_memory_limit_fails_alone(library, benchmark):
    limits = Limits(least_memory_gb=0.3)
    records = [each.record for each in score_pairs(library, benchmark, "sleeps", limits=limits, memory_gb=0.1)]
    assert [record.status for record in records] == ["failed:MemoryLimit", "scored"]
    assert "0.1 were planned" in records[0].message
    assert records[0].peak_memory_bytes > 0.3e9
    assert 0 < records[1].peak_memory_bytes < 0.2e9


@pytest.mark.slow
def test_unreached_pairs_have_no_outcome(library):
    records = [each.record for each in score_pairs(library, "a", "hangs", "b", minutes=6 / 60)]
    assert [record.benchmark for record in records] == ["a"]


@pytest.mark.slow
def test_each_pair_has_its_own_time_limit(library):
    names = [f"sleeps-{number}" for number in range(16)]  # 6.4 s in total
    outcomes = score_pairs(library, *names, limits=Limits(time=0, least_minutes=6 / 60))
    assert [each.record.status for each in outcomes] == ["scored"] * 16


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions")
def test_background_processes_of_a_batch_are_ended(library, tmp_path):
    assert score_pairs(library, "leaves-one-running")[0].record.is_scored
    wait_until(lambda: not running_processes(str(tmp_path)))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions")
def test_closing_ends_the_process(library, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # the judge writes below this folder
    outcomes = run_batch(Batch((pair_of("a"), pair_of("hangs"))), library)
    assert next(outcomes).record.is_scored
    assert running_processes(str(tmp_path))
    outcomes.close()
    assert not running_processes(str(tmp_path))


def test_output_is_cut_in_the_middle(library):
    (talked,) = score_pairs(library, "talks")
    assert talked.output.startswith("first words\n")
    assert talked.output.endswith("\nlast words\n")
    assert "left out" in talked.output
    assert len(talked.output) < 2**18 + 100


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


@pytest.mark.parametrize(("given", "budget"), [(None, "1.5"), ("1", "1"), ("64", "1.5"), ("lots", "lots")])
def test_cache_budget_is_a_quarter_of_the_memory_limit(library, given, budget):
    environment = {**os.environ, **({} if given is None else {"BRAINSCORE_MEMORY_GB": given})}
    (ran,) = score_pairs(library, "tells", environment=environment, memory_gb=3.0)
    line = next(line for line in ran.output.splitlines() if line.startswith("environment "))
    assert json.loads(line.removeprefix("environment "))["BRAINSCORE_MEMORY_GB"] == budget


@pytest.mark.parametrize("private", [False, True])
def test_batch_does_not_see_credentials(library, private):
    given = {**os.environ, **SECRETS, **FILES, "AWS_REGION": "us-x-1", "OMP_NUM_THREADS": "1"}
    (ran,) = score_pairs(library, "tells", environment=given, private=private)
    line = next(line for line in ran.output.splitlines() if line.startswith("environment "))
    seen = json.loads(line.removeprefix("environment "))
    assert ran.record.is_scored
    assert not [value for value in VALUES if value in json.dumps(seen)]
    assert not FILES.keys() & seen.keys()
    assert not [name for name in seen if name.startswith("AWS_") and "FILE" not in name and "METADATA" not in name]
    assert (seen["AWS_SHARED_CREDENTIALS_FILE"], seen["OMP_NUM_THREADS"]) == (os.devnull, "1")
    assert seen.get("BRAINSCORE_OFFLINE") == ("1" if private else os.environ.get("BRAINSCORE_OFFLINE"))


@pytest.mark.parametrize(
    ("private", "asked", "judged"), [(False, "auto", "auto"), (True, "auto", "box"), (True, "none", "none")]
)
def test_private_pairs_are_prepared_online_and_judged_in_a_box(library, tmp_path, private, asked, judged):
    """With isolation 'none', the caller vouches for the model, which runs without a box."""
    environment = {**os.environ, "BRAINSCORE_OFFLINE": "0"}
    score_pairs(library, "b1", "b2", environment=environment, private=private, isolation=asked)
    prepared = ["prepare pixels, offline: 0"] if judged == "box" else []
    expected = [*prepared, f"judge pixels ({judged})", "pixels b1", "pixels b2"]
    assert (tmp_path / "lib/lively/log").read_text().splitlines() == expected


def test_secrets_are_removed_from_messages(library):
    environment = {**os.environ, "HF_HOME": "the hunter2-hunter2 folder", "MY_PASSWORD": "hunter2-hunter2"}
    raised, ended = score_pairs(library, "raises", "exits", environment={**environment, "HOME": "hunter2-hunter2"})
    assert raised.record.message == "no the *** folder"
    assert ended.record.tail == "*** said the last words"
