from brainscore_vision.models import other_networks as plugin
from brainscore_vision.testing.proofs.tables import TableProof


class TestOtherNetworks(TableProof):
    plugin = plugin
