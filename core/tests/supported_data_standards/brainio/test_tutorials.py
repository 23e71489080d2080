"""The snippets of the two data tutorials run as written; only paths, ellipses and counts are filled in."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

BRAINIO = "brainscore_core.supported_data_standards.brainio"
BUCKET = "brainscore-storage"
N_STIMULI = 100


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def images(home):
    """Return a folder of images, which takes the place of /path/to/stimuli in the tutorials."""
    folder = home / "stimuli"
    folder.mkdir()
    names = ["face_happy.jpg", "face_sad.jpg", "car.jpg", "house.jpg", "image1.jpg", "image2.jpg"]
    for number, name in enumerate(names + [f"stimulus_{number:03d}.png" for number in range(N_STIMULI)]):
        Image.new("RGB", (8, 8), color=(number, 0, 0)).save(folder / name)
    return folder


def run(snippet, **names):
    """Run a snippet with some names set and return all names."""
    exec(compile(textwrap.dedent(snippet), "snippet", "exec"), names)  # noqa: S102 - the snippet is the test
    return names


# --- "Data Packaging": stimulus sets ----------------------------------------------------------------------------------

STIMULUS_SET = """

from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

stimuli_data = [
    {'stimulus_id': 'img_001', 'category': 'face', 'emotion': 'happy'},
    {'stimulus_id': 'img_002', 'category': 'face', 'emotion': 'sad'},
    {'stimulus_id': 'img_003', 'category': 'object', 'subcategory': 'car'},
    {'stimulus_id': 'img_004', 'category': 'object', 'subcategory': 'house'},
]

stimulus_set = StimulusSet(stimuli_data)

stimulus_set.stimulus_paths = {
    'img_001': '/path/to/face_happy.jpg',
    'img_002': '/path/to/face_sad.jpg',
    'img_003': '/path/to/car.jpg',
    'img_004': '/path/to/house.jpg',
}

stimulus_set.name = 'MyExperiment2024'
"""

STIMULUS_SET_FROM_CSV = """
import pandas as pd
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

df = pd.read_csv("stimuli.csv")

df['stimulus_id'] = df['stimulus_id'].astype(str)

if 'filename' in df.columns:
    df = df.rename(columns={'filename': 'image_filename'})

stimulus_set = StimulusSet(df)

stimulus_set.name = 'MyExperiment2024'

filename_col = 'image_filename' if 'image_filename' in stimulus_set.columns else'filename'
stimuli_directory = "/path/to/stimuli"
stimuli_dir = Path(stimuli_directory)
stimulus_set.stimulus_paths = {
    str(row['stimulus_id']): stimuli_dir / row[filename_col]
    for _, row in stimulus_set.iterrows()
}
"""

PACKAGE_STIMULUS_SET = """

from brainscore_core.supported_data_standards.brainio.packaging import package_stimulus_set_locally

output = package_stimulus_set_locally(
    proto_stimulus_set=stimulus_set,
    stimulus_set_identifier=stimulus_set.name,
)
"""


def make_stimulus_set(images):
    return run(STIMULUS_SET.replace("/path/to", str(images)))["stimulus_set"]


def check_stimulus_output(output, home, identifier="MyExperiment2024"):
    folder = home / "Downloads" / "brainscore_packages"
    name = f"stimulus_{identifier.replace('.', '_')}"
    assert list(output)[:5] == ["identifier", "csv_path", "zip_path", "csv_sha1", "zip_sha1"]
    assert output["identifier"] == identifier
    assert output["csv_path"] == str(folder / f"{name}.csv")
    assert output["zip_path"] == str(folder / f"{name}.zip")
    assert all(re.fullmatch("[0-9a-f]{40}", output[key]) for key in ("csv_sha1", "zip_sha1"))


def test_stimulus_set_snippet_runs(home, images):
    stimulus_set = make_stimulus_set(images)
    assert stimulus_set.identifier == "MyExperiment2024"
    check_stimulus_output(run(PACKAGE_STIMULUS_SET, stimulus_set=stimulus_set)["output"], home)


@pytest.mark.parametrize("column", ["filename", "image_filename"])
def test_snippet_for_a_stimulus_set_from_a_table_runs(home, images, monkeypatch, column):
    monkeypatch.chdir(home)
    rows = [f"{number},stimulus_{number:03d}.png,face" for number in range(N_STIMULI)]
    Path("stimuli.csv").write_text("\n".join([f"stimulus_id,{column},category", *rows]))
    stimulus_set = run(STIMULUS_SET_FROM_CSV.replace("/path/to/stimuli", str(images)), Path=Path)["stimulus_set"]
    output = run(PACKAGE_STIMULUS_SET, stimulus_set=stimulus_set)["output"]
    check_stimulus_output(output, home)
    assert pd.read_csv(output["csv_path"])["filename"].tolist() == [f"{number}.png" for number in range(N_STIMULI)]


# --- "Data Packaging": assemblies -------------------------------------------------------------------------------------

DATA_ASSEMBLY = """

