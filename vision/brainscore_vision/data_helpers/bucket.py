"""Declare a data set's files in S3 and its citation: a data plugin is then a list of facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import PluginError
from brainscore_core.plugin_management.registrations import constants, parse
from brainscore_vision.loading import load_stimulus_set

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["Bucket", "cite_data", "cite_plugin"]

Prepare = Callable[[Any], Any]  # plugins annotate their own functions more narrowly


@dataclass(frozen=True)
class Bucket:
    """A folder in S3 with packaged stimuli and assemblies.

    Both methods return a function for a registry. Write digests and versions as literals, or in a table over which a
    loop registers: ``brainscore data list`` reads them from the source.

    Parameters
    ----------
    path
        Bucket and folder, ``'brainscore-storage/brainio-brainscore'``.
    cls
        Class of the assemblies, such as `NeuroidAssembly`. None: `DataAssembly`.

    Examples
    --------
    >>> from brainscore_vision import data_registry, stimulus_set_registry
    >>> from brainscore_vision.data_helpers import Bucket
    >>> BUCKET = Bucket("brainscore-storage/brainscore-vision/data/author2024")
    >>> stimulus_set_registry["Author2024"] = BUCKET.stimuli(
    ...     "Author2024",
    ...     csv_sha1="a56f55205904d5fb5ead4d0dc7bfad5cc4083b94",
    ...     zip_sha1="6fd5080deccfb061699909ffcb86a26209516811",
    ... )
    >>> data_registry["Author2024"] = BUCKET.assembly(
    ...     "Author2024", sha1="bf8f8d01010d727e3db3f85a9bd5f95f9456b7ec", stimuli="Author2024"
    ... )
    """

    path: str
    cls: type[DataAssembly] | None = None

    def stimuli(
        self,
        identifier: str,
        *,
        csv_sha1: str,
        zip_sha1: str,
        csv_version_id: str = "null",
        zip_version_id: str = "null",
        filename_prefix: str | None = None,
        csv_sha256: str | None = None,
        zip_sha256: str | None = None,
        prepare: Prepare | None = None,
    ) -> Callable[[], StimulusSet]:
        """Return the function that loads a stimulus set from a table and an archive.

        SHA-256 digests, if given, are verified as well. Versions are ``'null'`` for files older than the bucket's
        versioning; the `filename_prefix` is ``'stimulus_'`` by default; `prepare` maps the loaded stimulus set to the
        returned one.
        """

        def load() -> StimulusSet:
            from brainscore_core.supported_data_standards.brainio.s3 import load_stimulus_set_from_s3  # imports pandas

            versions = csv_version_id, zip_version_id
            named = identifier, self.path, csv_sha1, zip_sha1, *versions, filename_prefix
            loaded = load_stimulus_set_from_s3(*named, csv_sha256=csv_sha256, zip_sha256=zip_sha256)
            return loaded if prepare is None else prepare(loaded)

        return load

    def assembly(
        self,
        identifier: str,
        *,
        sha1: str,
        version_id: str = "null",
        stimuli: str | None = None,
        merge_stimulus_set_meta: bool = True,
        memory_map: bool | None = None,
        sha256: str | None = None,
        prepare: Prepare | None = None,
    ) -> Callable[[], DataAssembly]:
        """Return the function that loads an assembly; digests, versions and `prepare` as for `stimuli`.

        Parameters
        ----------
        stimuli
            Registered stimulus set, possibly of another plugin. None: no stimuli.
        merge_stimulus_set_meta
            Whether columns of the stimulus set become coordinates of ``presentation``.
        memory_map
            Whether values stay on disk. None: the setting ``BRAINSCORE_MEMORY_MAP``.
        """

        def load() -> DataAssembly:
            from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly  # imports xarray
            from brainscore_core.supported_data_standards.brainio.s3 import load_assembly_from_s3  # likewise

            loaded = load_assembly_from_s3(
                identifier,
                version_id,
                sha1,
                self.path,
                self.cls or DataAssembly,
                None if stimuli is None else lambda: load_stimulus_set(stimuli),
                merge_stimulus_set_meta,
                memory_map=memory_map,
                sha256=sha256,
            )
            return loaded if prepare is None else prepare(loaded)

        return load


# -- citations ---------------------------------------------------------------------------------------------------------
# Read the citation that another plugin states.

_PLUGINS = Path(__file__).parents[1]


def cite_data(folder: str) -> str:
    """Return the constant ``BIBTEX`` of a data plugin, see `cite_plugin`.

    Examples
    --------
    >>> from brainscore_vision.data_helpers import cite_data
    >>> cite_data("majajhong2015").partition(",")[0]
    '@article{majajhong2015simple'
    """
    return cite_plugin(f"data/{folder}")


@cache
def cite_plugin(folder: str, constant: str = "BIBTEX") -> str:
    """Return a citation of a plugin, such as ``'metrics/rsa_ceiling'``, without running it.

    Raises `PluginError` if the plugin does not exist or assigns no text to the constant.
    """
    init = _PLUGINS / folder / "__init__.py"
    try:
        bibtex = constants(parse(init.read_bytes())).get(constant)
    except OSError as error:
        raise PluginError(f"Cannot cite plugin {folder!r}: {init} cannot be read ({error}).") from error
    if not isinstance(bibtex, str):
        raise PluginError(f'Plugin {folder!r} states no citation. Add {constant} = """@article{{...}}""" to {init}.')
    return bibtex
