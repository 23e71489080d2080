"""Errors have the classes that callers catch, show their message, and suggest names."""

import pickle
import sys

import pytest

from brainscore_core import errors
from brainscore_core.errors import BrainScoreError, did_you_mean, listed, nearest
from brainscore_core.processes import run_captured

ERRORS = {
    (): ("NotApplicableError",),
    (FileNotFoundError, ValueError, AssertionError): ("MissingStimulusError",),
    (ImportError, AssertionError): ("PluginError",),
    (KeyError, AssertionError): ("LayerNotFoundError", "UnavailableError", "UnknownIdentifierError"),
    (TimeoutError,): ("LockTimeoutError",),
    (OSError,): (
        *("ChecksumError", "CorruptFileError", "DataNotHereError", "DownloadError", "OfflineError", "PrivateDataError"),
        *("RecordsError", "UploadError"),
    ),
    (RuntimeError,): (
        *("CandidateDiedError", "CandidateError", "CandidateTimeoutError", "ClusterError", "IsolationError"),
        *("ModelChangedError", "RequirementsError", "StateChangedError"),
    ),
    (RuntimeError, ValueError): ("InvalidAnswerError",),
    (TypeError, ValueError): ("ContractError",),
    (ValueError,): ("CeilingError", "PeerClosedError", "PeerTimeoutError", "ProtocolError"),
    (ValueError, AssertionError): (
        *("AssemblyError", "ConfigurationError", "DuplicateIdentifierError", "StimulusError", "ValidationError"),
    ),
}
CAUGHT_AS = {name: builtins for builtins, names in ERRORS.items() for name in names}


def test_every_error_is_listed_here():
    kinds = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, BrainScoreError) and kind is not BrainScoreError
    }
    assert kinds == set(CAUGHT_AS)
    assert set(errors.__all__) == kinds | {"BrainScoreError", "count", "did_you_mean", "harmless", "listed", "nearest"}


@pytest.mark.parametrize(("name", "builtins"), CAUGHT_AS.items(), ids=CAUGHT_AS)
def test_error_has_its_classes_and_message_and_can_be_pickled(name, builtins):
    error = getattr(errors, name)("No 'x' here.\nTry 'y'.")
    assert isinstance(error, (BrainScoreError,))
    for builtin in builtins:
        assert isinstance(error, builtin)
    assert str(error) == f"{error}" == "No 'x' here.\nTry 'y'."
    assert str(getattr(errors, name)()) == ""
    copied = pickle.loads(pickle.dumps(error))  # noqa: S301 -- made on the same line; workers send errors this way
    assert type(copied) is type(error)
    assert str(copied) == str(error)


def test_errors_can_be_pickled_while_dask_is_in_use():
    pytest.importorskip("tblib", reason="dask is not installed")
    program = """
import pickle, tblib.pickling_support
from brainscore_core import errors
kinds = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]
tblib.pickling_support.install(*(kind('No x here.') for kind in kinds))
for kind in kinds:
    copied = pickle.loads(pickle.dumps(kind('No x here.')))
    assert type(copied) is kind and str(copied) == 'No x here.', kind
"""
    ended = run_captured([sys.executable, "-c", program])
    assert ended.status == 0, ended.stderr.decode()


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("alexnt", ["resnet50", "alexnet", "pixels"], ["alexnet"]),
        ("ALEXNET", ["alexnet"], ["alexnet"]),
        ("alexnet", ["AlexNet"], ["AlexNet"]),
        ("zzz", ["alexnet"], []),
        ("alexnet", [], []),
        ("", ["alexnet"], []),
    ],
)
def test_nearest_finds_similar_names(name, known, expected):
    assert nearest(name, known) == expected


def test_nearest_is_best_first_and_limited():
    known = ["resnet18", "resnet34", "resnet50", "resnet50_v2", "pixels"]
    assert nearest("resnet50", known, most=2) == ["resnet50", "resnet50_v2"]
    assert nearest("resnet50", iter(known), most=1) == ["resnet50"]


def test_suggestions_and_lists_are_worded_for_messages():
    assert did_you_mean("resnet5", ["resnet50", "vgg", "pixels"]) == " Did you mean 'resnet50'?"
    assert did_you_mean("resnet5", ["resnet50", "resnet5x1"], most=3) == " Did you mean 'resnet50' or 'resnet5x1'?"
    assert did_you_mean(15, (150, "x")) == " Did you mean '150'?"
    assert did_you_mean("zzz", ["pixels"]) == ""
    assert listed(["a", "b"]) == "\n  a\n  b"
    assert listed(["a", "b", "c"], most=1) == "\n  a\n  ... and 2 more"
