"""The kernel against masked attention over everything: on the GPU where there is one, else in Triton's interpreter."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._dynamo.utils import counters
from torch.nn import functional

from parc.generate.model import prefix_transformer
from parc.generate.model.frame_attention import attend_frames, attend_in_parts, kernel_applies

CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
PAST = 2


@pytest.fixture(scope="module")
def attend(triton_module):
    return triton_module("parc.generate.model.attention_kernel").attend_on_gpu


def arguments(batch: int, shown: list[bool], heads: int, size: int, frames: int, prefix: int, seed: int = 0):
    """Keys and values are parts of something larger, as the network has them; flags stand apart."""
    random = torch.Generator().manual_seed(seed)
    qkv = torch.randn(batch, len(shown) * frames, 3 * heads * size, generator=random)
    _, keys, values = torch.randn(batch, prefix, 3, heads, size, generator=random).permute(2, 0, 3, 1, 4)
    flags = torch.tensor(shown).unsqueeze(1).expand(-1, 16).contiguous()
    return qkv.to(DEVICE), keys.to(DEVICE), values.to(DEVICE), flags.to(DEVICE), PAST


def over_everything(qkv, keys, values, past_shown, past):
    """One softmax over the prefix and the frames of all branches, by a dense mask made entry by entry, in float64."""
    branches, (heads, prefix) = past_shown.shape[0], keys.shape[1:3]
    frames = qkv.shape[1] // branches
    q, k, v = qkv.double().unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    sees = torch.zeros(branches * frames, prefix + branches * frames, dtype=torch.bool)
    for query in range(branches * frames):
        branch = query // frames
        sees[query, : prefix - past] = True
        sees[query, prefix - past : prefix] = past_shown[branch, 0]
        sees[query, prefix + branch * frames : prefix + (branch + 1) * frames] = True
    keys, values = torch.cat([keys.double(), k], 2), torch.cat([values.double(), v], 2)
    found = functional.scaled_dot_product_attention(q, keys, values, attn_mask=sees.to(q.device))
    return found.transpose(1, 2).flatten(2)


@settings(max_examples=8, deadline=None)
@given(
    batch=st.integers(1, 3),
    shown=st.lists(st.booleans(), min_size=1, max_size=3),
    heads=st.integers(1, 3),
    size=st.sampled_from([16, 32, 64]),
    frames=st.integers(1, 20),
    prefix=st.integers(16, 80),
    seed=st.integers(0, 99),
)
def test_kernel_is_masked_attention(attend, batch, shown, heads, size, frames, prefix, seed):
    given = arguments(batch, shown, heads, size, frames, prefix, seed)
    expected = over_everything(*given)
    for function in (attend, attend_in_parts):
        torch.testing.assert_close(function(*given).double(), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("shown", [[False], [True], [False, True]])
def test_at_the_network_s_own_sizes(attend, shown):
    given = arguments(2, shown, 4, 64, 13, 67)
    torch.testing.assert_close(attend(*given).double(), over_everything(*given), atol=1e-5, rtol=0)


def test_half_precision_costs_no_more_than_rounding(attend):
    qkv, keys, values, *rest = arguments(2, [False, True], 4, 64, 13, 67)
    kind = torch.bfloat16 if CUDA else torch.float16  # the interpreter multiplies no bfloat16
    half = [t.to(kind) for t in (qkv, keys, values)]
    got = attend(*half, *rest)
    assert got.dtype == kind
    torch.testing.assert_close(got.double(), over_everything(*half, *rest), atol=0.02, rtol=0.01)


def test_large_logits_do_not_overflow(attend):
    qkv, keys, *rest = arguments(1, [False, True], 2, 16, 13, 67)
    given = (10 * qkv, 10 * keys, *rest)  # logits of several hundred
    torch.testing.assert_close(attend(*given).double(), over_everything(*given), atol=1e-3, rtol=0)


def test_an_empty_batch_is_empty(attend):
    assert attend(*arguments(0, [True], 2, 16, 13, 67)).shape == (0, 13, 32)


def test_the_operator_is_well_formed():
    torch.library.opcheck(attend_frames, arguments(2, [False, True], 2, 16, 5, 20))


def test_the_operator_in_compiled_sampling(tiny_generator, random, monkeypatch):
    """Recorded without a break, as on CUDA, it makes the windows that masks make."""
    generator = tiny_generator.to(DEVICE)
    noise, past = (torch.randn(2, t, generator.layout.width, generator=random).to(DEVICE) for t in (13, 2))
    heightmap, target = (torch.randn(2, *shape, generator=random).to(DEVICE) for shape in ((31, 31), (2,)))
    windows = []
    counters.clear()
    for by_operator, is_fused in ((False, False), (True, False), (True, True)):
        monkeypatch.setattr(prefix_transformer, "kernel_applies", lambda *_, answer=by_operator: answer)
        if is_fused:
            generator.fuse("aot_eager")
        windows.append(generator.sample_window(past, heightmap, target, noise))
    assert not counters["graph_break"]
    for other in windows[1:]:
        torch.testing.assert_close(other, windows[0], atol=1e-5, rtol=1e-5)


def test_it_serves_sampling_on_cuda_only():
    frames = torch.zeros(13, 256)
    with torch.no_grad():
        assert not kernel_applies(frames, 4)
        on_gpu = torch.zeros(13, 256, device="cuda" if CUDA else "cpu")
        assert kernel_applies(on_gpu, 4) is CUDA
        assert not kernel_applies(on_gpu.double(), 4) and not kernel_applies(on_gpu, 32)
    assert not kernel_applies(on_gpu, 4)
