"""Read how libraries declare their networks."""

from __future__ import annotations

import functools
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core.config import settings
from brainscore_core.errors import DownloadError, IsolationError, UnknownIdentifierError
from brainscore_core.transfer.unzip import unzip
from brainscore_vision.model_helpers.weights import CheckpointError, fetch_checkpoint, fetch_weights, hub_address

if TYPE_CHECKING:
    from torch import nn

__all__ = [
    "Network",
    "open_clip",
    "open_clip_names",
    "timm",
    "timm_names",
    "torchhub",
    "torchvision",
    "torchvision_names",
    "transformers",
]


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network as its library declares it.

    Attributes
    ----------
    build
        Makes it with random weights, without downloading anything if it is `local`.
    fetch
        Returns the local file or folder of its weights, downloaded and verified the first time.
    read
        Makes it with those weights.
    preprocessing
        See `preprocessing.preprocessing_from`; None: as the network itself declares.
    facts
        ``licence``, ``family``, ``year``, ``training``, ``parameters``, ``imagenet`` (top-1 accuracy), ``image_size``
        (pixels), ``paper`` and ``url``, as far as the library states them.
    """

    build: Callable[[], nn.Module]
    fetch: Callable[[], Path]
    read: Callable[[Path], nn.Module]
    preprocessing: object | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    local: bool = True

    def size(self) -> tuple[int, int]:
        """Return the number of parameters and the bytes of all weights, without allocating any; (0, 0) if unknown."""
        import torch  # heavy

        try:
            with torch.device("meta"):
                network = self.build()
        except (DownloadError, IsolationError):
            raise
        except Exception:  # noqa: BLE001 - some compute with values while they are built; others are anybody's code
            return 0, 0
        weights = [*network.parameters(), *network.buffers()]
        return sum(weight.numel() for weight in network.parameters()), sum(weight.nbytes for weight in weights)


# Where weights are ----------------------------------------------------------------------------------------------------

_DIGEST = re.compile(r"-([0-9a-f]{8,64})(?:\.[a-z]+)+$|/([0-9a-f]{64})/[^/]+$")
_DATE = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])[0-3]\d")
_SAFE = {"pytorch_model.bin": "model.safetensors", "open_clip_pytorch_model.bin": "open_clip_model.safetensors"}
_WORD = r"[A-Za-z0-9_-][\w.-]*"


def _fetch_stated(url: str) -> Path:
    """Fetch a file; unless its address states a digest, the first download's is stored next to it."""
    match = _DIGEST.search(url)
    digest = match and (match[1] or match[2])
    return fetch_checkpoint(url, None if digest and _DATE.fullmatch(digest) else digest)


def _fetch_from_hub(repository: str, revision: str, *files: str) -> Path:
    """Fetch the first of some files that a repository of the hub has."""
    place = f"{repository}/resolve/{revision or 'main'}"
    folder = settings().home / "weights" / "huggingface.co" / place  # wherever the hub is
    problems = []
    for file in files:
        try:
            return fetch_weights(f"{hub_address()}/{place}/{file}", None, folder)
        except DownloadError as error:
            problems.append(error)
    raise problems[0]


def _hub_files(file: str) -> tuple[str, ...]:
    """Return a file of weights, after the one of the same content that cannot hold code."""
    safe = _SAFE.get(file, file.replace(".bin", ".safetensors"))
    return (safe,) if safe == file else (safe, file)


@contextmanager
def _pinned_hub() -> Iterator[None]:
    """Let ``torch.hub`` take files of weights from `_fetch_stated` within the block, and read no code from them."""
    from torch import hub  # heavy

    variable = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    # get_dir() would turn the default folder into a choice.
    earlier = hub._hub_dir, hub.download_url_to_file, os.environ.get(variable)  # noqa: SLF001
    with tempfile.TemporaryDirectory() as folder:
        hub.set_dir(folder)
        hub.download_url_to_file = lambda url, path, *_, **__: Path(path).symlink_to(_fetch_stated(url))
        os.environ[variable] = "1"
        try:
            yield
        finally:
            hub._hub_dir, hub.download_url_to_file, forced = earlier  # noqa: SLF001
            os.environ.pop(variable)
            if forced is not None:
                os.environ[variable] = forced


# Libraries ------------------------------------------------------------------------------------------------------------

_TRAINING = {
    "in1k": "ImageNet-1k", "in12k": "ImageNet-12k", "in21k": "ImageNet-21k", "in22k": "ImageNet-22k",
    "laion2b": "LAION-2B", "laion400m": "LAION-400M", "lvd142m": "LVD-142M", "lvd1689m": "LVD-1689M",
    "webli": "WebLI", "yfcc15m": "YFCC-15M", "yfcc100m": "YFCC-100M", "cc12m": "CC-12M", "openai": "WIT-400M",
    "ig1b": "IG-1B", "datacomp": "DataComp", "metaclip": "MetaCLIP",
}  # fmt: skip
_ARXIV = re.compile(r"arXiv:(\d\d)\d\d\.")


