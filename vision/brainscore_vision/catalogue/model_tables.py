"""Read ``models.csv``, the table next to the ``__init__.py`` of a plugin with many models.

Empty cells stand for the defaults.

============== =====================================================================================================
``identifier`` key in the registry
``source``     an architecture of `brainscore_vision.model_helpers.architectures` or a name in a library, such as
               ``timm:resnet18``
``weights``    address of a checkpoint, see `brainscore_vision.model_helpers.weights.fetch_checkpoint`; ``random`` for
               an untrained network; empty for the library's
``digest``     SHA-1 or SHA-256 of the checkpoint; empty trusts the version in S3 or the first download
``entry``      key of the weights in the checkpoint, ``a/b`` for nested ones, ``a|b`` for the first that there is, ``.``
               for the checkpoint itself
``names``      how names in the checkpoint become the network's, see `brainscore_vision.model_helpers.tables`
``pickle``     ``weights_only=False`` or ``dill`` if the published plugin unpickles the checkpoint so, which can run any
               code in it; here only tensors are read, see `brainscore_vision.model_helpers.weights.read_checkpoint`
``classes``    number of outputs, if not 1000; 0 for a network without its last layer
``background`` number of first outputs that are not classes of ImageNet, which the last linear layer then lacks
``padding``    side of the pictures, pixels, that convolutions of timm's Conv2dSame are padded for; default: any side
``pictures``   steps of the preprocessing, see `steps_of_pictures`; default: ``library``, for architectures of ours
               ``square 224, imagenet``
``V1`` to IT   layer of the region; ``head.input`` is what enters the layer ``head``
``layers``     layers to choose among, separated by spaces, without a layer of each region; default: the blocks
``readout``    layer for behaviour, also ``head.input``; default: the last of the layers
``degrees``    width of the field of view; default: 8
``reason``     why it cannot be loaded, as a clause; such a row has no source
============== =====================================================================================================
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from brainscore_core.errors import ConfigurationError, did_you_mean
from brainscore_core.plugin_management.registrations import table_of
from brainscore_vision.catalogue.entries import plugin_index

__all__ = ["PICTURES", "Row", "TableError", "published_rows", "read_table", "steps_of_pictures"]

PICTURES: Mapping[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "half": ((0.5,) * 3, (0.5,) * 3),
    "unit": ((0.0,) * 3, (1.0,) * 3),
    "stl10": ((0.44671062, 0.43980984, 0.40664646), (0.26034098, 0.25657727, 0.27126738)),
}
"""Last step of ``pictures`` -> mean and standard deviation of red, green and blue on the scale 0..1."""

_VALUES = "|".join(PICTURES)
_PICTURES = re.compile(
    rf"(?!crop|{_VALUES}|short[^,]*, (?!crop))"  # a short side without a crop leaves different shapes
    r"(?:(?P<shape>square|short) (?P<side>[1-9]\d{1,3})(?: (?P<resample>bicubic|opencv))?, )?"
    r"(?:crop (?P<crop>[1-9]\d{1,3}), )?"
    rf"(?:(?P<values>{_VALUES})|library(?:, blur (?P<blur>\d+\.\d+))?)",
    re.ASCII,
)
_WEIGHTS = re.compile(r"random|s3://[\w.-]+/[^\s?]+(\?version=\S+)?|https?://[^\s/]+/\S+|hub:[\w.-]+/[\w.-]+@\w+/\S+")
_DIGEST = re.compile(r"[0-9a-f]{8}|[0-9a-f]{40}|[0-9a-f]{64}")
_REGIONS = ("V1", "V2", "V4", "IT")


class TableError(ConfigurationError):
    """A table of models has empty or contradictory rows; lists all of them."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a table; the columns are described above."""

    identifier: str
    source: str = ""
    weights: str = ""
    digest: str = ""
    entry: str = ""
    names: str = ""
    pickle: str = ""
    classes: str = ""
    background: str = ""
    padding: str = ""
    pictures: str = ""
    V1: str = ""
    V2: str = ""
    V4: str = ""
    IT: str = ""
    layers: str = ""
    readout: str = ""
    degrees: str = ""
    reason: str = ""

    @property
    def region_layer_map(self) -> dict[str, str]:
        """Region -> layer."""
        return {region: layer for region in _REGIONS if (layer := getattr(self, region))}

    @property
    def library(self) -> str:
        """Scheme of its source, such as ``'timm'``; empty for an architecture of ours."""
        scheme, colon, _ = self.source.partition(":")
        return scheme if colon else ""


