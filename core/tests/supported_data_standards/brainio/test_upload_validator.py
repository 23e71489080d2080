import numpy as np
import pytest
import xarray as xr

from brainscore_core.errors import AssemblyError, StimulusError
from brainscore_core.supported_data_standards.brainio.packaging import (
    package_data_assembly_locally,
    package_stimulus_set_locally,
)
from brainscore_core.supported_data_standards.brainio.upload_validator import (
    ValidationError,
    validate_assembly,
    validate_packaging_data,
    validate_stimulus_set,
    validate_stimulus_set_assembly_compatibility,
)
from brainscore_core.testing.synthetic import make_neuroid_assembly, make_property_assembly, make_stimulus_set


@pytest.fixture
def stimuli(tmp_path):
    return make_stimulus_set(tmp_path / "images", 3)


@pytest.fixture
def plain():
    """Return a plain array, which the published checks accept in place of an assembly."""
    return xr.DataArray(
        np.arange(12.0).reshape(6, 2),
        {
            "presentation": [f"presentation{number}" for number in range(6)],
            "neuroid": ["n1", "n2"],
            "stimulus_id": ("presentation", [f"stimulus_00{number % 3}" for number in range(6)]),
            "repetition": ("presentation", [0, 0, 0, 1, 1, 1]),
        },
        ["presentation", "neuroid"],
    )


def test_valid_data_pass(stimuli, plain):
    assert validate_stimulus_set(stimuli, "S") is True
    assert validate_stimulus_set(stimuli[["stimulus_id"]]) is True
    assert validate_assembly(plain) is True
    assert validate_assembly(make_neuroid_assembly(3, 2), "A") is True
    assert validate_assembly(make_property_assembly(4)) is True
    assert validate_stimulus_set_assembly_compatibility(stimuli, plain) is True
    assert validate_packaging_data(stimuli, make_neuroid_assembly(3, 2), "S", "A") is True


def test_rejects_a_stimulus_set_without_identifiers_or_files(stimuli):
    renamed = stimuli.rename(columns={"stimulus_id": "stimulus"})
    with pytest.raises(ValidationError, match=r"S cannot be packaged:\n.*no column 'stimulus_id'"):
        validate_stimulus_set(renamed, "S")
    stimuli.stimulus_paths = {"stimulus_000": "/nowhere.png"}
    with pytest.raises(ValidationError) as caught:
        validate_stimulus_set(stimuli)
    assert "'stimulus_000'" in str(caught.value)
    assert "'stimulus_002': has no entry in stimulus_paths" in str(caught.value)


@pytest.mark.parametrize("kind", ["plain", "neuroid"])
def test_rejects_an_assembly_without_stimuli_or_values(plain, kind):
    assembly = plain if kind == "plain" else make_neuroid_assembly(3, 2)
    with pytest.raises(ValidationError, match=r"A cannot be packaged:\n.*stimulus_id"):
        validate_assembly(assembly.drop_vars("stimulus_id"), "A")
    with pytest.raises(ValidationError, match="no values"):
        validate_assembly(assembly[:0])
    with pytest.raises(ValidationError, match="are NaN"):
        validate_assembly(assembly.where(assembly > assembly.min()))


def test_rejects_an_assembly_that_does_not_fit_its_stimulus_set(stimuli, plain):
    with pytest.raises(ValidationError, match="1 of 3 stimulus_ids of the assembly are not in the stimulus set"):
        validate_stimulus_set_assembly_compatibility(stimuli[:2], plain)
    with pytest.raises(ValidationError) as caught:
        validate_packaging_data(stimuli[:2].assign(filename="x"), plain.where(plain > 0), "S", "A")
    message = str(caught.value)
    for part in ("S and A cannot be packaged", "S: column 'filename'", "A: values", "A: coordinate 'stimulus_id'"):
        assert part in message


def test_packaging_raises_validation_errors(stimuli, plain, tmp_path):
    broken = stimuli.drop(columns="stimulus_id")
    with pytest.raises(ValidationError) as caught:
        package_stimulus_set_locally(broken, "S", tmp_path / "out")
    assert type(caught.value) is StimulusError
    assembly = make_neuroid_assembly(3, 2)
    with pytest.raises(ValidationError) as caught:
        package_data_assembly_locally(assembly.drop_vars("stimulus_id"), "A", "S", downloads_path=tmp_path / "out")
    assert type(caught.value) is AssemblyError
