"""Bring published weights into networks: fetched on first use, verified, and fitted name by name."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit

from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError, ConfigurationError, CorruptFileError, listed, nearest
from brainscore_core.transfer.http import fetch_url

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = ["CheckpointError", "PublishedWeights", "fetch_weights", "fit_weights", "load_weights", "read_checkpoint"]

Network = TypeVar("Network", bound="nn.Module")

_COUNTER = ".num_batches_tracked"
_MOST_SHOWN = 8


class CheckpointError(BrainScoreError, RuntimeError):
    """A checkpoint does not fit the network it was published for."""


@dataclass(frozen=True, kw_only=True)
class PublishedWeights:
    """Where the weights of a network are published, and how to know that they are the right ones.

    Attributes
    ----------
    url : str
        Address of the checkpoint.
    sha256 : str
        Its digest: 64 hexadecimal digits, or as many of the first ones (at least 8) as the publisher states.
    licence : str
        SPDX identifier, such as ``'BSD-3-Clause'``.
    entry : str, optional
        Under which key the checkpoint holds the weights. None: it is the weights.
    prefix : str
        What the names begin with and those of the network do not, such as ``'module.'`` after `DataParallel`.
    """

    url: str
    sha256: str
    licence: str
    entry: str | None = None
    prefix: str = ""


def load_weights(build: Callable[[], Network], weights: PublishedWeights) -> Network:
    """Return a network with its published weights, which are downloaded the first time; see `fetch_weights`.

    Parameters
    ----------
    build : callable
        Makes the network, such as its class. Called where tensors take no memory and no random numbers (the device
        ``meta``): all it holds comes from the checkpoint.

    Returns
    -------
    torch.nn.Module
        On the CPU, in evaluation mode.

    Raises
    ------
    CheckpointError
        The checkpoint lacks weights, has others or others of another shape; the message lists them.

    Examples
    --------
    In the ``model.py`` of a plugin::

        WEIGHTS = PublishedWeights(
            url="https://download.pytorch.org/models/alexnet-owt-7be5be79.pth",
            sha256="7be5be79...",
            licence="BSD-3-Clause",
        )
        network = load_weights(AlexNet, WEIGHTS)
    """
    import torch  # slow to import, and many plugins are looked at without being loaded

    path = fetch_weights(weights.url, weights.sha256)
    with torch.device("meta"):
        network = build()
    state = read_checkpoint(path, entry=weights.entry, prefix=weights.prefix)
    return fit_weights(network, state, origin=str(path)).eval()


def fetch_weights(url: str, sha256: str | None, folder: str | Path | None = None) -> Path:
    """Return the local copy of a file of weights, downloading it if there is none yet.

    It is continued after an interruption, verified before it gets its name, and downloaded by one process while
    others wait. ``BRAINSCORE_MIRROR`` and ``BRAINSCORE_OFFLINE`` are honoured.

    Parameters
    ----------
    sha256 : str or None
        Digest of the file, or its first digits; None believes what comes first. See
        `brainscore_core.transfer.http.fetch_url`, whose errors these are.
    folder : path-like, optional
        Where it shall be. None is ``$BRAINSCORE_HOME/weights/<first 8 digits of the digest, or host>``, so that two
        files of one name do not meet.
    """
    parts = urlsplit(url)
    name = unquote(parts.path).rpartition("/")[2]
    if name in {"", "..", "."}:
        raise ConfigurationError(f"{url!r} names no file; expected an address that ends with one, such as .../net.pth.")
    kind = sha256[:8].lower() if sha256 else str(parts.hostname)
    place = settings().home / "weights" / kind if folder is None else Path(folder)
    return fetch_url(url, place / name, sha256=sha256)


def read_checkpoint(path: str | Path, *, entry: str | None = None, prefix: str = "") -> dict[str, torch.Tensor]:
    """Return the weights in a checkpoint by name, without running anything that is in the file.

    Parameters
    ----------
    entry : str, optional
        Key that holds them. None: the checkpoint is the weights.
    prefix : str
        Taken off the names if all of them begin with it.

    Raises
    ------
    CorruptFileError
        The file is damaged, or is no checkpoint of PyTorch.
    CheckpointError
        It holds other things than tensors and plain values, or no weights under `entry`.
    """
    import torch  # as above

    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise
    except pickle.UnpicklingError as error:
        reason = next(
            (line.strip() for line in str(error).splitlines() if "GLOBAL" in line), "It is of another format."
        )
        raise CheckpointError(
            f"{path} is no checkpoint of tensors and plain values alone, and reading others could run anything. "
            f"{reason} Ask its author for the state_dict."
        ) from error
    except (RuntimeError, OSError, EOFError, KeyError, ValueError) as error:
        raise CorruptFileError(f"{path} is damaged or no checkpoint of PyTorch ({error}).") from error
    state = content.get(entry) if entry is not None and isinstance(content, Mapping) else content
    if not isinstance(state, Mapping) or not all(isinstance(each, torch.Tensor) for each in state.values()):
        held = f" It has {', '.join(map(repr, content))}." if isinstance(content, Mapping) and entry is not None else ""
        where = "is" if entry is None else f"holds under {entry!r}"
        raise CheckpointError(f"{path} {where} no mapping of names to tensors.{held[:500]}")
    if prefix and all(name.startswith(prefix) for name in state):
        return {name.removeprefix(prefix): value for name, value in state.items()}
    return dict(state)


def fit_weights(network: Network, state: Mapping[str, torch.Tensor], *, origin: str = "The checkpoint") -> Network:
    """Put weights into a network, name by name; all of them have to fit.

    Parameters
    ----------
    network : torch.nn.Module
        Also one on the device ``meta``; afterwards it is where the weights are.
    state : mapping of str to torch.Tensor
        Counters of batches (``num_batches_tracked``), which older checkpoints lack, may be missing: they change
        nothing outside of training.
    origin : str
        For messages: where the weights come from.

    Raises
    ------
    CheckpointError
        Some are missing, unexpected or of another shape; the message lists them. The network is as before.
    """
    import torch  # as above

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
    """Yield what keeps weights from fitting: all missing, all unexpected and all of another shape."""
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