from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
import numpy as np

data = np.random.rand(100, 50)

assembly = DataAssembly(
    data,
    coords={
        'stimulus_id': ('presentation', [f'img_{i:03d}' for i in range(100)]),
        'measurement_id': ('measurement', [f'unit_{i}' for i in range(50)]),
        'condition': ('presentation', ['A'] * 50 + ['B'] * 50)
    },
    dims=['presentation', 'measurement']
)
"""

NEUROID_ASSEMBLY = """

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

neural_data = np.random.rand(200, 100, 10)

assembly = NeuroidAssembly(
    neural_data,
    coords={

        'stimulus_id': ('presentation', [f'img_{i:03d}' for i in range(200)]),
        'repetition': ('presentation', [i % 3 for i in range(200)]),

        'neuroid_id': ('neuroid', [f'neuron_{i:03d}' for i in range(100)]),
        'region': ('neuroid', ['V4'] * 50 + ['IT'] * 50),
        'animal': ('neuroid', ['monkey_A'] * 100),

        'time_bin_start': ('time_bin', list(range(0, 100, 10))),
        'time_bin_end': ('time_bin', list(range(10, 110, 10))),
    },
    dims=['presentation', 'neuroid', 'time_bin']
)

assembly.attrs['experiment_date'] = '2024-03-22'
assembly.attrs['sampling_rate'] = 280000  # Hz
"""

BEHAVIORAL_ASSEMBLY = """

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly

behavioral_data = np.array([1, 0, 1, 1, 0, 1, 0, 0, 1, 1])  # correct/incorrect

assembly = BehavioralAssembly(
    behavioral_data,
    coords={
        'stimulus_id': ('presentation', [f'img_{i:03d}' for i in range(10)]),
        'subject': ('presentation', ['subj_01'] * 10),
        'condition': ('presentation', ['easy'] * 5 + ['hard'] * 5),
        'response_time': ('presentation', [0.5, 0.7, 0.4, 0.8, 1.2, 0.9, 1.5, 1.1, 0.6, 0.8]),
        'correct': ('presentation', [1, 0, 1, 1, 0, 1, 0, 0, 1, 1])
    },
    dims=['presentation']
)
"""

PROBABILITIES = """
choice_data = np.array([
    [0.8, 0.1, 0.1],  # img_001; 80% choice A, 10% B, 10% C
    [0.2, 0.7, 0.1],  # img_002;
    [0.1, 0.2, 0.7]   # img_003
])

assembly = BehavioralAssembly(
    choice_data,
    coords={
        'stimulus_id': ('presentation', ['img_001', 'img_002', 'img_003']),
        'choice': ('choice', ['A', 'B', 'C'])
    },
    dims=['presentation', 'choice']
)
"""

STEP_2 = """
assembly = DataAssembly(data, coords={**given}, dims=['presentation', 'neuroid', 'time_bin']) # for NeuroidAssembly
"""

PACKAGE_ASSEMBLY = """

from brainscore_core.supported_data_standards.brainio import packaging

output = packaging.package_data_assembly_locally(
    proto_data_assembly=assembly,
    assembly_identifier=stimulus_set.name, # We use the same stimulusSet name for the assembly
    stimulus_set_identifier=stimulus_set.name,
    assembly_class_name="NeuroidAssembly", # For most neural data, use NeuroidAssembly. For behavioral data, use BehavioralAssembly
)
"""  # noqa: E501 - the comment of the tutorial

CHECKLIST = """
assert stimulus_set['stimulus_id'].nunique() == len(stimulus_set)
for path in stimulus_set.stimulus_paths.values():
    assert Path(path).exists()
