import torch

from parc.track.learn.inference_mode import inference


def test_only_the_cpu_gives_up_what_gradients_would_need() -> None:
    for device, gives_up in (("cpu", True), ("cuda", False)):
        with inference(torch.device(device)):
            assert torch.is_inference_mode_enabled() == gives_up and not torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
