"""Write and read a run's artifact with its plan and results; anybody may have made it."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

from brainscore_ci.planning.plan import Plan
from brainscore_ci.reporting.results import Results
from brainscore_core.errors import CorruptFileError
from brainscore_core.files import atomic_path
from brainscore_core.untrusted import MOST_BYTES, shown

MOST_ZIP = 4 * 2**20  # bytes of an artifact; plans and results compress well
_PLAN, _RESULTS = "plan.json", "results.json"


def write_bundle(folder: Path, plan: Plan, results: Results) -> None:
    """Write the files of the artifact."""
    for name, content in {_PLAN: plan.to_json(), _RESULTS: results.to_json()}.items():
        with atomic_path(folder / name) as temporary:
            temporary.write_text(content, encoding="utf-8")


def read_bundle(data: bytes) -> tuple[Plan, Results]:
    """Read the artifact of a run, an untrusted zip file."""
    content = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = sorted(info.filename for info in archive.infolist())
            if names != sorted((_PLAN, _RESULTS)):
                raise CorruptFileError(f"Expected {_PLAN} and {_RESULTS} in the artifact; found {shown(str(names))}.")
            for info in archive.infolist():
                # Other compressions cannot be stopped in time; the declared size may be wrong.
                if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or info.flag_bits & 1:
                    raise CorruptFileError(f"{info.filename} is encrypted, or packed in an unusual way.")
                with archive.open(info) as member:
                    content[info.filename] = member.read(MOST_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, CorruptFileError):
            raise
        raise CorruptFileError(f"The artifact is no zip file: {shown(str(error))}.") from error
    return Plan.from_json(content[_PLAN]), Results.from_json(content[_RESULTS])
