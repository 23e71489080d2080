from brainscore_vision.models import video_networks as plugin
from brainscore_vision.testing.proofs.tables import TableProof


class TestVideoNetworks(TableProof):
    plugin = plugin
