import dataclasses

import pytest

from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.records.record import ScoreRecord, record_path


@pytest.fixture
def write(own_homes):
    """Return a function that writes a record, either from its fields or with influences."""
    folder = own_homes / "brain-score" / "scores"

    def write(model, benchmark, influence=None, **values):
        if influence is None:
            record = ScoreRecord.without_score("scored", model=model, benchmark=benchmark, source_revision=None)
            record = dataclasses.replace(record, **{"benchmark_version": 1, **values})
        else:
            score = attach_influence(Score(values.pop("score")), influence)
            score.attrs.update(stimulus_set=f"{benchmark}.stimuli", assembly=f"{benchmark}.data", **values)
            record = ScoreRecord.of_score(score, model=model, benchmark=benchmark, benchmark_version=1)
        return record.write(record_path(folder, model, benchmark))

    return write


@pytest.fixture
def records(write):
    """Write records without influences: two models on two benchmarks, one failed, and a third on a new version."""
    write("a", "X.IT-pls", score=0.5, error=0.03, interval=(0.44, 0.56), layers={"IT": "late"}, simulated=True)
    write("b", "X.IT-pls", score=0.4, error=0.04, interval=(0.32, 0.48))
    write("a", "Y-i2n", score=0.25)
    write("b", "Y-i2n", status="failed:DownloadError", message="\uff1dcmd()")
    write("c", "X.IT-pls", score=0.6, benchmark_version=2)
