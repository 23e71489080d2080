"""Make packages: one that is suitable, and more than 50 that are hostile."""

import io
import struct
import zipfile

import numpy as np
from PIL import Image

from brainscore_core.errors import BrainScoreError
from brainscore_core.inspection import check_path
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.packaging import (
    package_data_assembly_locally,
    package_stimulus_set_locally,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.validation.problem import errors_of

IDS = [f"s{number}" for number in range(8)]


def png(seed):
    buffer = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (16, 16, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def packaged(folder):
    """Return name -> content of a packaged stimulus set and assembly; copies remain in ``BRAINIO_HOME``."""
    stimuli = StimulusSet({"stimulus_id": IDS})
    stimuli.stimulus_paths = {key: folder / f"{key}.png" for key in IDS}
    for number, path in enumerate(stimuli.stimulus_paths.values()):
        path.write_bytes(png(number))
    package_stimulus_set_locally(stimuli, "Mine2026", folder / "out")
    signal = np.random.default_rng(0).normal(size=(8, 5))
    coords = {
        "stimulus_id": ("presentation", IDS * 2),
        "repetition": ("presentation", [0] * 8 + [1] * 8),
        "neuroid_id": ("neuroid", list("abcde")),
        "region": ("neuroid", ["IT"] * 5),
    }
    assembly = NeuroidAssembly(np.concatenate([signal, signal]), coords=coords, dims=["presentation", "neuroid"])
    package_data_assembly_locally(assembly, "Mine2026.IT", "Mine2026", "NeuroidAssembly", folder / "out")
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


TABLE, ARCHIVE, ASSEMBLY = "stimulus_Mine2026.csv", "stimulus_Mine2026.zip", "assy_Mine2026_IT.nc"


def zipped(*members, **changed):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = changed.get("mode", 0o100644) << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def flipped(content, place):
    changed = bytearray(content)
    changed[place] ^= 0xFF
    return bytes(changed)


PICTURES = [(f"{key}.png", png(number)) for number, key in enumerate(IDS)]
HUGE = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">IIBBBBB", 2**30, 2**30, 8, 2, 0, 0, 0)
TABLES = {
    "empty": b"",
    "a byte order mark": b"\xef\xbb\xbfstimulus_id,filename\n",
    "a NUL": b"stimulus_id,filename\ns0,\0.png\n",
    "Latin-1": "stimulus_id,filename\ns0,\xe9.png\n".encode("latin-1"),
    "a column twice": b"stimulus_id,stimulus_id,filename\na,b,c\n",
    "ragged": b"stimulus_id,filename\ns0,s0.png,more\n",
    "no identifiers": b"name,filename\ns0,s0.png\n",
    "a stimulus twice": b"stimulus_id,filename\ns0,s0.png\ns0,s0.png\n",
    "no files": b"stimulus_id\ns0\n",
    "a path": b"stimulus_id,filename\ns0,../s0.png\n",
    "a file that is absent": b"stimulus_id,filename\ns0,other.png\n",
    "an open quote": b'stimulus_id,filename\n"s0,s0.png\n',
    "a header alone": b"stimulus_id,filename\n",
    "UTF-16": "stimulus_id,filename\ns0,s0.png\n".encode("utf-16"),
    "another type of file": b"\x89PNG\r\n\x1a\n" * 20,
    "binary": bytes(range(256)) * 8,
}
ARCHIVES = {
    "no archive": b"text",
    "an empty archive": zipped(),
    "a path above": zipped(("../s0.png", b"x"), *PICTURES),
    "an absolute path": zipped(("/etc/passwd", b"x"), *PICTURES),
    "a backslash": zipped(("a\\s0.png", b"x"), *PICTURES),
    "a link": zipped(*PICTURES, mode=0o120777),
    "a device": zipped(*PICTURES, mode=0o060644),
    "names that differ in case": zipped(("S0.png", b"x"), *PICTURES),
    "a file too many": zipped(("more.png", png(9)), *PICTURES),
    "a file too few": zipped(*PICTURES[1:]),
    "a picture of nothing": zipped(("s0.png", b""), *PICTURES[1:]),
    "a picture cut short": zipped(("s0.png", PICTURES[0][1][:60]), *PICTURES[1:]),
    "a picture of 3 EB": zipped(("s0.png", HUGE), *PICTURES[1:]),
    "a page in a picture": zipped(("s0.png", b"<script>alert(1)</script>"), *PICTURES[1:]),
    "a bomb": zipped(("s0.png", bytes(30 * 2**20)), *PICTURES[1:]),
    "cut short": zipped(*PICTURES)[:-40],
    "damaged": flipped(zipped(*PICTURES), 200),
}
ASSEMBLIES = {
    "nothing": lambda content: b"",
    "text": lambda content: b"text" * 100,
    "a signature alone": lambda content: content[:8],
    "half": lambda content: content[: len(content) // 2],
    "an older netCDF": lambda content: b"CDF\x01" + content[4:],
    "a pickle": lambda content: b"\x80\x04cos\nsystem\n(S'true'\ntR.",
    **{f"damaged at {place}": (lambda content, place=place: flipped(content, place)) for place in (9, 13, 24, 40, 96)},
}


def hostile(package):
    """Yield the name and files of uploads that must not be published."""
    for what, table in TABLES.items():
        yield f"table: {what}", {**package, TABLE: table}
    for what, archive in ARCHIVES.items():
        yield f"archive: {what}", {**package, ARCHIVE: archive}
    for what, change in ASSEMBLIES.items():
        yield f"assembly: {what}", {**package, ASSEMBLY: change(package[ASSEMBLY])}
    yield "no table", {ARCHIVE: package[ARCHIVE]}
    yield "nothing of data", {"readme.txt": b"text"}
    yield "a script", {**package, "run.py": b"import os"}
    yield "a package inside", {**package, "__init__.py": b"raise SystemExit"}
    yield "another archive", {**package, "more.zip": zipped(*PICTURES)}
    yield "two tables", {**package, "stimulus_Other.csv": b"stimulus_id\nx\n"}


def written(folder, files):
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def verdict(folder):
    """Return the errors that `brainscore validate` finds in a folder, in the portal's wording."""
    try:
        found = [problem.what for problem in errors_of(check_path(folder))]
    except BrainScoreError as error:
        found = [str(error)]
    return {text.replace(f"{folder}/", "").replace(str(folder), "the upload").rstrip(".")[:2000] for text in found}