assert not np.isnan(assembly.values).any()
"""


def package_assembly(assembly, images, class_name):
    stimulus_set = make_stimulus_set(images)
    snippet = PACKAGE_ASSEMBLY.replace('"NeuroidAssembly",', f'"{class_name}",')
    return run(snippet, assembly=assembly, stimulus_set=stimulus_set)["output"]


@pytest.mark.parametrize(
    ("snippet", "class_name"),
    [
        (DATA_ASSEMBLY, "DataAssembly"),
        (NEUROID_ASSEMBLY, "NeuroidAssembly"),
        (BEHAVIORAL_ASSEMBLY, "BehavioralAssembly"),
        (PROBABILITIES, "BehavioralAssembly"),
    ],
    ids=["data", "neuroid", "behavioral", "probabilities"],
)
def test_assembly_snippets_run(home, images, snippet, class_name):
    from brainscore_core.supported_data_standards.brainio import assemblies

    cls = getattr(assemblies, class_name)
    assembly = run(snippet, np=np, BehavioralAssembly=assemblies.BehavioralAssembly)["assembly"]
    assert type(assembly) is cls
    run(CHECKLIST, assembly=assembly, stimulus_set=make_stimulus_set(images), np=np, Path=Path)
    output = package_assembly(assembly, images, class_name)
    assert list(output)[:4] == ["identifier", "path", "sha1", "cls"]
    assert (output["identifier"], output["cls"]) == ("MyExperiment2024", class_name)
    assert output["path"] == str(home / "Downloads" / "brainscore_packages" / "assy_MyExperiment2024.nc")
    loaded = cls.from_files(output["path"])
    np.testing.assert_array_equal(loaded.values, assembly.values)
    for name in assembly.coords:
        np.testing.assert_array_equal(loaded[name].values, assembly[name].values)


def test_snippet_of_step_2_runs(home, images):
    neuroid = run(NEUROID_ASSEMBLY, np=np)["assembly"]
    given = {name: coord for name, coord in neuroid.coords.items() if name not in neuroid.dims}
    given = {name: (coord.dims, coord.values) for name, coord in given.items()}
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

    names = run(STEP_2, DataAssembly=DataAssembly, data=neuroid.values, given=given)
    assert package_assembly(names["assembly"], images, "NeuroidAssembly")["cls"] == "NeuroidAssembly"


# --- "Data Packaging": registration and tests, through a server -------------------------------------------------------

PLUGIN_INIT = """

from brainscore_vision import data_registry, stimulus_set_registry, load_stimulus_set
from brainscore_core.supported_data_standards.brainio.s3 import load_stimulus_set_from_s3, load_assembly_from_s3
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

BIBTEX = \"\"\"@article{MyExperiment2024,
    title = {Neural correlates of visual object recognition in primates},
    volume = {42},
    doi = {10.1234/neuroscience.2024.00123},
    journal = {Journal of Neuroscience},
    author = {Pradeepan, Kartik S., and Ferguson, Mike.},
    year = {2024},
    }\"\"\"

stimulus_set_registry['MyExperiment2024'] = lambda: load_stimulus_set_from_s3(
    identifier="MyExperiment2024",                         # Must match the key in the registry
    bucket="brainscore-storage/brainscore-vision/data/...",  # S3 bucket path (provided after upload)
    csv_sha1="54d0645a875fcfb29bdf414db9cb54cc0ab3cacf",   # From local packaging output
    zip_sha1="c96036d459f0a2ce4494ba73a2b18b8eec59f6b6",   # From local packaging output
    csv_version_id="U405jdh2ECWCzwoZauxh0VNDSAHAb.2s",     # S3 version ID (provided after upload)
    zip_version_id="cTVQxPGpom_seCpwN2ltG_LK7eYGbZid",     # S3 version ID (provided after upload)
    filename_prefix="stimulus_"                            # Prefix used during packaging
    )

