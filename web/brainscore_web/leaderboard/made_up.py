"""Make up records and their catalogue from a seed, realistic in number, size, gaps and shared errors.

Models have an ability; benchmarks have a difficulty and a slope.
"""

from __future__ import annotations

import dataclasses
import math
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import IO, cast

import numpy as np

from brainscore_core.errors import ConfigurationError
from brainscore_core.git import ask_git
from brainscore_core.records.record import ScoreRecord, file_name_of
from brainscore_core.records.store import BRANCH_FOLDER, RUN_FILE, Run
from brainscore_core.statistics.sketch import WIDTH, InfluenceSketch
from brainscore_web.leaderboard.catalogue import (
    Atlas,
    AtlasRegion,
    BenchmarkEntry,
    Catalogue,
    Kind,
    ModelEntry,
    NodeEntry,
)
from brainscore_web.leaderboard.sources import CommitSource
from brainscore_web.leaderboard.workers import Workers

_NOTICE = "Made-up models, benchmarks and scores, for development: these numbers do not describe any real model."
_SIZE = re.compile(r"(\d{1,4})x(\d{1,4})")
_FAMILIES = ("Corvid", "Heron", "Lynx", "Otter", "Plover", "Sable", "Tern", "Vole", "Wren", "Yak")
_TRAINING = ("Meadow-1M", "Meadow-20M", "Harbour-400M", "Meadow-1M, self-supervised")
_LAYERS = ("stem", "block1", "block2", "block3", "block4", "head")
_PLACES = ("Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Juniper", "Larch", "Maple", "Oak", "Pine", "Rowan")
_REGIONS = ("V1", "V2", "V4", "IT")
_METRICS = ("pls", "ridge", "rdm", "cka")
_FAILURES = (
    ("failed:OutOfMemory", "The model took more than 16 GB."),
    ("failed:ValueError", "Expected 3 channels, found 1. Convert pictures to RGB in the preprocessing."),
    ("failed:TimeLimit", "Not finished after 4 hours."),
)
_DAY_S = 86_400
_EARLIER_S, _LATER_S = 1_577_836_800, 1_767_225_600  # the first days of 2020 and of 2026


