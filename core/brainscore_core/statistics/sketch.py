r"""Compress influences to a few kilobytes that can still be matched with those on other scores.

The digest of a name (of a stimulus or unit) gives one of `WIDTH` buckets and a sign; a bucket holds the signed sum of
its influences. The product of two sketches is the sum of products over equal names, plus noise of mean 0 from shared
buckets (Charikar et al. 2002). The bucket of a cell is the sum of the buckets of its stimulus and unit (Pham & Pagh
2013). A variance from a sketch has a standard deviation of :math:`\sqrt{2 / 1024}` = 4.4 %, a standard error of 2.2 %,
for measurements of any size.

Sketches add and scale as influences do.

References
----------
Charikar et al. (2002), doi:10.1007/3-540-45465-9_59.
Pham & Pagh (2013), doi:10.1145/2487575.2487591.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import ContractError, CorruptFileError
from brainscore_core.statistics.influence import Influence, satterthwaite

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

__all__ = ["WIDTH", "InfluenceSketch", "of_one_kind", "sketch_arrays"]

WIDTH = 1024
"""Number of buckets, the same in all sketches, since those of old and new records are matched."""

_BLOCK_VALUES = 2**21
_HEADER = np.dtype("<f4").itemsize * 3
_FREEDOM = np.dtype("<f4").itemsize * 2
_NO_FREEDOM = np.full(2, np.inf, "<f4").tobytes()


@dataclass(frozen=True, eq=False, repr=False)
class InfluenceSketch:
    """Influences summed in buckets.

    Attributes
    ----------
    buckets : ndarray, shape (3, WIDTH)
        Influences of stimuli, of units, and of cells.
    freedom
        Degrees of freedom over stimuli and over units; infinite: unknown.

    Examples
    --------
    >>> from brainscore_core.statistics.influence import Influence
    >>> table = np.random.default_rng(0).standard_normal((300, 100))
    >>> influence = Influence.of_mean(table, np.arange(300), np.arange(100))
    >>> sketch = InfluenceSketch.of(influence, stimuli="ObjectsA", units="Recordings1")
    >>> bool(0.85 < sketch.error / influence.error < 1.15)
    True
    >>> (sketch - sketch).error  # the difference of a model from itself
    0.0
    """

    buckets: npt.NDArray[np.float64]
    freedom: tuple[float, float] = (float("inf"), float("inf"))

    @classmethod
    def of(cls, influence: Influence, *, stimuli: str, units: str) -> InfluenceSketch:
        """Sketch influences; `stimuli` and `units` identify the stimulus set and the measurement that own the names."""
        of_stimuli = _places(stimuli, influence.stimuli.tolist(), b"stimulus")
        of_units = _places(units, influence.units.tolist(), b"unit")
        buckets = np.zeros((3, WIDTH))
        for row, (place, sign), margin in (
            (buckets[0], of_stimuli, influence.by_stimulus),
            (buckets[1], of_units, influence.by_unit),
        ):
            row += np.bincount(place, sign * margin, WIDTH)
        columns = slice(None) if influence.columns is None else influence.columns
        step = max(1, _BLOCK_VALUES // max(1, influence.cells.shape[1]))
        for start in range(0, len(influence.stimuli), step):
            rows = slice(start, start + step)
            place = (of_stimuli[0][rows, None] + of_units[0][columns]) % WIDTH
            signed = of_stimuli[1][rows, None] * of_units[1][columns] * influence.cells[rows]
            buckets[2] += np.bincount(place.ravel(), signed.ravel(), WIDTH)
        if influence.of_units is not None:  # the same in all cells of a unit: the sketch of a product is a convolution
            even = np.bincount(of_stimuli[0], of_stimuli[1] / len(influence.stimuli), WIDTH)
            whole = np.bincount(of_units[0], of_units[1] * influence.of_units, WIDTH)
            buckets[2] += np.fft.irfft(np.fft.rfft(even) * np.fft.rfft(whole), WIDTH)
        return cls(buckets, influence.freedoms)

    def __repr__(self) -> str:
        return f"<InfluenceSketch of a score ± {self.error:.2g}>"

    def __mul__(self, factor: float) -> InfluenceSketch:
        return InfluenceSketch(self.buckets * factor, self.freedom)

    __rmul__ = __mul__

    def __add__(self, other: InfluenceSketch) -> InfluenceSketch:
        return InfluenceSketch(self.buckets + other.buckets, self._freedom_with(other))

    def __sub__(self, other: InfluenceSketch) -> InfluenceSketch:
        return InfluenceSketch(self.buckets - other.buckets, self._freedom_with(other))

    def _freedom_with(self, other: InfluenceSketch) -> tuple[float, float]:
        """Return the lower ones: without names, shared stimuli and units are unknown."""
        return min(self.freedom[0], other.freedom[0]), min(self.freedom[1], other.freedom[1])

    def covariance(self, other: InfluenceSketch) -> float:
        """Return the covariance of two scores over new stimuli and new units."""
        of_stimuli, of_units, of_cells = np.vecdot(self.buckets, other.buckets)
        return float(of_stimuli + of_units - of_cells)

    @property
    def variance(self) -> float:
        """Squared standard error over new stimuli and units, never below that over one of the two."""
        of_stimuli, of_units, of_cells = (float(part) for part in np.vecdot(self.buckets, self.buckets))
        return max(of_stimuli + of_units - of_cells, of_stimuli, of_units)

    @property
    def error(self) -> float:
        """Standard error over new stimuli and new units."""
        return float(np.sqrt(self.variance))

    @property
    def degrees_of_freedom(self) -> float:
        """As for `Influence`; infinite if unknown."""
        return satterthwaite(np.vecdot(self.buckets, self.buckets), self.freedom, self.variance)

    def to_text(self) -> str:
        """Return 4,124 ASCII characters; buckets are rounded to 1/127 of the largest of their kind."""
        scales = (np.abs(self.buckets).max(axis=1) / 127).astype("<f4")
        divisors = np.where(scales > 0, scales, 1).astype(np.float64)
        rounded = np.clip(np.rint(self.buckets / divisors[:, None]), -127, 127).astype(np.int8)
        freedom = np.array(self.freedom, dtype="<f4")
        return base64.b64encode(scales.tobytes() + rounded.tobytes() + freedom.tobytes()).decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> InfluenceSketch:
        """Read the text that `to_text` writes; see `sketch_arrays` for errors."""
        steps, scales, freedom = (part[0] for part in sketch_arrays([text]))
        return cls(steps * scales[:, None], (float(freedom[0]), float(freedom[1])))


def of_one_kind(influences: Iterable[object]) -> tuple[list[Influence], list[InfluenceSketch]]:
    """Return influences and sketches; `ContractError` if there are both, which cannot be matched."""
    whole = list(influences)
    exact = [influence for influence in whole if isinstance(influence, Influence)]
    sketches = [influence for influence in whole if isinstance(influence, InfluenceSketch)]
    if exact and sketches:
        raise ContractError(
            "Some scores have influences, others the sketches of records, and these cannot be matched. Convert all of "
            "them with `InfluenceSketch.of`."
        )
    return exact, sketches


def sketch_arrays(
    texts: Sequence[str],
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Read many sketches at once, as `InfluenceSketch.to_text` writes them.

    Returns
    -------
    steps : ndarray of int8, shape (n, 3, WIDTH)
        Buckets in units of `scales`.
    scales : ndarray, shape (n, 3)
    freedom : ndarray, shape (n, 2)
        Infinite for sketches without it, as the first version wrote them.

    Raises
    ------
    CorruptFileError
        If a text is not base64, has another size, or holds numbers that are not finite.
    """
    without, whole = _HEADER + 3 * WIDTH, _HEADER + 3 * WIDTH + _FREEDOM
    contents = []
    for text in texts:
        try:
            content = binascii.a2b_base64(text, strict_mode=True)
        except ValueError as error:
            raise CorruptFileError("The sketch of influences is not base64. Score the pair again.") from error
        if len(content) not in (without, whole):
            raise CorruptFileError(
                f"The sketch of influences has {len(content)} bytes; expected {whole}. Score the pair again."
            )
        contents.append(content if len(content) == whole else content + _NO_FREEDOM)
    table = np.frombuffer(b"".join(contents), np.uint8).reshape(len(texts), whole)
    scales = table[:, :_HEADER].copy().view("<f4").astype(np.float64)
    freedom = table[:, without:].copy().view("<f4").astype(np.float64)
    if not (np.isfinite(scales).all() and (freedom > 0).all()):
        raise CorruptFileError("The sketch of influences has numbers that are not finite. Score the pair again.")
    steps = np.ascontiguousarray(table[:, _HEADER:without]).view(np.int8).reshape(-1, 3, WIDTH)
    return steps, scales, freedom


def _places(whose: str, names: Iterable[object], kind: bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return bucket and sign of each name."""
    digests = b"".join(blake2b(f"{whose}\0{name}".encode(), digest_size=8, person=kind).digest() for name in names)
    numbers = np.frombuffer(digests, "<u8")
    return (numbers % WIDTH).astype(np.int64), np.where(numbers >> 63, 1.0, -1.0)
