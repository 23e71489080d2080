"""Score a record's pair again in the environment of its lock, and compare."""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import brainscore_core
import brainscore_vision
from brainscore_core import command_line
from brainscore_core.errors import BrainScoreError, ConfigurationError, DataNotHereError
from brainscore_core.identity import digest, software
from brainscore_core.plugin_management.environment import environment_from_lock, python_for, run_in_environment
from brainscore_core.records.recompute import differences, not_comparable
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import lock_path, read_lock_of
from brainscore_vision.catalogue.facts import benchmark_facts
from brainscore_vision.commands.work.tables import number
from brainscore_vision.loading import find_plugin_directory

__all__ = ["reproduce"]

_MOST_SHOWN = 5


def reproduce(path: Path, *, here: bool) -> int:
    """Run ``brainscore reproduce``."""
    if not path.is_file():
        raise ConfigurationError(f"{path} is no file. Name a record: <folder>/<benchmark>/<model>.json")
    record = ScoreRecord.read(path)
    if not record.is_scored:
        raise ConfigurationError(f"{path} is the record of a pair without a score ({record.status}): score it anew.")
    with tempfile.TemporaryDirectory(prefix="brainscore-reproduce-") as name:
        file = Path(name) / "record.json"
        python, variables = _where(path, record, here=here)
        _score_again(record, file, python, variables)
        after = ScoreRecord.read(file)
    skipped = not_comparable(record, after)
    if skipped:
        command_line.say(f"Not compared, as one of the records does not say it in the same way: {', '.join(skipped)}.")
    changes = list(differences(record, after))
    scores = f"score {number(record.score)} then, {number(after.score)} now"
    if not changes:
        command_line.show(f"equal: {record.model} on {record.benchmark}, {scores}")
        return 0
    first = changes[0]
    command_line.show(f"differs: {first.what}: {first.before} then, {first.after} now; {scores}")
    for change in changes[1:_MOST_SHOWN]:
        command_line.say(f"  also {change.what}: {_short(change.before)} then, {_short(change.after)} now")
    return command_line.FAILED


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _where(path: Path, record: ScoreRecord, *, here: bool) -> tuple[Path, dict[str, str]]:
    """Return an interpreter, and variables to set there.

    It has the packages of the record's lock; if `here`, or without an environment in the record, those of the plugins.
    """
    again = {"RESULTCACHING_DISABLE": "1"}  # so that it is computed again
    is_here = record.environment in (None, digest.text_digest(software.installed()))
    if here or is_here or record.environment is None:
        if record.candidate_environment is not None:  # its judge had no requirements of the model
            return Path(sys.executable), again
        pair = ("benchmark", record.benchmark), ("model", record.model)
        return python_for([find_plugin_directory(kind, name) for kind, name in pair]), again
    lock = read_lock_of(path, record.environment)
    if lock is None:
        raise DataNotHereError(
            f"What is installed here is not what {path.name} was made with, and the lock that says what that was, "
            f"{lock_path(path, record.environment)}, is not there or of another record. Bring it; or score the pair "
            "with what is installed here: --here."
        )
    packages = [Path(str(package.__file__)).parents[1] for package in (brainscore_core, brainscore_vision)]
    python = environment_from_lock(lock, packages)
    # Nothing beyond the lock, unless the model has its own environment.
    return python, again if record.candidate_environment else {**again, "BS_INSTALL_DEPENDENCIES": "no"}


def _score_again(record: ScoreRecord, file: Path, python: Path, variables: Mapping[str, str]) -> None:
    command: list[str | Path] = ["-m", "brainscore_vision"]
    is_public = any(facts.access == "public" for facts in benchmark_facts(record.benchmark))
    if record.candidate_environment is None and is_public:
        pair = (f"--model_identifier={record.model}", f"--benchmark_identifier={record.benchmark}")
        ended = run_in_environment(
            python, [*command, "score", *pair, "--conda_active=True", "--record", file], environment=variables
        )
    else:  # the model has its own environment or must not reach the data: in a box
        folder = file.parent / "records"
        which = ("--model", record.model, "--benchmark", record.benchmark, "--isolation", "box")
        places = ("--records", folder, "--events", file.parent / "events.jsonl")
        ended = run_in_environment(python, [*command, "judge", *which, *places], environment=variables)
        written = record_path(folder, record.model, record.benchmark)
        if written.is_file():
            written.replace(file)
    if ended.status not in (0, command_line.NO_SCORE) or not file.is_file():
        raise BrainScoreError(f"{record.model} on {record.benchmark} could not be scored again.\n{ended}")