data_registry['MyExperiment2024'] = lambda: load_assembly_from_s3(
    identifier="MyExperiment2024",
    version_id="yusgi5xpyrNzU10cjk69Z49G.CSyujXO",         # S3 version ID
    sha1="ef217247308f806c2435f452c53481a04f5a6ba3",       # From local packaging output
    bucket="brainscore-storage/brainscore-vision/...",     # S3 bucket path (provided after upload)
    cls=NeuroidAssembly,                                   # Assembly class (NeuroidAssembly or BehavioralAssembly)
    stimulus_set_loader=lambda: load_stimulus_set('MyExperiment2024')  # Links to the stimulus set
)
"""


@pytest.fixture
def s3_client(new_bucket):
    new_bucket("brainio-brainscore")
    return new_bucket(BUCKET)


def package_both(images):
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

    stimulus_set = StimulusSet({"stimulus_id": [f"img_{i:03d}" for i in range(N_STIMULI)]})
    stimulus_set.stimulus_paths = {f"img_{i:03d}": images / f"stimulus_{i:03d}.png" for i in range(N_STIMULI)}
    stimulus_set.name = "MyExperiment2024"
    stimuli = run(PACKAGE_STIMULUS_SET, stimulus_set=stimulus_set)["output"]
    snippet = NEUROID_ASSEMBLY.replace("200", str(N_STIMULI))
    assembly = run(snippet, np=np)["assembly"]
    return stimuli, run(PACKAGE_ASSEMBLY, assembly=assembly, stimulus_set=stimulus_set)["output"], assembly


def fill_in(snippet, replacements):
    """Replace the digests, versions and folders that the tutorial shows, as its comments ask for."""
    for name, value in replacements.items():
        snippet, count = re.subn(rf"\b{name}=(\"|')[^\"']*\1", f'{name}="{value}"', snippet)
        assert count, name
    return snippet


def upload(s3_client, folder, package):
    versions = {}
    for kind in [key for key in package if key.endswith("path")]:
        path = Path(package[kind])
        answer = s3_client.put_object(Bucket=BUCKET, Key=f"{folder}/{path.name}", Body=path.read_bytes())
        versions[kind.replace("path", "version_id")] = answer["VersionId"]
    return versions


def fill_in_plugin(s3_client, images):
    stimuli, assembly_package, assembly = package_both(images)
    folder = "brainscore-vision/data/user_1"
    versions = upload(s3_client, folder, stimuli)
    version_id = upload(s3_client, folder, assembly_package)["version_id"]
    filled = fill_in(
        PLUGIN_INIT,
        {
            "bucket": f"{BUCKET}/{folder}",
            "csv_sha1": stimuli["csv_sha1"],
            "zip_sha1": stimuli["zip_sha1"],
            **versions,
            "sha1": assembly_package["sha1"],
        },
    )
    return re.sub(r"(?<!_)version_id=\"[^\"]*\"", f'version_id="{version_id}"', filled), assembly


def test_registration_snippet_loads_the_data(s3_client, images, registries):
    code, assembly = fill_in_plugin(s3_client, images)
    run(code)
    stimulus_set = registries.load_stimulus_set("MyExperiment2024")
    assert len(stimulus_set) == N_STIMULI
    assert stimulus_set.get_stimulus("img_007").read_bytes() == (images / "stimulus_007.png").read_bytes()
    loaded = registries.load_dataset("MyExperiment2024")
    np.testing.assert_array_equal(loaded.values, assembly.values)
    assert loaded.attrs["sampling_rate"] == 280000
    assert loaded.identifier == stimulus_set.identifier == "MyExperiment2024"
    assert set(loaded["stimulus_id"].values) == set(loaded.stimulus_set["stimulus_id"])


# --- "Benchmark Tutorial": its data part, with the first names of the modules -----------------------------------------

OLDER_STIMULI = f"""
from pathlib import Path
from brainio.stimuli import StimulusSet
from brainio.packaging import package_stimulus_set

stimuli = []  # collect meta
stimulus_paths = {{}}  # collect mapping of stimulus_id to filepath
for filepath in Path(stimuli_directory).glob('*.png'):
    stimulus_id = filepath.stem
    object_name = filepath.stem.split('_')[0]  # if the filepath contains meta, this can come from anywhere
    stimulus_paths[stimulus_id] = filepath
    stimuli.append({{
        'stimulus_id': stimulus_id,
        'object_name': object_name,
    }})
stimuli = StimulusSet(stimuli)
stimuli.stimulus_paths = stimulus_paths
stimuli.name = 'AuthorYear'  # give the StimulusSet an identifier name

assert len(stimuli) == {N_STIMULI}  # make sure the StimulusSet is what you would expect

packaged_stimulus_metadata = package_stimulus_set(catalog_name=None, proto_stimulus_set=stimuli,
                             stimulus_set_identifier=stimuli.name, bucket_name="brainio-brainscore")  # upload to S3
"""
# `choice` is one of the coordinates because the last of the tutorial's checks reads it.
OLDER_ASSEMBLY = """
from brainio.assemblies import BehavioralAssembly
from brainio.packaging import package_data_assembly

