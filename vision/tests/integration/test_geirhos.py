"""Run a real behavioural experiment end to end: package, upload, register, load, show to a real network, score.

Images and human choices of Geirhos et al. (2019), doi:10.48550/arXiv.1811.12231; stimuli CC BY 4.0. They are not part
of the repository: the folder is $BRAINSCORE_SHARED_DATA, or else `shared/data` in the checkout.
"""

import importlib
import os
from pathlib import Path

import pandas as pd
import pytest

from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_dataset, load_model
from brainscore_vision.benchmark_helpers.stand_ins import SharedCandidate

SHARED_DATA = Path(os.environ.get("BRAINSCORE_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))

# As stated with the data. The model's answers depend on how images are resampled, hence the tolerances.
KNOWN = {
    "silhouette": {"human": 0.753, "human_kappa": 0.476, "model": 0.506, "model_kappa": 0.380},
    "edge": {"human": 0.871, "human_kappa": 0.318, "model": 0.356, "model_kappa": 0.103},
}


@pytest.mark.slow
@pytest.mark.skipif(
    not (SHARED_DATA / "geirhos_silhouette").is_dir(),
    reason=f"the images are not in {SHARED_DATA}; set BRAINSCORE_SHARED_DATA to the folder with geirhos_silhouette",
)
@pytest.mark.parametrize(("name", "known"), KNOWN.items())
def test_geirhos_experiment_gives_known_scores(stand_ins, name, known):
    identifier, folder = f"Geirhos2019_{name}", SHARED_DATA / f"geirhos_{name}"
    trials = pd.read_csv(folder / "behavior.csv", keep_default_na=False)
    stimuli = StimulusSet(trials[["stimulus_id", "truth"]].drop_duplicates().reset_index(drop=True))
    stimuli.stimulus_paths = {each: folder / "stimuli" / f"{each}.png" for each in stimuli["stimulus_id"]}
    stimuli.identifier = identifier
    # `truth` is a column of the stimuli, which the loader joins.
    columns = {column: trials[column].to_numpy() for column in ("stimulus_id", "subject", "trial", "rt")}
    choices = answers_of(trials["choice"].to_numpy(dtype=str), **columns)
    stand_ins.data(identifier, choices, stimuli)

    assembly = load_dataset(identifier)
    assert assembly.sizes["presentation"] == 1600
    assert assembly.values.tolist() == trials["choice"].tolist()  # packaging and loading lose nothing
    human = (assembly.values == assembly["truth"].values).mean()
    assert round(float(human), 3) == known["human"]

    model = SharedCandidate(load_model("efficientnet_lite0"))
    benchmarks = importlib.import_module("brainscore_vision.benchmarks.geirhos2021.benchmark")
    benchmark = benchmarks.Geirhos2021ErrorConsistency(name, dataset=identifier, visual_degrees=model.visual_degrees())
    assert round(float(benchmark.ceiling), 3) == known["human_kappa"]

    score = benchmark(model)
    assert float(score.raw) == pytest.approx(known["model_kappa"], abs=0.03)
    assert float(score) == pytest.approx(float(score.raw) / float(benchmark.ceiling))
    assert score.attrs["n_stimuli"] == 160
    assert score.attrs["n_trials"] == 1600
    assert float(score.attrs["error"]) > 0

    accuracy = benchmarks.Geirhos2021Accuracy(name, stimuli=identifier)(model)
    assert float(accuracy.raw) == pytest.approx(known["model"], abs=0.02)
