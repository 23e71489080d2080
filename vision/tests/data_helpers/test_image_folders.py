import pytest
from PIL import Image

from brainscore_core.errors import DownloadError, StimulusError
from brainscore_vision import load_stimulus_set
from brainscore_vision.data_helpers.image_folders import load_image_folder

PATHS = ["blur/1/n01/b.JPEG", "blur/2/n02/a.JPEG", "blur/10/n01/c.png"]


@pytest.fixture
def images(tmp_path, monkeypatch):
    for path in [*PATHS, "blur/1/n01/readme.txt", "blur/1/top.png", "other.png"]:
        (tmp_path / "mine" / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (2, 2)).save(tmp_path / "mine" / path, format="PNG")
    monkeypatch.setenv("BRAINSCORE_IMAGES", str(tmp_path))
    return tmp_path


LEVELS = ["noise_type", "noise_level", "synset"]


def test_names_of_folders_are_columns(images):
    found = load_image_folder("mine", LEVELS, 3)
    assert found.identifier == "mine"
    assert found["stimulus_id"].tolist() == ["blur/1/n01/b.JPEG", "blur/10/n01/c.png", "blur/2/n02/a.JPEG"]
    assert found["noise_type"].tolist() == ["blur"] * 3
    assert found["noise_level"].tolist() == [1, 10, 2]
    assert found["synset"].tolist() == ["n01", "n01", "n02"]
    assert found["filename"].tolist() == ["b.JPEG", "c.png", "a.JPEG"]
    assert found.get_stimulus("blur/10/n01/c.png") == images / "mine" / "blur" / "10" / "n01" / "c.png"


def test_missing_folder_gives_none(images, monkeypatch):
    assert load_image_folder("yours", LEVELS, 3) is None
    monkeypatch.delenv("BRAINSCORE_IMAGES")
    assert load_image_folder("mine", LEVELS, 3) is None


def test_rejects_an_incomplete_folder(images):
    with pytest.raises(StimulusError, match=r"mine/<noise_type>/<noise_level>/<synset>/<image> has 3 images"):
        load_image_folder("mine", LEVELS, 50_000)


def test_imagenet_is_read_from_the_image_folder(images):
    (images / "imagenet_val" / "n01440764").mkdir(parents=True)
    Image.new("RGB", (2, 2)).save(images / "imagenet_val" / "n01440764" / "ILSVRC2012_val_00000293.JPEG")
    with pytest.raises(StimulusError, match=r"has 1 images; 'imagenet_val' needs 50000"):
        load_stimulus_set("imagenet_val")


@pytest.mark.parametrize("named", [True, False])
def test_error_says_where_to_put_missing_images(images, monkeypatch, tmp_path, named):
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    monkeypatch.setenv("BRAINIO_HOME", str(tmp_path / "brainio"))
    if not named:
        monkeypatch.delenv("BRAINSCORE_IMAGES")
    where = str(images) if named else r"\$BRAINSCORE_IMAGES"
    with pytest.raises(
        DownloadError, match=rf"If you have the images, place them at {where}/imagenet_val/<synset>/<image>"
    ):
        load_stimulus_set("imagenet_val")
