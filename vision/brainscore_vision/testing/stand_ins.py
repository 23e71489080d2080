"""Synthetic data in place of registered data, for the length of a test.

Responses have a planted signal that is also returned: a model that answers with it must reach the ceiling. `StandIns`
packages data like published ones, serves them from a local S3 server and redirects the registrations there, so a test
runs all code between registry and score::

    from brainscore_vision.testing.stand_ins import draw_stimuli, recordings

    def test_brain_reaches_its_ceiling(stand_ins):
        stimuli = draw_stimuli("hvm-public", 60, columns={"object_name": ["cat", "car"] * 30})
        assembly, truth = recordings(stimuli, n_neuroids=12, n_repetitions=10, neuroid_coords={"region": "IT"})
        stand_ins.data("MajajHong2015.public", assembly)
        score = load_benchmark("MajajHong2015public.IT-pls")(PrecomputedFeatures(truth, visual_degrees=8))

Fixtures: `stand_ins` (one test), `module_stand_ins` (one file of tests, which download once with `kept_homes`), and
`real_data`, which suspends the latter for tests marked ``private_access`` or ``network``. Plugins elsewhere import
them, `stand_in_s3` and `drawn_pictures`, in their ``conftest.py``. Without pytest, use `serve_s3` and `standing_in`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from brainscore_core.errors import UnknownIdentifierError
from brainscore_core.plugin_management.import_plugin import find_plugin, import_plugin
from brainscore_core.plugin_management.registry import kind_named
from brainscore_core.plugin_management.source import read_plugin
from brainscore_core.supported_data_standards.brainio import s3
from brainscore_core.supported_data_standards.brainio.packaging import (
    package_data_assembly,
    package_stimulus_set,
    upload_to_s3,
    write_netcdf,
)
from brainscore_core.supported_data_standards.brainio.s3 import load_assembly_from_s3, load_stimulus_set_from_s3
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_core.testing.pytest_plugin import needs_data
from brainscore_vision.catalogue.references import find_references
from brainscore_vision.loading import load_stimulus_set
from brainscore_vision.registries import data_registry, stimulus_set_registry
from brainscore_vision.testing import made_recordings
from brainscore_vision.testing.made_recordings import draw_stimuli, of_stimuli, recordings, shuffled

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.fetch import S3Object
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.catalogue.references import Reference

__all__ = [
    "StandIns",
    "draw_stimuli",
    "drawn_pictures",
    "kept_homes",
    "module_stand_ins",
    "of_stimuli",
    "real_data",
    "recordings",
    "serve_s3",
    "shuffled",
    "stand_in_s3",
    "stand_ins",
    "standing_in",
]

_LIBRARY = "brainscore_vision"
_BUCKET = "brainscore-stand-ins"
_OF_EACH_TEST = ("BRAINSCORE_HOME", "BRAINSCORE_OFFLINE")  # set separately for each test
_of_module: list[StandIns] = []


class StandIns:
    """Replace registered data until the test ends; made by `standing_in`.

    If the registration names files in S3, its own code loads the stand-in. Otherwise, and for unregistered identifiers,
    the registration is replaced.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, before: Mapping[str, str | None]) -> None:

        self._monkeypatch = monkeypatch
        self._before = before
        self.homes = {name: os.environ[name] for name in ("BRAINSCORE_HOME", "BRAINIO_HOME")}
        self._files: dict[S3Object, S3Object] = {}
        self._stood_in: set[str] = set()
        self._replaced: list[tuple[MutableMapping[str, Any], str, Any]] = []
        self._suspended = False
        locate = s3.locate

        def locate_stand_in(identifier: str, file_type: str, *args: Any, **kwargs: Any) -> tuple[S3Object, Path]:
            source, target = locate(identifier, file_type, *args, **kwargs)
            if source not in self._files or self._suspended:
                return source, target
            instead = self._files[source]
            return instead, target.parent.parent / str(instead.sha1) / target.name

        monkeypatch.setattr(s3, "locate", locate_stand_in)

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Serve the real data within a block."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self._before.items():
                patch.delenv(name, raising=False) if value is None else patch.setenv(name, value)
            for registry, identifier, real in reversed(self._replaced):  # the first to be replaced is the real one
                patch.delitem(registry, identifier) if real is None else patch.setitem(registry, identifier, real)
            self._suspended = True
            try:
                yield
            finally:
                self._suspended = False

    def stimuli(self, identifier: str, stimulus_set: StimulusSet) -> None:
        """Replace a registered stimulus set, packaged under the registered identifier."""
        references = {reference.file_type: reference for reference in _references("stimulus_set", identifier)}
        packaged_as = references["csv"].identifier if "csv" in references else identifier
        package: dict[str, Any] = dict(package_stimulus_set(None, stimulus_set, packaged_as, _BUCKET))
        if set(references) == {"csv", "zip"}:
            for kind, reference in references.items():
                self._redirect(reference, package[f"{kind}_version_id"], package[f"{kind}_sha1"])
        else:
            self._register(stimulus_set_registry, identifier, lambda: load_stimulus_set_from_s3(**package))
        self._stood_in.add(identifier)

    def data(
        self,
        identifier: str,
        assembly: DataAssembly,
        stimulus_set: StimulusSet | None = None,
        cls: type[DataAssembly] | None = None,
        *,
        nans_expected: bool = False,
        checked: bool = True,
    ) -> None:
        """Replace a registered assembly.

        Parameters
        ----------
        assembly
            With the attribute ``stimulus_set`` unless `stimulus_set` is given or there are no stimuli.
        stimulus_set
            Replaces the registered set of its own identifier, unless that has a stand-in.
        cls
            Class to package as, and to load as if the registration does not state one; None: the assembly's.
        nans_expected
            Whether missing values are part of the data.
        checked
            Apply the checks of packaging. Older published files fail them: they lack ``neuroid_id``, or repeat a
            dimension.
        """
        stimuli: StimulusSet | None = assembly.attrs.get("stimulus_set") if stimulus_set is None else stimulus_set
        if stimuli is not None and str(stimuli.identifier) not in self._stood_in:
            self.stimuli(str(stimuli.identifier), stimuli)
        references = _references("data", identifier)
        redirect = len(references) == 1 and references[0].file_type == "nc"
        made_as = cls or type(assembly)
        packaged_as = references[0].identifier if redirect else identifier
        shown_as = None if stimuli is None else str(stimuli.identifier)
        package: dict[str, Any]
        if checked:
            options: dict[str, Any] = {"stimulus_set": stimuli, "nans_expected": nans_expected}
            package = dict(
                package_data_assembly(None, assembly, packaged_as, shown_as, made_as.__name__, _BUCKET, **options)
            )
        else:
            bare = assembly.copy(deep=False)
            bare.attrs = {}
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"assy_{packaged_as.replace('.', '_')}.nc"
                sha1 = write_netcdf(bare, path)
                package = {"version_id": upload_to_s3(path, _BUCKET, path.name).get("VersionId"), "sha1": sha1}
        version_id, sha1 = package["version_id"], str(package["sha1"])
        if redirect:
            self._redirect(references[0], version_id, sha1)
            return
        loader = None if stimuli is None else lambda: load_stimulus_set(str(stimuli.identifier))
        self._register(
            data_registry,
            identifier,
            lambda: load_assembly_from_s3(identifier, version_id, sha1, _BUCKET, made_as, loader),
        )

    def split(
        self,
        dataset: str,
        stimuli: Mapping[str, StimulusSet],
        n_repetitions: Mapping[str, int | None],
        *,
        unreliable: npt.NDArray[np.bool_] | None = None,
        **kwargs: Any,  # of `recordings`
    ) -> NeuroidAssembly:
        """Replace ``<dataset>_<name>`` by responses of the same neuroids to several stimulus sets; return the signal.

        Parameters
        ----------
        stimuli
            Name, such as ``train``, -> stimuli.
        n_repetitions
            Name -> number of repetitions. None: the mean over the largest number, without the coordinate.
        unreliable : array of bool, shape (n_neuroids,), optional
            Neuroids that contain only noise.
        **kwargs
            Arguments of `recordings`.
        """
        joint: Any = pd.concat(list(stimuli.values()), ignore_index=True)
        joint.identifier = dataset
        most = max(filter(None, n_repetitions.values()))
        assembly, truth = recordings(joint, n_repetitions=most, **kwargs)
        if unreliable is not None:
            noise = np.random.default_rng(kwargs.get("seed", 0)).standard_normal(assembly.shape)
            assembly.values[:, unreliable] = noise[:, unreliable]
        for name, stimulus_set in stimuli.items():
            number = n_repetitions[name]
            part = of_stimuli(assembly, stimulus_set, n_repetitions=number)
            self.data(f"{dataset}_{name}", average_repetition(part) if number is None else part)
        return truth

    def load_once(self, registry: MutableMapping[str, Any], identifiers: Iterable[str]) -> None:
        """Load each of these once for all tests that share these stand-ins; real data are loaded as usual."""
        for identifier in identifiers:
            self._register(registry, identifier, functools.cache(registry[identifier]))

    def _register(self, registry: MutableMapping[str, Any], identifier: str, load: Callable[[], object]) -> None:
        self._replaced.append((registry, identifier, registry.get(identifier)))
        self._monkeypatch.setitem(registry, identifier, load)

    def _redirect(self, reference: Reference, version_id: str | None, sha1: str) -> None:

        named = reference.identifier, reference.file_type
        location = *named, reference.bucket, reference.version_id, reference.sha1, reference.filename_prefix
        source, _ = s3.locate(*location)
        filename = source.key.rpartition("/")[2]
        self._files[source] = s3.S3Object(bucket=_BUCKET, key=filename, version_id=version_id, sha1=sha1)


