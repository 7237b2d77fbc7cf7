"""The arithmetic the benchmark states is what the network does."""

import pytest
import torch
from benchmarks.generator_rate import window_flops
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from parc.character import humanoid
from parc.generate.model.blended_denoising import DEFAULT_BLEND
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings


def test_flops_agree_with_a_counter():
    network = PrefixSettings(width=64, layers=2, heads=2, hidden=128)
    generator = Generator(humanoid(), GeneratorSettings(network=network)).eval()
    width = generator.layout.width
    inputs = torch.zeros(1, 2, width), torch.zeros(1, 31, 31), torch.zeros(1, 2), torch.zeros(generator.noise_shape(1))
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        generator.sample_window(*inputs)
    assert window_flops(network, width, 13, DEFAULT_BLEND.mixed(5)) == pytest.approx(counter.get_total_flops(), rel=0.05)
