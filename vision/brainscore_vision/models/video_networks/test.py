"""Every row of the table says what it can, and its layers exist."""

from brainscore_vision.models import video_networks as plugin
from brainscore_vision.testing.proofs.tables import TableProof


class TestVideoNetworks(TableProof):
    plugin = plugin
