from brainscore_vision.models import standard_networks as plugin
from brainscore_vision.testing.proofs.tables import TableProof


class TestStandardNetworks(TableProof):
    plugin = plugin