@dataclass(frozen=True)
class MadeUp:
    """Made-up records of models on benchmarks.

    Examples
    --------
    >>> board = MadeUp.of("40x12")
    >>> len(board.catalogue.models), len(board.catalogue.benchmarks)
    (40, 12)
    """

    n_models: int
    n_benchmarks: int
    seed: int = 0

    @classmethod
    def of(cls, size: str, seed: int = 0) -> MadeUp:
        """Read a size such as ``'40x12'``; raise `ConfigurationError` for any other text."""
        match = _SIZE.fullmatch(size)
        if match is None or 0 in map(int, match.groups()):
            raise ConfigurationError(f"The size is {size!r}; expected MODELSxBENCHMARKS, such as 40x12.")
        return cls(int(match[1]), int(match[2]), seed)

    @cached_property
    def catalogue(self) -> Catalogue:
        """Facts about the models and benchmarks."""
        nodes = (
            NodeEntry(identifier="average", name="Average"),
            NodeEntry(identifier="neural", name="Neural", parent="average", kind="neural"),
            *(NodeEntry(identifier=name, parent="neural", region=name, kind="neural") for name in _REGIONS),
            NodeEntry(identifier="behavior", name="Behavior", parent="average", kind="behavior"),
            NodeEntry(identifier="engineering", name="Engineering", kind="engineering"),
        )
        benchmarks = tuple(self._benchmarks())
        groups = [
            NodeEntry(identifier=group, parent=group.partition(".")[2], region=group.partition(".")[2], kind="neural")
            for group in dict.fromkeys(
                benchmark.parent for benchmark in benchmarks if benchmark.parent and "." in benchmark.parent
            )
        ]
        models = tuple(self._model(number) for number in range(self.n_models))
        return Catalogue(models=models, benchmarks=benchmarks, nodes=(*nodes, *groups), notice=_NOTICE)

    def _model(self, number: int) -> ModelEntry:
        rng = np.random.default_rng([self.seed, 1, number])
        family = _FAMILIES[number % len(_FAMILIES)]
        size = "snml"[number % 4]
        identifier = f"{family.lower()}-{size}{number}" if number % 7 else f"{family.lower()}_{number}:v2/ema"
        is_described = number % 11 != 5
        return ModelEntry(
            identifier=identifier,
            name=f"{family} {size.upper()}{number}",
            family=family if is_described else None,
            year=int(rng.integers(2015, 2027)) if is_described else None,
            parameters=int(10 ** rng.uniform(5.5, 9.3)) if is_described else None,
            training=_TRAINING[int(rng.integers(len(_TRAINING)))] if is_described else None,
            image_size=(224, 384)[number % 2] if is_described else None,
            public=number % 13 != 4,
            imagenet=float(np.round(0.35 + 0.5 / (1 + np.exp(-self._abilities[number])), 4)) if number % 5 else None,
            licence=("MIT", "Apache-2.0", "CC-BY-NC-4.0", None)[number % 4],
            bibtex=(
                f"@article{{{family.lower()}{number},\n  title = {{A made-up model, number {number}}},\n"
                f"  author = {{Nobody, A. and Noone, B.}},\n  year = {{{2015 + number % 12}}}\n}}"
            )
            if is_described
            else None,
            url=f"https://example.org/models/{number}" if is_described else None,
            description="Made up: does not describe a real model.",
            plugin=f"vision/brainscore_vision/models/{family.lower()}{number}",
            load=f"load_model({identifier!r})",
            atlas=self._atlas(number) if number % 3 == 0 else None,
        )

    def _atlas(self, number: int) -> Atlas:
        rng = np.random.default_rng([self.seed, 3, number])
        places = np.linspace(0, 1, len(_LAYERS))
        regions = []
        for at, region in enumerate(_REGIONS):
            values = 0.5 - 0.6 * (places - (at + 1) / 5) ** 2 + 0.03 * rng.standard_normal(len(_LAYERS))
            scores = tuple(values.round(4).tolist())
            regions.append(
                AtlasRegion(region=region, benchmark=f"Made2026.{region}-pls", simulated=True, scores=scores)
            )
        return Atlas(layers=_LAYERS, regions=tuple(regions))

    def _benchmarks(self) -> Iterator[BenchmarkEntry]:
        """Yield benchmarks, two per experiment; those of every third neural experiment share a parent."""
        for number in range(self.n_benchmarks):
            experiment, variant = divmod(number, 2)
            name = f"{_PLACES[experiment % len(_PLACES)]}{2001 + experiment // len(_PLACES)}"
            role, region = experiment % 6, _REGIONS[experiment % 4]
            metric = _METRICS[(experiment + variant * 2) % 4]
            neural = f"{name}.{region}-{metric}"
            answers, sites = ("choices", "errors")[variant], f"Sites in {region} were recorded during fixation."
            of_role: dict[int, tuple[str, str, Kind, str]] = {
                0: (f"{name}-{answers}", "behavior", "behavior", "Subjects chose what they saw."),
                5: (f"{name}-{('top1', 'blurred')[variant]}", "engineering", "engineering", "Pictures have a label."),
                3: (neural, f"{name}.{region}", "neural", sites),
            }
            ordinary: tuple[str, str, Kind, str] = (neural, region, "neural", sites)
            identifier, parent, kind, paradigm = of_role.get(role, ordinary)
            yield BenchmarkEntry(
                identifier=identifier,
                parent=parent,
                region=region if kind == "neural" else None,
                kind=kind,
                public=experiment % 3 != 1,
                simulated=experiment % 12 == 8,
                shows="score" if experiment % 17 == 10 else "all",
                licence="CC-BY-4.0" if variant else None,
                bibtex=f"@article{{{name.lower()},\n  title = {{Made-up measurements {experiment}}}\n}}",
                url=f"https://example.org/benchmarks/{experiment}",
                paradigm=paradigm,
                metric=f"Compare made-up responses by {metric}." if kind == "neural" else None,
                metric_plugin=f"vision/brainscore_vision/metrics/{metric}" if kind == "neural" else None,
                plugin=f"vision/brainscore_vision/benchmarks/{name.lower()}",
                data=(name,),
            )

    @cached_property
    def _abilities(self) -> list[float]:
        rng = np.random.default_rng([self.seed, 0])
        return [float(ability) for ability in rng.standard_normal(self.n_models)]

    def records(self) -> Iterator[ScoreRecord]:
        """Yield the records, benchmark by benchmark; one pair in twelve has none, all of a quarter of the models."""
        for number, entry in enumerate(self.catalogue.benchmarks):
            yield from self._of_benchmark(number, entry)

    def write(self, folder: Path) -> None:
        """Write the records, and the notes of the last run."""
        with Workers(None, self.n_models * self.n_benchmarks) as workers:
            shares = ((self, folder, slice(place, None, workers.processes)) for place in range(workers.processes))
            newest = [record for of_share in workers.map(_write_share, shares) for record in of_share]
        (folder / RUN_FILE).write_text(self._run(newest), encoding="utf-8")

    def commit(self, folder: Path) -> CommitSource:
        """Make a repository of the records where a third of the benchmarks had an earlier version."""
        ask_git(folder, "init", "-q")
        command = ["git", "-C", str(folder), "-c", "core.compression=1", "fast-import", "--quiet"]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as git:  # noqa: S603 - no shell
            stream = cast("IO[bytes]", git.stdin)
            for at_s, files in ((_EARLIER_S, self._earlier_files()), (_LATER_S, self._files())):
                author = f"made-up <made-up@example.org> {at_s} +0000"
                stream.write(f"commit refs/heads/scores\ncommitter {author}\ndata 8\nMade up\n".encode())
                for name, content in files:
                    path = name if name == RUN_FILE else f"{BRANCH_FOLDER}/{name}"
                    stream.write(f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content)
        return CommitSource.of(folder, "scores")

    def _files(self) -> Iterator[tuple[str, bytes]]:
        with tempfile.TemporaryDirectory() as folder:
            self.write(Path(folder))
            for file in Path(folder).rglob("*.json"):
                yield file.relative_to(folder).as_posix(), file.read_bytes()

    def _earlier_files(self) -> Iterator[tuple[str, bytes]]:
        for number, entry in list(enumerate(self.catalogue.benchmarks))[2::3]:
            for record in self._of_benchmark(number, entry):
                if record.score is not None:
                    score = 0.96 * record.score
                    raw, _ = _raw(score, record.ceiling or 1.0, is_correlation=number % 2 == 1)
                    earlier = dataclasses.replace(
                        record,
                        benchmark_version=2,
                        score=score,
                        raw=raw,
                        benchmark_revision="a" * 40,
                        created=f"2016{record.created[4:]}",  # leap years have any day
                    )
                    yield _file(earlier)

    def _run(self, newest: Sequence[ScoreRecord]) -> str:
        last, entry = _of_last_day(newest), self.catalogue.benchmarks[0]
        scored = {record.model for record in self._of_benchmark(0, entry)}
        names = (model.identifier for model in self.catalogue.models)
        missing = [(name, entry.identifier) for name in names if name not in scored]
        n_planned = len(last) + len(missing)
        return Run.of(last, missing, commit="c0ffee" * 6 + "c0de", event="push", n_planned=n_planned).to_json()

    def _of_benchmark(self, number: int, entry: BenchmarkEntry) -> Iterator[ScoreRecord]:
        rng = np.random.default_rng([self.seed, 2, number])
        middle, slope, noise = rng.uniform(0.15, 0.6), rng.uniform(0.02, 0.12), rng.uniform(0.005, 0.04)
        ceiling, n_stimuli = rng.uniform(0.5, 0.98), int(rng.integers(60, 3000))
        n_units = int(rng.integers(20, 400))
        # Influences that all models share; each adds its own.
        common = rng.standard_normal((3, WIDTH))
        layer_of = rng.integers(0, len(_LAYERS), self.n_models)
        for place, model in enumerate(self.catalogue.models):
            own = rng.standard_normal((3, WIDTH))
            chances = rng.random(4)
            score = middle + slope * self._abilities[place] + 0.3 * slope * rng.standard_normal()
            if entry.kind == "neural" and number % 19 == 0:
                score += 0.55  # above the ceiling
            gaps = 4 * (place % 4 == 3)  # most models are complete, the others lack much
            if chances[0] < gaps / 12:
                continue
            stem = {"model": model.identifier, "benchmark": entry.identifier}
            origin = self._origin(number, place, rng)
            if chances[1] < 0.03 * gaps:
                status, message = _FAILURES[int(chances[2] * len(_FAILURES))]
                yield _record(**stem, **origin, status=status, message=message)
            elif chances[1] < 0.05 * gaps:
                message = "The model gives no probabilities over labels."
                yield _record(**stem, **origin, message=message, simulated=entry.simulated)
            else:
                at = _REGIONS.index(entry.region) if entry.region else 0
                layer = int(layer_of[place]) if number % 5 == 0 else (place + at) % len(_LAYERS)
                sketch = InfluenceSketch((0.8 * common + 0.6 * own) / WIDTH**0.5, (n_stimuli - 1.0, n_units - 1.0))
                sketch = sketch * (noise / sketch.error)
                neural = entry.kind == "neural"
                raw, slope_of_raw = _raw(score, ceiling, is_correlation=number % 2 == 1)
                yield _record(
                    **stem,
                    **origin,
                    benchmark_version=1 + number % 3,
                    score=score,
                    raw=raw,
                    ceiling=ceiling,
                    **_of_ceiling(ceiling, 0.005 + 0.002 * (number % 10), neural=neural),
                    simulated=entry.simulated,
                    n_stimuli=n_stimuli,
                    n_neuroids=n_units if neural else None,
                    n_trials=10 + number % 30,
                    n_subjects=2 + number % 3 if neural else n_units,
                    layers={entry.region: _LAYERS[layer]} if entry.region else {},
                    layer_origin={entry.region: _choice(layer)} if entry.region else {},
                    normalization="explained_variance" if number % 2 else "ceil_score",
                    **_errors(sketch, noise, entry, raw_error=noise * slope_of_raw, said=chances[3] > 0.01),
                )

    def _origin(self, number: int, place: int, rng: np.random.Generator) -> dict[str, object]:
        created = 1_577_836_800 + int(rng.integers(0, 2000 * _DAY_S))
        return {
            "created": datetime.fromtimestamp(created, UTC).isoformat(timespec="seconds"),
            "duration_s": round(float(rng.uniform(4, 4000)), 1),
            "peak_memory_bytes": int(rng.integers(10**8, 2 * 10**10)),
            "model_revision": f"{place:04x}" * 10,
            "benchmark_revision": f"{number:04x}" * 10,
        }


