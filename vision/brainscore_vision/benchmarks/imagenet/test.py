from brainscore_vision.testing.proofs.label_accuracy import LabelAccuracyProof


class TestImageNet(LabelAccuracyProof):
    identifier = "ImageNet-top1"
    parent = "ImageNet"
    stimulus_set = "imagenet_val"
    n_images = 50_000


stand_in = TestImageNet.stand_in
