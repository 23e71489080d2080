from brainscore_vision.models import alexnet_variants as plugin
from brainscore_vision.testing.proofs.tables import TableProof


class TestAlexnetVariants(TableProof):
    plugin = plugin
