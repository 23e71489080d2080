import pytest

from brainscore_vision import load_dataset


@pytest.mark.private_access
@pytest.mark.parametrize(
    ("identifier", "sizes"),
    [
        ("Rust2012.single", {"neuroid": 285, "presentation": 1500, "time_bin": 1}),
        ("Rust2012.array", {"neuroid": 296, "presentation": 53700, "time_bin": 6}),
    ],
)
def test_sizes_are_as_published(identifier, sizes):
    assembly = load_dataset(identifier)
    assert dict(assembly.sizes) == sizes
    assert len(set(assembly["stimulus_id"].values)) == 300
    assert len(set(assembly["region"].values)) == 2
