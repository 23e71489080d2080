"""Run a real behavioural experiment end to end: package, upload, register, load, show to a real network, score.

Images and human choices of Geirhos et al. (2019), doi:10.48550/arXiv.1811.12231; stimuli CC BY 4.0. They are not part
of the repository: the folder is taken from $BRAINSCORE_SHARED_DATA or found beside the checkout.
"""

import importlib
import os
import types
from pathlib import Path

import pandas as pd
import pytest

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_core.supported_data_standards.brainio.packaging import (
    package_data_assembly_locally,
    package_stimulus_set_locally,
)
from brainscore_core.supported_data_standards.brainio.s3 import load_assembly_from_s3, load_stimulus_set_from_s3
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import (
    data_registry,
    load_dataset,
    load_model,
    load_stimulus_set,
    stimulus_set_registry,
)
from brainscore_vision.model_interface import BrainModel

SHARED_DATA = Path(os.environ.get("BRAINSCORE_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
BUCKET = "brainscore-test-storage"

# Stated with the data; the model's answers depend on the resampling of images, hence its tolerances.
KNOWN = {
    "silhouette": {"human": 0.753, "human_kappa": 0.476, "model": 0.506, "model_kappa": 0.380},
    "edge": {"human": 0.871, "human_kappa": 0.318, "model": 0.356, "model_kappa": 0.103},
}

pytestmark = pytest.mark.skipif(
    not (SHARED_DATA / "geirhos_silhouette").is_dir(),
    reason=f"the images are not in {SHARED_DATA}; set BRAINSCORE_SHARED_DATA to the folder with geirhos_silhouette",
)


@pytest.fixture(scope="module")
def s3_server():
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_server, monkeypatch):
    """Point boto3 at the local server by its standard variables, and make a bucket that keeps versions."""
    import boto3

    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("s3")
    if BUCKET not in [each["Name"] for each in client.list_buckets()["Buckets"]]:
        client.create_bucket(Bucket=BUCKET)
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        client.put_bucket_acl(Bucket=BUCKET, ACL="public-read")
    return client


def upload(client, path):
    path = Path(path)
    with path.open("rb") as stream:
        return client.put_object(Bucket=BUCKET, Key=path.name, Body=stream, ACL="public-read")["VersionId"]


@pytest.fixture(params=list(KNOWN))
def experiment(request, s3, tmp_path):
    """Do what an experimenter does with raw files, and register the result for the length of a test."""
    name, identifier = request.param, f"Geirhos2019_{request.param}"
    folder = SHARED_DATA / f"geirhos_{name}"
    trials = pd.read_csv(folder / "behavior.csv", keep_default_na=False)

    stimuli = StimulusSet(trials[["stimulus_id", "truth"]].drop_duplicates().reset_index(drop=True))
    stimuli.stimulus_paths = {each: folder / "stimuli" / f"{each}.png" for each in stimuli["stimulus_id"]}
    stimuli.identifier = identifier
    # `truth` comes with the stimuli: the loader joins their columns.
    choices = BehavioralAssembly(
        trials["choice"].to_numpy(dtype=str),
        coords={
            column: ("presentation", trials[column].to_numpy())
            for column in ("stimulus_id", "subject", "trial", "rt", "truth")
        },
        dims=["presentation"],
    )
    images = package_stimulus_set_locally(stimuli, identifier, downloads_path=tmp_path)
    answers = package_data_assembly_locally(
        choices, identifier, identifier, assembly_class_name="BehavioralAssembly", downloads_path=tmp_path
    )
    csv_version, zip_version = upload(s3, images["csv_path"]), upload(s3, images["zip_path"])
    assembly_version = upload(s3, answers["path"])

    stimulus_set_registry[identifier] = lambda: load_stimulus_set_from_s3(
        identifier=identifier,
        bucket=BUCKET,
        csv_sha1=images["csv_sha1"],
        zip_sha1=images["zip_sha1"],
        csv_version_id=csv_version,
        zip_version_id=zip_version,
        filename_prefix="stimulus_",
    )
    data_registry[identifier] = lambda: load_assembly_from_s3(
        identifier=identifier,
        version_id=assembly_version,
        sha1=answers["sha1"],
        bucket=BUCKET,
        cls=BehavioralAssembly,
        stimulus_set_loader=lambda: load_stimulus_set(identifier),
    )
    yield types.SimpleNamespace(name=name, identifier=identifier, trials=trials, known=KNOWN[name])
    del stimulus_set_registry[identifier], data_registry[identifier]


class Remembering(BrainModel):
    """Passes everything on to a model, and answers from memory what it was shown before."""

    def __init__(self, model):
        self.model = model
        self.answers = {}

    @property
    def identifier(self):
        return self.model.identifier

    def visual_degrees(self):
        return self.model.visual_degrees()

    def start_task(self, task, fitting_stimuli):
        self.model.start_task(task, fitting_stimuli)

    def look_at(self, stimuli, number_of_trials=1):
        shown = tuple(stimuli["stimulus_id"])
        if shown not in self.answers:
            self.answers[shown] = self.model.look_at(stimuli, number_of_trials=number_of_trials)
        return self.answers[shown]


@pytest.mark.slow
def test_known_answers(experiment):
    known = experiment.known
    assembly = load_dataset(experiment.identifier)
    assert assembly.sizes["presentation"] == 1600
    assert assembly.values.tolist() == experiment.trials["choice"].tolist()  # nothing is lost on the way
    human = (assembly.values == assembly["truth"].values).mean()
    assert round(float(human), 3) == known["human"]

    model = Remembering(load_model("efficientnet_lite0"))
    benchmarks = importlib.import_module("brainscore_vision.benchmarks.geirhos2021.benchmark")
    benchmark = benchmarks.Geirhos2021ErrorConsistency(
        experiment.name, dataset=experiment.identifier, visual_degrees=model.visual_degrees()
    )
    assert round(float(benchmark.ceiling), 3) == known["human_kappa"]

    score = benchmark(model)
    assert float(score.raw) == pytest.approx(known["model_kappa"], abs=0.03)
    assert float(score) == pytest.approx(float(score.raw) / float(benchmark.ceiling))
    assert score.attrs["n_stimuli"] == 160
    assert score.attrs["n_trials"] == 1600
    assert float(score.attrs["error"]) > 0

    accuracy = benchmarks.Geirhos2021Accuracy(experiment.name, stimuli=experiment.identifier)(model)
    assert float(accuracy.raw) == pytest.approx(known["model"], abs=0.02)
