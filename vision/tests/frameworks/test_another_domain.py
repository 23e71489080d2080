from __future__ import annotations

import hashlib

import numpy as np
import pytest

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.errors import UnknownIdentifierError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.packaging import write_netcdf

language = pytest.importorskip("brainscore_language", reason="installed by `nox -s frameworks`")


class ToySubject(language.ArtificialSubject):
    def digest_text(self, text):
        return {"behavior": np.arange(len(text))}


class ToyBenchmark(BenchmarkBase):
    def __init__(self):
        self.metric = language.load_metric("pearsonr")
        super().__init__(identifier="Toy2026-pearsonr", version=1, parent="language", ceiling=Score(1), bibtex="")

    def __call__(self, candidate):
        return self.metric(candidate.digest_text(["a", "b", "c"])["behavior"], [1, 3, 2])


def test_subject_is_scored_with_a_metric_of_the_domain(monkeypatch):
    monkeypatch.setitem(language.model_registry, "toy", ToySubject)
    monkeypatch.setitem(language.benchmark_registry, "Toy2026-pearsonr", ToyBenchmark)
    score = language.score("toy", "Toy2026-pearsonr")
    assert float(score) == pytest.approx(0.5)
    assert score.attrs["model_identifier"] == "toy"


def test_plugins_of_the_domain_are_found_without_import():
    with pytest.raises(UnknownIdentifierError, match="Did you mean 'distilgpt2'"):
        language.load_model("distilgpt3")


def test_assemblies_of_the_domain_are_fetched_and_verified(tmp_path, monkeypatch):
    from brainscore_language.utils.s3 import load_from_s3

    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("BRAINIO_HOME", str(tmp_path / "home"))
    path = tmp_path / "mirror" / "brainscore-storage" / "brainscore-language" / "assy_Toy2026.nc"
    path.parent.mkdir(parents=True)
    write_netcdf(NeuroidAssembly(np.eye(2), dims=["presentation", "neuroid"]), path)
    assembly = load_from_s3("Toy2026", sha1=hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest())
    assert assembly.attrs["identifier"] == "Toy2026"
    assert (assembly.values == np.eye(2)).all()


def test_database_submission_error_names_the_replacement(monkeypatch):
    monkeypatch.setenv("BSC_DATABASESECRET", "none")
    from brainscore_language.submission.endpoints import run_scoring_endpoint

    with pytest.raises(NotImplementedError, match="submit plugins as pull requests"):
        run_scoring_endpoint(domain="language")