def _references(kind: str, identifier: str) -> list[Reference]:
    """Return the files of a registration; import its plugin, which must not register after the stand-in."""
    try:
        plugin = find_plugin(_LIBRARY, kind, identifier)
    except UnknownIdentifierError:
        return []
    import_plugin(_LIBRARY, kind, identifier)
    return find_references(read_plugin(plugin.directory, plugin.module), kind_named(kind).registry, identifier)


def _hasten_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3.session  # only for tests with stand-ins

    make_session = boto3.session.Session

    @functools.cache
    def session_in(*_environment: str | None) -> boto3.session.Session:
        session = make_session()
        make_client, clients = session.client, dict[tuple[str, Any], Any]()

        def client(name: str, *, config: Any = None) -> Any:
            kind = name, getattr(config, "signature_version", None)
            if kind not in clients:
                clients[kind] = make_client(name, config=config)  # type: ignore[call-overload]  # any service
            return clients[kind]

        monkeypatch.setattr(session, "client", client)
        return session

    names = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_PROFILE")  # other ones while stand-ins are suspended
    monkeypatch.setattr(boto3.session, "Session", lambda: session_in(*map(os.environ.get, names)))


@contextlib.contextmanager
def standing_in(url: str, folder: Path) -> Iterator[StandIns]:
    """Yield a `StandIns` on a server (see `serve_s3`) whose effects end with the block.

    `folder` holds temporary homes of data and results, so nothing cached is used.
    """
    settings = {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "stand-in",
        "AWS_SECRET_ACCESS_KEY": "stand-in",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(folder / "no-config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "no-credentials"),
        "BRAINSCORE_HOME": str(folder / "brain-score"),
        "BRAINIO_HOME": str(folder / "brainio"),
    }
    unset = ("AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "BRAINSCORE_OFFLINE")
    previous = {name: os.environ.get(name) for name in (*settings, *unset) if name not in _OF_EACH_TEST}
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        for name in unset:
            monkeypatch.delenv(name, raising=False)
        _hasten_boto3(monkeypatch)
        yield StandIns(monkeypatch, previous)


@contextlib.contextmanager
def serve_s3() -> Iterator[str]:
    """Run a local S3 server with a versioned bucket; yield its address."""
    import boto3  # only for tests with stand-ins
    import botocore.config  # likewise
    from moto.server import ThreadedMotoServer  # likewise

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with contextlib.redirect_stderr(None):
        server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    anonymous = botocore.config.Config(signature_version=botocore.UNSIGNED)
    client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", config=anonymous)
    client.create_bucket(Bucket=_BUCKET)
    client.put_bucket_versioning(Bucket=_BUCKET, VersioningConfiguration={"Status": "Enabled"})
    try:
        yield url
    finally:
        server.stop()


@pytest.fixture(scope="session", autouse=True)
def drawn_pictures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Draw pictures below pytest's temporary folder, which clears earlier runs."""
    folder = tmp_path_factory.mktemp("pictures")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(made_recordings, "stimuli_folder", lambda: folder)
        yield


@pytest.fixture(scope="session")
def stand_in_s3() -> Iterator[str]:
    """Run `serve_s3` for all tests; return its address."""
    with serve_s3() as url:
        yield url


@pytest.fixture
def stand_ins(stand_in_s3: str, tmp_path: Path) -> Iterator[StandIns]:
    """Replace registered data for one test; see `StandIns`."""
    with standing_in(stand_in_s3, tmp_path) as instance:
        yield instance


@pytest.fixture
def kept_homes(request: pytest.FixtureRequest, module_stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    """Share the downloads of a file's tests."""
    if needs_data(request.node):
        return  # see `real_data`
    for name, value in module_stand_ins.homes.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def module_stand_ins(stand_in_s3: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIns]:
    """Replace registered data for a file of tests; see `StandIns`."""
    with standing_in(stand_in_s3, tmp_path_factory.mktemp("stand-ins")) as instance:
        _of_module.append(instance)
        try:
            yield instance
        finally:
            _of_module.remove(instance)


@pytest.fixture(autouse=True)
def real_data(request: pytest.FixtureRequest) -> Iterator[None]:
    """Suspend stand-ins for a test that is marked to need real data."""
    with contextlib.ExitStack() as stack:
        for instance in _of_module if needs_data(request.node) else ():
            stack.enter_context(instance.suspended())
        yield
