from brainscore_vision.models import v1_networks as plugin
from brainscore_vision.testing.proofs.tables import TableProof


class TestV1Networks(TableProof):
    plugin = plugin