def _training(tag: str) -> str:
    """Return the data sets in a tag, such as ``'in22k_ft_in1k'``, in order of training."""
    return ", ".join(dict.fromkeys(_TRAINING[word] for word in re.split("[_-]", tag.lower()) if word in _TRAINING))


def timm_names(library: Any) -> list[str]:
    """Return all names with weights: architectures, also with the tag of a training."""
    listed = library.list_models(pretrained=True)
    return [*listed, *dict.fromkeys(name.partition(".")[0] for name in listed)]


def timm(library: Any, name: str, arguments: Mapping[str, Any]) -> Network:
    """Return a network of timm, whose weights are on the Hugging Face hub or at an address."""
    config = library.models.get_pretrained_cfg(name)
    hub, url = config.hf_hub_id, config.url
    if hub:
        files = _hub_files(config.hf_hub_filename or "pytorch_model.bin")
        repository, _, revision = hub.partition("@")
        fetch = functools.partial(_fetch_from_hub, repository, revision, *files)
    else:
        fetch = functools.partial(_fetch_stated, url)

    def read(path: Path) -> nn.Module:
        # Files of the hub are timm's own; `custom_load` is for those of other publishers.
        overlay = {"file": str(path), "custom_load": bool(config.custom_load and not hub)}
        network: nn.Module = library.create_model(name, pretrained=True, pretrained_cfg_overlay=overlay, **arguments)
        return network

    paper = " ".join([config.paper_ids] if isinstance(config.paper_ids, str) else config.paper_ids or ())
    year = _ARXIV.search(paper)
    entry_point = library.models.model_entrypoint(name.partition(".")[0])
    return Network(
        build=functools.partial(library.create_model, name, pretrained=False, **arguments),
        fetch=fetch,
        read=read,
        facts={
            "licence": config.license,
            "family": entry_point.__module__.rpartition(".")[2],
            "year": 2000 + int(year[1]) if year else None,
            "training": _training(config.tag or ""),
            "image_size": config.input_size[-1],
            "paper": paper or config.paper_name,
            "url": config.origin_url or (f"https://huggingface.co/{hub}" if hub else url),
        },
    )


def torchvision_names(models: Any) -> list[str]:
    """Return the names of networks of pictures, also with each of their weights."""
    architectures = models.list_models(module=models)
    names = []
    for architecture in architectures:
        names += [architecture, *(f"{architecture}.{each.name}" for each in models.get_model_weights(architecture))]
    return names


def torchvision(models: Any, name: str, arguments: Mapping[str, Any]) -> Network:
    """Return a network of torchvision; without weights in the name, those that torchvision recommends."""
    architecture, _, tag = name.partition(".")
    weights = models.get_model_weights(architecture)[tag or "DEFAULT"]

    def read(_: Path) -> nn.Module:
        with _pinned_hub():
            network: nn.Module = models.get_model(architecture, weights=weights, **arguments)
        return network

    accuracies = weights.meta.get("_metrics", {}).get("ImageNet-1K", {})
    return Network(
        build=functools.partial(models.get_model, architecture, weights=None, **arguments),
        fetch=functools.partial(_fetch_stated, weights.url),
        read=read,
        preprocessing=weights,
        facts={
            "licence": weights.meta.get("license"),
            "family": models.get_model_builder(architecture).__module__.rpartition(".")[2],
            "training": "ImageNet-1k" if accuracies else None,
            "parameters": weights.meta.get("num_params"),
            "imagenet": accuracies.get("acc@1", 0) / 100,
            "image_size": weights.transforms.keywords.get("crop_size"),
            "url": weights.meta.get("recipe"),
        },
    )


def open_clip_names(library: Any) -> list[str]:
    """Return every architecture with each of its trainings."""
    return [f"{architecture}/{tag}" for architecture, tag in library.list_pretrained()]


def open_clip(library: Any, name: str, arguments: Mapping[str, Any]) -> Network:
    """Return a network of open_clip, with the activation that the weights were trained with."""
    architecture, _, tag = name.partition("/")
    config = library.get_pretrained_cfg(architecture, tag)
    repository, _, file = str(config.get("hf_hub", "")).rpartition("/")
    if repository:
        fetch = functools.partial(_fetch_from_hub, repository, "", *_hub_files(file or "open_clip_pytorch_model.bin"))
    else:
        fetch = functools.partial(_fetch_stated, config["url"])
    preprocessing = {key: config[key] for key in ("mean", "std", "interpolation", "resize_mode") if key in config}
    build = functools.partial(
        library.create_model,
        architecture,
        force_quick_gelu=bool(config.get("quick_gelu")),
        force_preprocess_cfg=preprocessing,
        pretrained_text=False,
        **arguments,
    )
    size = library.get_model_config(architecture)["vision_cfg"].get("image_size")
    return Network(
        build=build,
        fetch=fetch,
        read=lambda path: build(pretrained=str(path)),
        facts={
            "family": "CLIP",
            "training": _training(tag),
            "image_size": size,
            "url": f"https://huggingface.co/{repository}" if repository else config["url"],
        },
    )