def _file(record: ScoreRecord) -> tuple[str, bytes]:
    """Return a record's path and its content, on one line for speed."""
    name = f"{file_name_of(record.benchmark)}/{file_name_of(record.model)}.json"
    return name, record.to_json(indent=None).encode()


def _write_share(share: tuple[MadeUp, Path, slice]) -> list[ScoreRecord]:
    """Write the records of some benchmarks, and return those of the last day."""
    made, folder, numbers = share
    newest: list[ScoreRecord] = []
    for number, entry in list(enumerate(made.catalogue.benchmarks))[numbers]:
        (folder / file_name_of(entry.identifier)).mkdir()
        records = list(made._of_benchmark(number, entry))  # noqa: SLF001  # its own
        for name, content in map(_file, records):
            with open(f"{folder}/{name}", "wb") as stream:  # noqa: PTH123  # a Path takes twice as long
                stream.write(content)
        newest = _of_last_day([*newest, *records])
    return newest


def _of_last_day(records: Sequence[ScoreRecord]) -> list[ScoreRecord]:
    day = max((record.created[:10] for record in records), default="")
    return [record for record in records if record.created.startswith(day)]


def _raw(score: float, ceiling: float, *, is_correlation: bool) -> tuple[float, float]:
    if not is_correlation:
        return score * ceiling, ceiling
    raw = math.copysign(math.sqrt(abs(score) * ceiling), score)
    return raw, ceiling / (2 * abs(raw))