assembly = BehavioralAssembly(['dog', 'dog', 'cat', 'dog'],
                               coords={
                                   'stimulus_id': ('presentation', ['stimulus_001', 'stimulus_002', 'stimulus_003', 'stimulus_004']),
                                   'sample_object': ('presentation', ['dog', 'cat', 'cat', 'dog']),
                                   'distractor_object': ('presentation', ['cat', 'dog', 'dog', 'cat']),
                                   'choice': ('presentation', ['dog', 'dog', 'cat', 'dog']),
                               },
                               dims=['presentation'])
assembly.name = 'authoryear'  # give the assembly an identifier name

assert len(assembly['presentation']) == 4
assert len(set(assembly['stimulus_id'].values)) == 4
assert len(set(assembly['choice'].values)) == len(set(assembly['sample_object'].values)) \\
       == len(set(assembly['distractor_object'].values)) == 2

packaged_assembly_metadata = package_data_assembly(proto_data_assembly=assembly, assembly_identifier=assembly.name,
                             stimulus_set_identifier=stimuli.name,  # link to the StimulusSet packaged above
                             assembly_class_name="BehavioralAssembly", bucket_name="brainio-brainscore",
                             catalog_identifier=None)
"""  # noqa: E501 - as wide as the tutorial
OLDER_TESTS = """
stimulus_set = load_stimulus_set('AuthorYear')
assert len(stimulus_set) == 100  # check number of stimuli
assert len(set(stimulus_set['stimulus_id'])) == 100  # check number of unique stimuli
assert set(stimulus_set['object_name']) == {'stimulus'}

assembly = load_dataset('authoryear')
np.testing.assert_array_equal(assembly.dims, ['presentation'])
assert len(set(assembly['stimulus_id'].values)) == 4  # check number of stimuli
assert len(assembly) == 4  # check number of trials
assert assembly.stimulus_set is not None
assert len(assembly.stimulus_set) == 100  # make sure number of stimuli in stimulus_set lines up with assembly
"""
OLDER_REGISTRATION = """
data_registry['authoryear'] = lambda: load_assembly_from_s3(
    identifier='authoryear',
    version_id="RDjCFAFt_J5mMwFBN9Ifo0OyNPKlToqf",
    sha1="258862d82467614e45cc1e488a5ac909eb6e122d",
    bucket="brainio-brainscore",
    cls=BehavioralAssembly,
    stimulus_set_loader=lambda: load_stimulus_set('AuthorYear'),
)

stimulus_set_registry['AuthorYear'] = lambda: load_stimulus_set_from_s3(
    identifier='AuthorYear',
    bucket="brainio-brainscore",
    csv_sha1="9c97c155fd6039a95978be89eb604c6894c5fa16",
    zip_sha1="d166f1d3dc3d00c4f51a489e6fcf96dbbe778d2c",
    csv_version_id="1ZaFYwHPBkDOrgdrwGHYqMfJJBCWei21",
    zip_version_id="X62ivk_UuHgh7Sd7VwDxgnB8tWPK06gt")
"""


def test_older_tutorial_runs(s3_client, images, registries):
    from brainscore_core.supported_data_standards.brainio import assemblies, s3

    names = run(OLDER_STIMULI, stimuli_directory=str(images))
    stimuli = names["packaged_stimulus_metadata"]
    assembly = run(OLDER_ASSEMBLY, stimuli=names["stimuli"])["packaged_assembly_metadata"]
    assert set(stimuli) >= {"identifier", "bucket", "csv_sha1", "zip_sha1", "csv_version_id", "zip_version_id"}
    assert set(assembly) >= {"identifier", "version_id", "sha1", "bucket", "cls"}
    keys = ("csv_sha1", "zip_sha1", "csv_version_id", "zip_version_id")
    code = fill_in(OLDER_REGISTRATION, {**{key: stimuli[key] for key in keys}, "sha1": assembly["sha1"]})
    code = re.sub(r"(?<!_)version_id=\"[^\"]*\"", f'version_id="{assembly["version_id"]}"', code)
    library = {name: getattr(registries, name) for name in registries.__all__}
    run(
        code,
        **library,
        load_assembly_from_s3=s3.load_assembly_from_s3,
        load_stimulus_set_from_s3=s3.load_stimulus_set_from_s3,
        BehavioralAssembly=assemblies.BehavioralAssembly,
    )
    run(OLDER_TESTS, np=np, load_stimulus_set=registries.load_stimulus_set, load_dataset=registries.load_dataset)
