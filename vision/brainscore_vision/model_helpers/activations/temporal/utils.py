"""List the layers of models of video, and fetch weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from brainscore_core.config import settings
from brainscore_core.transfer.http import fetch_url
from brainscore_vision.model_helpers.activations.temporal.inferencers import Inferencer

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.temporal.extractor import ActivationsExtractor
    from brainscore_vision.model_helpers.activations.temporal.model import ActivationWrapper, PytorchWrapper
    from brainscore_vision.model_interface import BrainModel

__all__ = ["download_weight_file", "get_specified_layers"]


def get_specified_layers(
    any_model: Inferencer | ActivationsExtractor | ActivationWrapper | PytorchWrapper | BrainModel,
) -> list[str]:
    """Return the layers in a model's ``layer_activation_format``; ValueError if it has none."""
    model: object = any_model
    for attribute in ("activations_model", "_extractor", "inferencer"):
        model = getattr(model, attribute, model)
    if not isinstance(model, Inferencer):
        raise ValueError(  # noqa: TRY004 - as the published function raises
            f"{type(any_model).__name__} is not a model of video: it has no layer_activation_format. Expected a "
            "temporal.model.PytorchWrapper, or a ModelCommitment of one."
        )
    return list(model.layer_activation_format)


def download_weight_file(url: str, folder: str | None = None, *, sha256: str | None = None) -> str:
    """Return the path of a file of weights, downloaded if it is absent; see `brainscore_core.transfer.http.fetch_url`.

    Parameters
    ----------
    folder
        Folder below ``$BRAINSCORE_HOME/models``. None: ``models`` itself.
    """
    name = Path(unquote(urlparse(url).path)).name
    target = Path(settings().home, "models", folder or "", name)
    return str(fetch_url(url, target, sha256=sha256))
