from __future__ import annotations

import torch


def test_torchvision_and_timm_build_the_same_resnet():
    import timm
    from torchvision.models import resnet18

    counts = {sum(p.numel() for p in net.parameters()) for net in (resnet18(), timm.create_model("resnet18"))}
    assert counts == {11_689_512}
    with torch.inference_mode():
        assert resnet18().eval()(torch.zeros(1, 3, 64, 64)).shape == (1, 1000)