def transformers(library: Any, name: str, arguments: Mapping[str, Any]) -> Network:
    """Return a network of transformers from the Hugging Face hub."""
    match = re.fullmatch(rf"({_WORD}(?:/{_WORD})?)(?:@({_WORD}))?", name, re.ASCII)
    if match is None:
        raise UnknownIdentifierError(
            f"{name!r} is not a repository of the hub; expected owner/repository or ...@revision."
        )
    fetch_file = functools.partial(_fetch_from_hub, match[1], match[2] or "")

    def kind(path: Path) -> Any:  # a class of transformers
        architectures = json.loads(path.read_bytes()).get("architectures") or ()
        heads = ("ForImageClassification", "ForObjectDetection")
        head = next((head for head in heads if any(head in architecture for architecture in architectures)), "")
        return getattr(library, f"AutoModel{head}")

    def fetch() -> Path:
        configuration = fetch_file("config.json")
        weights = fetch_file("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")
        if weights.suffix == ".json":
            for file in dict.fromkeys(json.loads(weights.read_bytes())["weight_map"].values()):
                fetch_file(str(file))
        with suppress(DownloadError):  # asked for when it is missed, see `transformers_models`
            fetch_file("preprocessor_config.json")
        return configuration.parent

    def build() -> nn.Module:
        path = fetch_file("config.json")
        configuration = library.AutoConfig.from_pretrained(path.parent, local_files_only=True)
        network: nn.Module = kind(path).from_config(configuration, **arguments)
        return network

    def read(folder: Path) -> nn.Module:
        loader = kind(folder / "config.json")
        network: nn.Module
        network, report = loader.from_pretrained(folder, local_files_only=True, output_loading_info=True, **arguments)
        # A pooler that was not trained is read by no block.
        missing = [key for key in report["missing_keys"] if "pooler" not in key]
        if problems := [*missing, *map(str, report["mismatched_keys"])]:
            raise CheckpointError(f"{folder} does not fit transformers:{name}: {', '.join(sorted(problems)[:5])}")
        return network

    facts = {"url": f"https://huggingface.co/{match[1]}"}
    return Network(build=build, fetch=fetch, read=read, facts=facts, local=False)


def _ask_as_the_hub(hub: Any, repository: str) -> None:
    """Raise `IsolationError` unless the user trusts a repository: ``torch.hub`` asks nothing about local copies.

    It trusts those in its own list, adds those with an owner that the user agrees to now, and trusts all with
    ``BRAINSCORE_TRUST_REPO=1``.
    """
    if settings().trusts_repositories:
        return
    Path(hub.get_dir()).mkdir(parents=True, exist_ok=True)
    try:
        hub._check_repo_is_trusted(*repository.split("/"), "", "check")  # noqa: SLF001 - there is no public one
    except Exception as error:  # the answer is no, or no one is there to answer
        raise IsolationError(
            f"'torchhub:{repository}' would run its code in this process, and you have not agreed to it. "
            "'brainscore score' runs it in a box. If you trust it, answer yes, or set BRAINSCORE_TRUST_REPO=1."
        ) from error


def torchhub(hub: Any, name: str, arguments: Mapping[str, Any]) -> Network:
    """Return a network that ``hubconf.py`` of a repository on GitHub makes; this runs its code."""
    match = re.fullmatch(rf"({_WORD}/{_WORD})(?::({_WORD}))?:(\w+)", name, re.ASCII)
    if match is None:
        raise UnknownIdentifierError(
            f"{name!r} is not an entry of torch.hub; expected owner/repository:entry or "
            "owner/repository:revision:entry."
        )
    repository, revision, entry = match[1], match[2] or "HEAD", match[3]

    def fetch() -> Path:
        archive = unzip(_fetch_stated(f"https://github.com/{repository}/archive/{revision}.zip"))
        return next(path for path in sorted(archive.iterdir()) if path.is_dir())

    def build(**weights: Any) -> nn.Module:
        _ask_as_the_hub(hub, repository)
        with _pinned_hub():
            network: nn.Module = hub.load(str(fetch()), entry, source="local", **{**weights, **arguments})
        return network

    def read(_: Path) -> nn.Module:
        try:
            return build(pretrained=True)
        except TypeError as error:
            if "'pretrained'" not in str(error):
                raise
            return build()  # its entry has weights in any case

    return Network(
        build=lambda: build(pretrained=False),
        fetch=fetch,
        read=read,
        preprocessing="imagenet-224",
        facts={"url": f"https://github.com/{repository}"},
        local=False,
    )
