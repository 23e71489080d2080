"""Declare the default benchmarks for choosing the layers of regions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from brainscore_core.errors import DownloadError, RequirementsError, UnknownIdentifierError, listed
from brainscore_vision.loading import load_benchmark

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark

__all__ = ["REGION_BENCHMARKS", "DeclaredBenchmarks", "available"]

_logger = logging.getLogger(__name__)

REGION_BENCHMARKS: Mapping[str, tuple[str, ...]] = {
    "V1": ("FreemanZiemba2013public.V1-pls", "SimulatedCortex2026.V1-pls"),
    "V2": ("FreemanZiemba2013public.V2-pls", "SimulatedCortex2026.V2-pls"),
    "V4": ("MajajHong2015public.V4-pls", "SimulatedCortex2026.V4-pls"),
    "IT": ("MajajHong2015public.IT-pls", "SimulatedCortex2026.IT-pls"),
}
"""Identifiers for each region; the first one with available data is used.

Public recordings come first, as in the published system, then simulated ones, which every choice reports.
"""

_NOT_HERE = (UnknownIdentifierError, DownloadError, RequirementsError)


class DeclaredBenchmarks(Mapping[str, "Benchmark"]):
    """The benchmark of each region, loaded on first access.

    `declared` are identifiers for each region, in order of preference. None: `REGION_BENCHMARKS`.
    """

    def __init__(self, declared: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._declared = dict(REGION_BENCHMARKS if declared is None else declared)
        self._loaded: dict[str, Benchmark] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __contains__(self, region: object) -> bool:
        return region in self._declared  # loads nothing

    def __len__(self) -> int:
        return len(self._declared)

    def __getitem__(self, region: str) -> Benchmark:
        """Load a region's benchmark with data; `UnknownIdentifierError` if none is available."""
        if region not in self._loaded:
            self._loaded[region] = self._load(region)
        return self._loaded[region]

    def _load(self, region: str) -> Benchmark:
        problems, preferred = [], self._declared[region][0]
        for identifier in self._declared[region]:
            try:
                benchmark = load_benchmark(identifier)
                _ = benchmark.ceiling  # needs the data
            except _NOT_HERE as error:
                problems.append(f"{identifier}: {error}")
                continue
            if problems:
                _logger.warning(
                    "The layer of region %s is chosen on %s, because %s is not available. Fetch its data (brainscore "
                    "data fetch --benchmark %s), or name the layer: --region-layer %s=LAYER (region_layer_map).",
                    *(region, identifier, preferred, preferred, region),
                )
                _logger.info("Not available:%s", listed(problems))
            return benchmark
        raise UnknownIdentifierError(
            f"None of the benchmarks for choosing the layer of region {region!r} is available:{listed(problems)}\n"
            f"Name the layer: --region-layer {region}=LAYER, or region_layer_map={{{region!r}: 'LAYER'}} in Python."
        )


def available(benchmarks: Mapping[str, Benchmark]) -> dict[str, Benchmark]:
    """Load the benchmarks of all regions, skipping unavailable ones."""
    loaded = {}
    for region in benchmarks:
        try:
            loaded[region] = benchmarks[region]
        except _NOT_HERE as error:
            _logger.info("Region %s gets no layer: %s", region, error)
    return loaded
