from brainscore_vision.models import resnet_variants as plugin
from brainscore_vision.testing.proofs.tables import TableProof


class TestResnetVariants(TableProof):
    plugin = plugin
