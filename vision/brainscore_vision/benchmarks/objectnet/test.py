from brainscore_vision.testing.proofs.label_accuracy import LabelAccuracyProof


class TestObjectNet(LabelAccuracyProof):
    identifier = "ObjectNet-top1"
    parent = "engineering"
    stimulus_set = "BarbuMayo2019"
    n_images = 17_261


stand_in = TestObjectNet.stand_in
