from brainscore_vision.models import cornet_variants as plugin
from brainscore_vision.testing.proofs.tables import TableProof


class TestCornetVariants(TableProof):
    plugin = plugin
