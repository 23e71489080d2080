from brainscore_vision.models import self_supervised as plugin
from brainscore_vision.testing.proofs.tables import TableProof


class TestSelfSupervised(TableProof):
    plugin = plugin
