"""Random values in place of published weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import pytest

from brainscore_core.identity.digest import file_digest

if TYPE_CHECKING:
    import torch
    from torch import nn  # as above

__all__ = ["build_random", "published_instead", "random_weights"]

Network = TypeVar("Network", bound="nn.Module")


def build_random(build: Callable[[], Network], seed: int = 0) -> Network:
    """Return a network in evaluation mode with random weights; no layer vanishes or explodes.

    Convolutions and linear layers are normal with variance 2 / fan-in, normalisations as after some training: means
    around 0, variances and factors around 1. The global random state is unchanged.
    """
    import torch  # slow to import

    with torch.device("meta"):
        network = build()
    network.to_empty(device="cpu")
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
                fan_in = module.weight[0].numel()
                module.weight.normal_(std=(2 / fan_in) ** 0.5, generator=random)
                if module.bias is not None:
                    module.bias.normal_(std=0.01, generator=random)
            elif isinstance(module, torch.nn.BatchNorm2d):
                for positive in (module.weight, module.running_var):
                    positive.uniform_(0.5, 1.5, generator=random)  # type: ignore[union-attr]  # affine, with statistics
                for either in (module.bias, module.running_mean):
                    either.normal_(std=0.1, generator=random)  # type: ignore[union-attr]  # the same
                module.num_batches_tracked.zero_()  # type: ignore[union-attr]  # the same
    return network.eval()


@contextmanager
def random_weights(module: ModuleType) -> Iterator[None]:
    """Let a plugin's ``model.py`` load random weights, without network access.

    Examples
    --------
    In the ``test.py`` of a model::

        class TestMine(ModelContract):
            identifier = "mine"

            def load(self):
                with random_weights(model):
                    return super().load()
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "load_weights", lambda build, _: build_random(build))
        yield


@contextmanager
def published_instead(
    module: ModuleType, state: Mapping[str, torch.Tensor], folder: Path, name: str | None = None
) -> Iterator[None]:
    """Replace published weights by others, which tests fetch and verify offline.

    `state` is saved under the name of the published file into a mirror in `folder`, and the digest in the plugin's
    ``WEIGHTS`` is replaced; `name` is the key if these are several.
    """
    import torch  # as above

    pinned = module.WEIGHTS if name is None else module.WEIGHTS[name]
    parts = urlsplit(pinned.url)
    path = folder / "mirror" / str(parts.hostname) / parts.path.lstrip("/")
    path.parent.mkdir(parents=True)
    torch.save(dict(state), path)
    weights = dataclasses.replace(pinned, sha256=file_digest(path, "sha256"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WEIGHTS", weights if name is None else {**module.WEIGHTS, name: weights})
        patch.setenv("BRAINSCORE_MIRROR", str(folder / "mirror"))
        patch.setenv("BRAINSCORE_HOME", str(folder / "home"))
        patch.setenv("BRAINSCORE_OFFLINE", "1")
        yield
