"""Check an upload's files, in a box: problems, the plugin's text, and previews for maintainers.

``python -m brainscore_web.portal.checking.program IN OUT LIBRARY IDENTIFIER`` writes ``OUT/report.json``, and files
that it packaged to ``OUT/packaged``.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from brainscore_core.errors import BrainScoreError
from brainscore_core.inspection import FILE_COLUMNS, check_path
from brainscore_core.processes import run_captured
from brainscore_core.supported_data_standards.brainio.assemblies import AssemblyLoader, DataAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import read_table
from brainscore_core.validation.problem import Problem, errors_of
from brainscore_web.portal.checking import PLACES

_MOST_PICTURES, _MOST_PIXELS = 12, 128
_PLOT = (240, 120)
_MOST_PROBLEMS = 500


def main(arguments: Sequence[str]) -> int:
    """Check one upload; the exit code is 0 whatever the verdict."""
    source, target, library, identifier = arguments
    report = check(Path(source), Path(target), library, identifier)
    Path(target, "report.json").write_text(json.dumps(report), encoding="utf-8")
    return 0


def check(source: Path, target: Path, library: str, identifier: str) -> dict[str, Any]:
    """Return the report about a folder of files; `target` is for the packaged files."""
    folder, is_of_tables = source, len(_loose(source)) > 1
    try:
        if is_of_tables:
            folder = _packaged(source, target / "packaged", identifier)
        problems = check_path(folder)  # as `brainscore validate` does
    except BrainScoreError as error:
        problems = [Problem("files", str(error), "send the files that packaging wrote, or a table with its pictures")]
    problems += [] if is_of_tables else _surplus(source)
    report: dict[str, Any] = {"problems": [_described(problem, source) for problem in problems[:_MOST_PROBLEMS]]}
    if errors_of(problems):
        return report
    try:
        folder = folder if is_of_tables else _packaged(source, target / "packaged", identifier)
        report["plugin"] = _plugin(folder, target, library, identifier)
        report["preview"] = preview_of(folder)
    except BrainScoreError as error:
        report["problems"].append(_described(Problem("files", str(error), "package the data again"), source))
    return report


def _described(problem: Problem, folder: Path) -> dict[str, str]:
    """Describe a problem without this machine's folders."""
    texts = {"what": problem.what, "where": problem.where, "remedy": problem.fix}
    own = {
        name: text.replace(f"{folder}/", "").replace(str(folder), "the upload").rstrip(".")[:2000]
        for name, text in texts.items()
    }
    return own | {"kind": problem.kind}


def _surplus(folder: Path) -> list[Problem]:
    tables = list(folder.glob("*.csv"))
    known = {PLACES, *(path.name for path in (*tables, *folder.glob("*.nc")))}
    for table in tables:
        if table.with_suffix(".zip").is_file():
            known.add(table.with_suffix(".zip").name)
            continue
        try:
            rows = read_table(table)
        except (ValueError, OSError):  # its own check reports it
            continue
        for column in set(FILE_COLUMNS) & set(rows.columns):
            known |= {f"{prefix}{name}" for name in map(str, rows[column]) for prefix in ("", f"{table.stem}/")}
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return [
        Problem(name, "does not belong to a packaged stimulus set or a table", "remove it, or list it in the table")
        for name in files
        if name not in known
    ]


def _loose(folder: Path) -> list[Path]:
    """Return the tables without an archive, that of stimuli first."""
    tables = [table for table in folder.glob("*.csv") if not table.with_suffix(".zip").is_file()]
    return sorted(tables, key=lambda table: (not table.name.casefold().startswith("stim"), table.name))


def _packaged(source: Path, target: Path, identifier: str) -> Path:
    """Return the folder of packages, as sent or made of tables by ``brainscore package``."""
    loose = _loose(source)
    if not loose:
        return source
    if len(loose) > 2 or list(source.glob("*.nc")):
        raise BrainScoreError(
            "Send only packaged files, or one table with its pictures and at most one table of responses."
        )
    _run("package", *map(str, loose), "--identifier", identifier, "--to", str(target))
    (target / PLACES).write_bytes((source / PLACES).read_bytes())
    return target


def _plugin(folder: Path, target: Path, library: str, identifier: str) -> dict[str, str]:
    repository = target / "repository"
    words = ["new-plugin", "data", re.sub(r"\W", "_", identifier), "--from-package", str(folder)]
    _run(*words, "--repository", str(repository), "--library", library, BRAINIO_HOME=str(target / "home"))
    written = sorted(repository.glob("data/*/*"))
    unused = (".gitkeep", "requirements.txt")  # data need nothing beyond the library
    return {file.name: file.read_text(encoding="utf-8") for file in written if file.name not in unused}


