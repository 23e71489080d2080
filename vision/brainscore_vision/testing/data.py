"""Tests of every stimulus set and every data set, and the files that a data plugin registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from brainscore_core.errors import PluginError, did_you_mean
from brainscore_core.plugin_management.source import read_plugin
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_core.testing.contracts import Contract, data_available
from brainscore_core.validation.assemblies import check_alignment, check_assembly
from brainscore_core.validation.stimuli import check_stimulus_set
from brainscore_vision.catalogue.entries import DATA_KINDS, plugin_index
from brainscore_vision.catalogue.references import find_references
from brainscore_vision.loading import load_dataset, load_stimulus_set
from brainscore_vision.testing.identifier import IdentifierContract

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_core.validation.problem import Problem

__all__ = ["DataContract", "StimulusSetContract", "registered_files"]

_MOST_SHOWN = 5


class _ValidatedContract(Contract):
    def _require(self, problems: Sequence[Problem]) -> None:
        errors = [problem for problem in problems if not problem.is_hint]
        if errors:
            more = f"; and {len(errors) - _MOST_SHOWN} more" if len(errors) > _MOST_SHOWN else ""
            self.broken(
                f"breaks the data standard: {'; '.join(map(str, errors[:_MOST_SHOWN]))}{more}",
                f"to list everything with hints, run: nox -s validate -- {self.identifier}",
            )


class StimulusSetContract(_ValidatedContract, IdentifierContract):
    """It loads, has its key as identifier, and obeys the data standard.

    Examples
    --------
    In ``test.py``::

        class TestMyStimuli(StimulusSetContract):
            identifier = "Mine2026"
    """

    kind = "stimulus set"
    base = "StimulusSetContract"
    why_one_name = "use one name for both: results of models are stored under it"

    def load(self) -> StimulusSet:
        """Load the stimulus set; files may be downloaded."""
        return load_stimulus_set(self.identifier)

    def test_validates(self) -> None:
        """Identifiers, columns and files obey the data standard."""
        self._require(check_stimulus_set(self.loaded, is_packaged=True))


class DataContract(_ValidatedContract):
    """It loads, obeys the data standard, and its stimuli are in its stimulus set.

    Examples
    --------
    In the ``test.py`` of recordings with missing values::

        class TestMyRecordings(DataContract):
            identifier = "Mine2026.IT"
            nans_expected = True
    """

    kind = "data set"
    base = "DataContract"
    nans_expected: ClassVar[bool] = False

    def load(self) -> DataAssembly | Any:  # a plugin may register anything
        """Load the assembly; files may be downloaded."""
        return load_dataset(self.identifier)

    def test_validates(self) -> None:
        """Dimensions, coordinates and values obey the data standard of its class."""
        self._require(check_assembly(self._assembly(), nans_expected=self.nans_expected))

    def test_stimuli_align(self) -> None:
        """Every presented stimulus is in the stimulus set."""
        with data_available():
            stimulus_set = self._assembly().attrs.get("stimulus_set")
        if stimulus_set is None:
            pytest.skip("other: the assembly has no stimulus set")
        self._require(check_alignment(self._assembly(), stimulus_set))

    def _assembly(self) -> DataAssembly:
        if not isinstance(self.loaded, DataAssembly):
            self.unfit(
                f"a {type(self.loaded).__name__} is not an assembly, so it cannot be checked",
                "write separate tests for it",
            )
        return self.loaded


# -- registered files --------------------------------------------------------------------------------------------------


def registered_files(plugin: str) -> list[str]:
    """Return a sorted line for each S3 file of a data plugin, without running it.

    Lines are ``<kind> <registered identifier> <packaged identifier> <type> <bucket> <version> <sha1>``.
    """
    plugins = {entry.directory.name: entry for entry in plugin_index().plugins("data")}
    if plugin not in plugins:
        hint = did_you_mean(plugin, plugins)
        raise PluginError(
            f"No data plugin has the folder {plugin!r}.{hint} Data plugins are folders of brainscore_vision/data."
        )
    match = plugins[plugin]
    source = read_plugin(match.directory, match.module)
    lines = []
    for kind in DATA_KINDS:
        for name in match.identifiers(kind):
            for file in find_references(source, kind.registry, name):
                facts = (kind.name, name, file.identifier, file.file_type, file.bucket, file.version_id, file.sha1)
                lines.append(" ".join(map(str, facts)))
    return sorted(lines)