def read_table(path: Path) -> dict[str, Row]:
    """Return identifier -> row of a table, in its order; a `TableError` lists every problem with its line."""
    rows: dict[str, Row] = {}
    lines: dict[str, int] = {}
    problems: list[str] = []
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream)
        columns = next(reader, [])
        known = [column.name for column in fields(Row)]
        unknown = [f"1: unknown column {name!r}.{did_you_mean(name, known)}" for name in columns if name not in known]
        if unknown or columns[:1] != ["identifier"]:
            raise TableError(
                _listed(path, [*unknown, f"1: expected the column identifier and any of {', '.join(known[1:])}"])
            )
        for cells in reader:
            line = reader.line_num
            if len(cells) != len(columns):
                problems.append(f"{line}: {len(cells)} cells; expected {len(columns)}")
                continue
            row = Row(**dict(zip(columns, cells, strict=True)))
            problems += [f"{line}: {row.identifier}: {problem}" for problem in _problems(row)]
            if row.identifier in rows:
                problems.append(f"{line}: {row.identifier} is already in line {lines[row.identifier]}")
            rows[row.identifier], lines[row.identifier] = row, line
    if problems:
        raise TableError(_listed(path, problems))
    return rows


def _listed(path: Path, problems: list[str]) -> str:
    return "\n".join(["The table of models has errors:", *(f"  {path}:{problem}" for problem in problems)])


def _problems(row: Row) -> Iterator[str]:
    if bool(row.source) == bool(row.reason):
        yield "expected either a source or a reason, not both"
    if row.source and not row.library and not row.weights:
        yield f"the architecture {row.source!r} needs weights; expected random or the URL of a checkpoint"
    if row.weights and not _WEIGHTS.fullmatch(row.weights):
        yield f"invalid weights {row.weights!r}; expected random, s3://..., https://... or hub:repository@revision/file"
    is_sha1_elsewhere = len(row.digest) == 40 and not row.weights.startswith("s3://")
    if row.digest and (is_sha1_elsewhere or not _DIGEST.fullmatch(row.digest)):
        yield (
            f"invalid digest {row.digest!r}; expected the SHA-1 of a file in S3, or a SHA-256 (64 digits or the first "
            "8)"
        )
    if row.pickle not in {"", "weights_only=False", "dill"}:
        yield f"invalid pickle {row.pickle!r}; expected weights_only=False, dill or an empty cell"
    if row.pictures and not _PICTURES.fullmatch(row.pictures):
        yield f"invalid pictures {row.pictures!r}; expected steps such as 'short 256 bicubic, crop 224, imagenet'"
    for name, number in (("classes", row.classes), ("background", row.background), ("padding", row.padding)):
        if number and not number.isdecimal():
            yield f"invalid {name} {number!r}; expected a whole number"
    if row.degrees and not re.fullmatch(r"\d+(\.\d+)?", row.degrees):
        yield f"invalid degrees {row.degrees!r}; expected a number"


def steps_of_pictures(pictures: str) -> dict[str, str]:
    """Return the steps of a cell of ``pictures``, as texts; those that it lacks are empty.

    ``square 256`` resizes both sides to 256 pixels, ``short 256`` the short one, and the long one in proportion, by
    Pillow's bilinear filter; ``bicubic`` is Pillow's other filter, for ``opencv`` see `resize_as_opencv`. ``crop 224``
    cuts out the central square. Then values from 0 to 1 are normalised as in `PICTURES`, or the ``library`` does what
    it states for its weights; ``library, blur 2.5`` blurs its pictures before it scales their values, by a Gaussian
    whose standard deviation is 2.5 pixels.

    Returns
    -------
    dict
        Values of ``shape``, ``side``, ``resample``, ``crop``, ``values`` and ``blur``.

    Examples
    --------
    >>> steps = steps_of_pictures("short 256 bicubic, crop 224, imagenet")
    >>> steps["shape"], steps["side"], steps["resample"], steps["crop"], steps["values"], steps["blur"]
    ('short', '256', 'bicubic', '224', 'imagenet', '')
    """
    match = _PICTURES.fullmatch(pictures)
    return match.groupdict(default="") if match else {}


def published_rows() -> dict[str, Row]:
    """Return identifier -> row of all plugins' tables, without importing these."""
    tables = [table_of(plugin.directory) for plugin in plugin_index().plugins("models")]
    return {identifier: row for table in tables if table.is_file() for identifier, row in read_table(table).items()}
