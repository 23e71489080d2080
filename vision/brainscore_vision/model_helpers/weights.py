"""Load published weights into networks: verified, and matched by name."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError, ConfigurationError, CorruptFileError, listed, nearest
from brainscore_core.identity.digest import text_digest
from brainscore_core.transfer.http import fetch_url

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = [
    "CheckpointError",
    "PublishedWeights",
    "fetch_checkpoint",
    "fetch_weights",
    "fit_weights",
    "hub_address",
    "load_weights",
    "read_checkpoint",
]

Network = TypeVar("Network", bound="nn.Module")

_SHA1_DIGITS = 40
_ADDRESS_DIGITS = 16
_COUNTER = ".num_batches_tracked"
_MOST_SHOWN = 8
_MOST_FOREIGN = 200  # classes and functions in an old checkpoint, whose pickle is read again for each
_READING = threading.Lock()  # PyTorch has one list of names per process
_FOREIGN = re.compile(r"GLOBAL (\S+) was not an allowed global")
_REFUSED = re.compile(r"[^\n]*(?:GLOBAL|reduce|Can only|Only persistent)[^\n]*")


class CheckpointError(BrainScoreError, RuntimeError):
    """A checkpoint does not fit its network."""


@dataclass(frozen=True, kw_only=True)
class PublishedWeights:
    """Where published weights are, and their format.

    Attributes
    ----------
    sha256
        64 hexadecimal digits, or the first ones (at least 8) that the publisher states.
    licence
        SPDX identifier, such as ``'BSD-3-Clause'``.
    entry
        Key of the weights in the checkpoint, ``a/b`` for those below two, ``a|b`` for the first that exists. ``.`` or
        None: the checkpoint itself.
    prefix
        Prefix of the names that the network lacks, such as ``'module.'`` after `DataParallel`.
    """

    url: str
    sha256: str
    licence: str
    entry: str | None = None
    prefix: str = ""


def load_weights(build: Callable[[], Network], weights: PublishedWeights) -> Network:
    """Return a network, on the CPU and in evaluation mode, with its published weights.

    See `fetch_weights` and `fit_weights`, also for errors.

    Parameters
    ----------
    build
        Makes the network, such as its class; called on the device ``meta``, without memory: all values come from the
        checkpoint.

    Examples
    --------
    In the ``model.py`` of a plugin::

        WEIGHTS = PublishedWeights(url="https://.../alexnet.pth", sha256="7be5be79...", licence="BSD-3-Clause")
        network = load_weights(AlexNet, WEIGHTS)
    """
    import torch  # heavy

    path = fetch_weights(weights.url, weights.sha256)
    with torch.device("meta"):
        network = build()
    state = read_checkpoint(path, entry=weights.entry, prefix=weights.prefix)
    return fit_weights(network, state, origin=str(path)).eval()


def fetch_weights(url: str, sha256: str | None, folder: str | Path | None = None) -> Path:
    """Return the local copy of a file of weights, downloaded if it is absent, see `fetch_url`.

    Parameters
    ----------
    sha256
        Digest of the file, or its first digits; None trusts the first download.
    folder
        None is ``$BRAINSCORE_HOME/weights/<first 8 digits of the digest, or host>``.
    """
    parts = urlsplit(url)
    name = unquote(parts.path).rpartition("/")[2]
    if name in {"", "..", "."}:
        raise ConfigurationError(f"{url!r} names no file; expected an address that ends with one, such as .../net.pth.")
    kind = sha256[:8].lower() if sha256 else str(parts.hostname)
    place = settings().home / "weights" / kind if folder is None else Path(folder)
    return fetch_url(url, place / name, sha256=sha256)


def fetch_checkpoint(address: str, digest: str | None = None) -> Path:
    """Return the local copy of a checkpoint, downloaded if it is absent.

    Parameters
    ----------
    address
        ``s3://<bucket>/<key>`` with an optional ``?version=<id>``; ``hub:<repository>@<revision>/<file>`` of the
        Hugging Face hub; or an address on the web.
    digest
        SHA-1 of a file in S3; SHA-256, or its first digits, of any. None trusts the version in S3, or the first
        download.
    """
    folder = settings().home / "weights" / text_digest(address)[:_ADDRESS_DIGITS]  # many files are called latest.pt
    repository, at, revision_and_file = address.removeprefix("hub:").partition("@")
    if at and address.startswith("hub:"):  # named as at that hub, wherever the hub is
        address = f"{hub_address()}/{repository}/resolve/{revision_and_file}"
    if not address.startswith("s3://"):
        return fetch_weights(address, digest, None if digest else folder)
    from brainscore_core.supported_data_standards.brainio import fetch  # heavy: pandas

    place, _, version_id = address.removeprefix("s3://").partition("?version=")
    bucket, _, key = place.partition("/")
    digests = {"sha1" if len(digest) == _SHA1_DIGITS else "sha256": digest} if digest else {}
    source = fetch.S3Object(bucket=bucket, key=key, version_id=version_id or None, **digests)
    return fetch.fetch(source, folder / Path(key).name)


def hub_address() -> str:
    """Return the address of the Hugging Face hub, or ``HF_ENDPOINT``, as its own client does."""
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def read_checkpoint(path: str | Path, *, entry: str | None = None, prefix: str = "") -> dict[str, torch.Tensor]:
    """Return a checkpoint's weights by name, without running its code; see `PublishedWeights`.

    Beside the weights a checkpoint may hold any objects, such as settings or metrics: they are left unread.

    Raises
    ------
    CorruptFileError
        The file is damaged, or is not a PyTorch checkpoint.
    CheckpointError
        The file holds objects that cannot be left out, or no weights under `entry`.
    """
    import torch  # heavy

    try:
        content, foreign = _without_code(path)
    except FileNotFoundError:
        raise
    except pickle.UnpicklingError as error:
        reason = (_REFUSED.search(str(error)) or ["It is of another format."])[0].strip()
        raise CheckpointError(
            f"{path} is not a checkpoint of tensors only, and reading other objects could run any code. "
            f"{reason} Ask its author for the state_dict."
        ) from error
    except (RuntimeError, OSError, EOFError, KeyError, ValueError) as error:
        raise CorruptFileError(f"{path} is damaged, or not a checkpoint of PyTorch ({error}).") from error
    places = (_held(content, place) for place in (entry or ".").split("|"))
    state = next((held for held in places if isinstance(held, Mapping)), None)
    if state is None or not all(isinstance(value, torch.Tensor) for value in state.values()):
        held = f" It has {', '.join(map(repr, content))}." if isinstance(content, Mapping) and entry is not None else ""
        left = f" Only code of its author can make its objects of:{listed(foreign, _MOST_SHOWN)}" if foreign else ""
        where = "is" if entry is None else f"holds under {entry!r}"
        raise CheckpointError(f"{path} {where} no mapping of names to tensors.{held[:500]}{left}")
    if prefix and all(name.startswith(prefix) for name in state):
        return {name.removeprefix(prefix): value for name, value in state.items()}
    return dict(state)


def _held(content: Any, place: str) -> Any:
    for key in () if place == "." else place.split("/"):
        content = content.get(key) if isinstance(content, Mapping) else None
    return content


class _StandIn:
    """Replace an object of a class or the result of a function; its arguments are dropped."""

    def __init__(self, *_: object) -> None: ...

    def __setstate__(self, _: object) -> None: ...


_PLAIN: dict[str, Callable[..., Any]] = {"collections.defaultdict": lambda *_: {}, "collections.deque": lambda *_: []}
"""Containers that are filled after they are made."""


def _without_code(path: str | Path) -> tuple[Any, list[str]]:
    """Return the content of a checkpoint, and the names of classes and functions that stand-ins replace.

    Checkpoints of training libraries hold settings, clocks and metrics besides the weights. Published plugins unpickle
    them, but a pickle may name any function of any installed package, with its arguments: the author of the file can
    run any code. PyTorch's reader for weights imports nothing; it looks names up in its own list, which a caller may
    extend. We add each other name in the file with a stand-in of ours: the tensors next to it can then be read while
    nothing of the file or of its author's packages is imported or called. It still refuses `os` and `sys`, as well as
    calls of stand-ins and containers other than `_PLAIN`. Before PyTorch 2.6 it could be made to run code
    (CVE-2025-32434).
    """
    import torch  # heavy

    foreign: list[str] = []
    with contextlib.suppress(ValueError):  # no list for files from before PyTorch 1.6, whose pickle is read in a moment
        foreign += torch.serialization.get_unsafe_globals_in_checkpoint(path)
    while True:
        try:
            with _READING, torch.serialization.safe_globals([(_PLAIN.get(name, _StandIn), name) for name in foreign]):
                return torch.load(path, map_location="cpu", weights_only=True), sorted(map(ascii, foreign))
        except pickle.UnpicklingError as error:
            found = _FOREIGN.search(str(error))
            name = found[1] if found and "." in found[1] else f"builtins.{found and found[1]}"
            if not found or name in foreign or len(foreign) == _MOST_FOREIGN:
                raise
            foreign.append(name)


def fit_weights(network: Network, state: Mapping[str, torch.Tensor], *, origin: str = "The checkpoint") -> Network:
    """Put weights into a network, by name, and move it to their device.

    Counters of batches (``num_batches_tracked``), absent in older checkpoints, may be missing: only training needs
    them.

    Raises
    ------
    CheckpointError
        Weights are missing, unexpected or of another shape; lists them. The network is unchanged.
    """
    import torch  # heavy

    expected = network.state_dict()
    if problems := list(_misfits(expected, state)):
        name = type(network).__name__
        raise CheckpointError(f"{origin} does not fit {name} ({len(expected)} weights):{''.join(problems)}")
    fitting = {
        name: state[name].to(value.dtype) if name in state else torch.zeros(value.shape, dtype=value.dtype)
        for name, value in expected.items()
    }
    network.load_state_dict(fitting, assign=True)
    return network


def _misfits(expected: Mapping[str, torch.Tensor], state: Mapping[str, torch.Tensor]) -> Iterator[str]:
    missing = [name for name in expected if name not in state and not name.endswith(_COUNTER)]
    unexpected = [name for name in state if name not in expected]
    other_shapes = [
        f"{name} is {tuple(state[name].shape)}; expected {tuple(value.shape)}"
        for name, value in expected.items()
        if name in state and state[name].shape != value.shape
    ]
    hints = {name: nearest(name, expected, 1) for name in unexpected[:_MOST_SHOWN]}
    similar = [f"{name} (nearest: {hints[name][0]})" if hints.get(name) else name for name in unexpected]
    for what, names in (("missing", missing), ("unexpected", similar), ("of another shape", other_shapes)):
        if names:
            yield f"\n{len(names)} {what}:{listed(names, _MOST_SHOWN)}"