def _run(*words: str, **environment: str) -> None:
    """Run a command of contributors; raise its error."""
    command = [sys.executable, "-P", "-m", "brainscore_ci", *words]
    done = run_captured(command, environment={**os.environ, **environment})
    if done.status != 0:
        raise BrainScoreError(done.stderr.decode("utf-8", "replace").strip()[-2000:].removeprefix("Error: "))


# -- preview -----------------------------------------------------------------------------------------------------------


def preview_of(folder: Path) -> dict[str, Any]:
    """Return pictures of the stimuli, and sizes, counts, reliability and a plot of the assemblies."""
    pictures: list[dict[str, str]] = []
    n_stimuli = 0
    for path in sorted(folder.glob("stimulus_*.zip")):
        with zipfile.ZipFile(path) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
            n_stimuli += len(names)
            shown = ((name, _thumbnail(archive.read(name))) for name in names[: _MOST_PICTURES - len(pictures)])
            pictures += [{"name": name[:200], "png": png} for name, png in shown if png]
    assemblies = [_assembly(path) for path in sorted(folder.glob("*.nc"))]
    return {"n_stimuli": n_stimuli, "pictures": pictures, "assemblies": assemblies}


def _thumbnail(content: bytes) -> str | None:
    try:
        with Image.open(io.BytesIO(content)) as image:
            image.thumbnail((_MOST_PIXELS, _MOST_PIXELS))
            return _png(image.convert("RGB"))
    except (OSError, ValueError, Image.DecompressionBombError):  # a video, a sound
        return None


def _png(image: Image.Image) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def _assembly(path: Path) -> dict[str, Any]:
    assembly: Any = AssemblyLoader(DataAssembly, path).load()
    levels = [str(name) for name in assembly.coords if name not in assembly.dims]
    counts = {name: len({str(value) for value in assembly[name].values.ravel()}) for name in levels[:40]}
    responses = _responses(assembly)
    return {
        "identifier": path.stem.removeprefix("assy_"),
        "sizes": {str(dim): int(size) for dim, size in assembly.sizes.items()},
        "counts": counts,
        "reliability": None if responses is None else reliability_of(responses, _repetitions(assembly)),
        "plot": None if responses is None else _plot_of(responses),
    }


def _responses(assembly: Any) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Return presentations x neuroids, averaged over all other dims; None without these or numbers."""
    if not {"presentation", "neuroid"} <= set(assembly.dims) or not np.issubdtype(assembly.dtype, np.number):
        return None
    averaged = assembly.mean([dim for dim in assembly.dims if dim not in ("presentation", "neuroid")])
    return np.asarray(averaged.transpose("presentation", "neuroid").values, dtype=float)


def _repetitions(assembly: Any) -> tuple[list[str], list[str]] | None:
    if not hasattr(assembly, "repetition") or not hasattr(assembly, "stimulus_id"):
        return None
    return [str(v) for v in assembly["stimulus_id"].values], [str(v) for v in assembly["repetition"].values]


def reliability_of(
    responses: np.ndarray[Any, np.dtype[np.float64]], repetitions: tuple[list[str], list[str]] | None
) -> float | None:
    """Return the median over neuroids of the split-half correlation over stimuli, corrected to all repetitions.

    Even against odd repetitions, with the formula of Spearman (1910) and Brown (1910); None without repetitions.

    Parameters
    ----------
    responses
        Presentations x neuroids.
    repetitions
        ``stimulus_id`` and ``repetition`` of each presentation.
    """
    if repetitions is None:
        return None
    stimuli, repeats = repetitions
    order = {repeat: place for place, repeat in enumerate(sorted(set(repeats)))}
    halves = []
    for parity in (0, 1):
        rows = np.array([order[repeat] % 2 == parity for repeat in repeats])
        kept = np.array(stimuli)[rows]
        halves.append({key: np.nanmean(responses[rows][kept == key], axis=0) for key in set(kept)})
    both = sorted(halves[0].keys() & halves[1].keys())
    if len(both) < 3:
        return None
    first, second = (np.array([half[key] for key in both]) for half in halves)
    first, second = first - first.mean(0), second - second.mean(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (first * second).sum(0) / np.sqrt((first**2).sum(0) * (second**2).sum(0))
        corrected = float(np.nanmedian(2 * r / (1 + r))) if np.isfinite(r).any() else float("nan")
    return corrected if np.isfinite(corrected) else None


def _plot_of(responses: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    """Plot responses: presentations from left to right, neuroids downwards."""
    low, high = np.nanpercentile(responses, [1, 99]) if np.isfinite(responses).any() else (0.0, 1.0)
    scaled = np.nan_to_num(np.clip((responses - low) / max(high - low, 1e-12), 0, 1)).T
    return _png(Image.fromarray((scaled * 255).astype(np.uint8)).resize(_PLOT))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