def _errors(
    sketch: InfluenceSketch, noise: float, entry: BenchmarkEntry, *, raw_error: float, said: bool
) -> dict[str, object]:
    if not said:
        return {"error_nan_reason": "the measurement has one subject, so others are unknown"}
    return {
        "error": noise,
        "error_over": ("stimulus", "neuroid" if entry.kind == "neural" else "subject"),
        "error_df": sketch.degrees_of_freedom,
        "stimulus_error": 0.8 * noise,
        "split_error": 0.1 * noise,
        "raw_error": raw_error,
        "influence": sketch.to_text(),
        "stimulus_set": f"{entry.data[0]}.stimuli",
        "assembly": entry.data[0],
    }


def _choice(layer: int) -> dict[str, object]:
    margin = 0.01 * (1 + layer)
    return {
        "from": "selection",
        "benchmark": "Made2026.V1-pls",
        "simulated": True,
        "separable": margin > 0.03,
        "runner_up": _LAYERS[layer - 1],
        "margin": margin,
        "margin_interval": [margin - 0.03, margin + 0.03],
    }


def _of_ceiling(ceiling: float, error: float, *, neural: bool) -> dict[str, object]:
    if not neural:
        return {"ceiling_nan_reason": "only the mean over subjects was published"}
    return {
        "ceiling_error": error,
        "ceiling_interval": (ceiling - 2 * error, min(ceiling + 1.8 * error, 1.0)),
        "ceiling_error_over": ("stimulus", "neuroid"),
        "ceiling_estimator": "split halves of the repetitions, Spearman-Brown corrected",
    }


_NOTHING: dict[str, object] = {
    "benchmark_version": None, "score": None, "raw": None, "ceiling": None, "error": None, "interval": None,
    "n_stimuli": None, "n_neuroids": None, "n_trials": None, "layers": {}, "simulated": False, "seed": None,
    "versions": {"python": "3.11.0"}, "machine": "Linux-x86_64", "source_revision": None, "version_class": "3.0",
    "environment": "e" * 64, "library": "b" * 64, "weights": "d" * 64,
}  # fmt: skip


def _record(**stated: object) -> ScoreRecord:
    return ScoreRecord(**{**_NOTHING, **stated})  # type: ignore[arg-type]  # of many types, each as the class says
