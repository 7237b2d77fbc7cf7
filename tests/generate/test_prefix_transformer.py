"""The prefix is worth caching only if it changes nothing, and hiding the past is worth something only if it is complete."""

import pytest
import torch
from torch.nn import functional

from parc.errors import SettingsError
from parc.generate.model import prefix_transformer as network_file
from parc.generate.model.paper_encoder import EncoderSettings, PaperEncoder
from parc.generate.model.prefix_transformer import PREFIX_TOKENS, PrefixSettings, PrefixTransformer

FEATURES, FRAMES, BATCH = 24, 13, 3


@pytest.fixture(scope="module", params=["prefix", "encoder"])
def network(request):
    torch.manual_seed(0)
    if request.param == "prefix":
        made = PrefixTransformer(FEATURES, FRAMES, PrefixSettings(32, 3, 2, 64))
    else:
        made = PaperEncoder(FEATURES, FRAMES, EncoderSettings(32, 3, 2, 64))
    for parameter in made.parameters():  # zero-initialised parts would hide mistakes
        torch.nn.init.normal_(parameter, std=0.1)
    return made.eval()


def inputs(branches: int, seed: int = 0):
    g = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=g)

    return {
        "x": normal(BATCH, branches, FRAMES, FEATURES),
        "level": torch.rand(BATCH, branches, generator=g),
        "heightmap": normal(BATCH, 31, 31),
        "target": normal(BATCH, 2),
        "past": normal(BATCH, 2, FEATURES),
    }


def run(network, d, shown):
    context = network.prefix(d["heightmap"], d["target"], d["past"])
    return network.denoise(d["x"], network.level_embedding(d["level"]), context, network.visibility(shown))


def test_hidden_past_has_exactly_no_gradient(network):
    d = inputs(2)
    d["past"].requires_grad_()
    shown = torch.tensor([[False, True]]).expand(BATCH, 2)
    out = run(network, d, shown)
    (hidden,) = torch.autograd.grad(out[:, 0].square().sum(), d["past"], retain_graph=True)
    (seen,) = torch.autograd.grad(out[:, 1].square().sum(), d["past"])
    assert (hidden == 0).all()
    assert seen.abs().max() > 1e-4


def test_branches_do_not_see_each_other(network):
    d = inputs(3)
    d["x"].requires_grad_()
    out = run(network, d, torch.ones(BATCH, 3, dtype=torch.bool))
    (g,) = torch.autograd.grad(out[:, 1].square().sum(), d["x"])
    assert (g[:, 0] == 0).all() and (g[:, 2] == 0).all() and g[:, 1].abs().max() > 1e-5


def test_a_branch_is_the_same_alone(network):
    d = inputs(2)
    shown = torch.tensor([[False, True]]).expand(BATCH, 2)
    both = run(network, d, shown)
    for k in range(2):
        alone = {**d, "x": d["x"][:, k : k + 1], "level": d["level"][:, k : k + 1]}
        torch.testing.assert_close(run(network, alone, shown[:, k : k + 1])[:, 0], both[:, k], atol=1e-5, rtol=1e-4)


def test_context_serves_many_steps(network):
    """What one step leaves behind, the next must not notice."""
    d, other = inputs(2), inputs(2, seed=1)
    shown = torch.tensor([[False, True]]).expand(BATCH, 2)
    with torch.no_grad():
        expected = run(network, {**d, "x": other["x"]}, shown)
        context = network.prefix(d["heightmap"], d["target"], d["past"])
        embedding = network.level_embedding(d["level"])
        network.denoise(d["x"], embedding, context, network.visibility(shown))
        again = network.denoise(other["x"], embedding, context, network.sampling_visibility(BATCH))
    torch.testing.assert_close(again, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("shown", [[False, True], [False], [True]])
def test_flags_say_what_the_masks_say(monkeypatch, shown):
    """Sampling by the operator, as on CUDA, against sampling by masks; flags of steps start where compiled code wants them."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(1)
    network = PrefixTransformer(FEATURES, FRAMES, PrefixSettings(32, 3, 2, 64)).to(device)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    d = {name: tensor.to(device) for name, tensor in inputs(len(shown)).items()}
    results = []
    for by_operator in (True, False):
        monkeypatch.setattr(network_file, "kernel_applies", lambda *_, answer=by_operator: answer)
        with torch.no_grad():
            context = network.prefix(d["heightmap"], d["target"], d["past"])
            if len(shown) == 2:
                sees = network.sampling_visibility(BATCH)
            else:
                sees = network.one_branch_visibility(BATCH, torch.tensor([True, False, *shown], device=device))[-1]
            assert (sees.dtype == torch.bool) is by_operator
            assert sees.data_ptr() % 16 == 0
            results.append(network.denoise(d["x"], network.level_embedding(d["level"]), context, sees))
    torch.testing.assert_close(results[0], results[1], atol=1e-5, rtol=1e-4)
    with torch.no_grad():
        by_visibility = run(network, d, torch.tensor([shown], device=device).expand(BATCH, -1))
    torch.testing.assert_close(results[0], by_visibility, atol=1e-5, rtol=1e-4)


def uncached(network: PrefixTransformer, d, shown: bool) -> torch.Tensor:
    """One branch by plain attention over the whole sequence, layer by layer, from the same weights."""
    ground = network.map_in(d["heightmap"].unsqueeze(1)).flatten(2).mT
    velocity = network.settings.past_velocity_gain * (d["past"][:, 1:] - d["past"][:, :-1])
    past = network.past_in(torch.cat([d["past"], velocity.expand_as(d["past"])], -1))
    prefix = torch.cat([ground, network.target_in(d["target"]).unsqueeze(1), past], 1) + network.prefix_place
    frames = network.frame_in(d["x"][:, 0]) + network.frame_place
    total = PREFIX_TOKENS + FRAMES
    sees = torch.zeros(total, total, dtype=torch.bool)
    sees[:, :65] = True
    sees[65:67, 65:67] = True
    sees[67:, 67:] = True
    sees[67:, 65:67] = shown
    for block, shift in zip(network.blocks, network.level_embedding(d["level"][:, 0]), strict=True):
        a0, a1, a2, f0, f1, f2 = (s.unsqueeze(1) for s in shift.unbind(-2))
        normed = [functional.layer_norm(t, t.shape[-1:]) for t in (prefix, frames)]
        h = torch.cat([normed[0], normed[1] * a1 + a0], 1)
        q, k, v = block.qkv(h).unflatten(-1, (3, block.heads, -1)).permute(2, 0, 3, 1, 4)
        score = (q @ k.mT) / q.shape[-1] ** 0.5
        a = block.out((score.masked_fill(~sees, -torch.inf).softmax(-1) @ v).transpose(1, 2).flatten(2))
        prefix, frames = prefix + a[:, :67], frames + a2 * a[:, 67:]

        def feed(t, block=block):
            return block.down(functional.gelu(block.up(t), approximate="tanh"))

        normed = [functional.layer_norm(t, t.shape[-1:]) for t in (prefix, frames)]
        prefix, frames = prefix + feed(normed[0]), frames + f2 * feed(normed[1] * f1 + f0)
    return network.frame_out(functional.layer_norm(frames, frames.shape[-1:]))


@pytest.mark.parametrize("shown", [True, False])
def test_prefix_cache_equals_the_uncached_network(shown):
    torch.manual_seed(1)
    network = PrefixTransformer(FEATURES, FRAMES, PrefixSettings(32, 3, 2, 64))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    d = inputs(1)
    with torch.no_grad():
        fast = run(network, d, torch.full((BATCH, 1), shown))[:, 0]
        torch.testing.assert_close(fast, uncached(network, d, shown), atol=1e-5, rtol=1e-5)


def test_default_network_has_about_five_million_parameters():
    count = sum(p.numel() for p in PrefixTransformer(128, 13, PrefixSettings()).parameters())
    assert 4.5e6 < count < 6e6


def test_heads_must_divide_the_width():
    with pytest.raises(SettingsError, match="100 numbers cannot be split into 3"):
        PrefixSettings(width=100, heads=3)


def test_what_the_noise_level_adds_is_bounded():
    torch.manual_seed(0)
    bounded, free = (
        PrefixTransformer(20, 5, PrefixSettings(width=16, layers=1, heads=2, hidden=32, level_limit=limit))
        for limit in (6.0, 0.0)
    )
    levels = torch.linspace(0, 1, 7)
    for network, holds in ((bounded, True), (free, False)):
        torch.nn.init.normal_(network.blocks[0].level.weight, std=100.0)
        added = network.level_embedding(levels)[0] - network.neutral
        assert bool(added.abs().max() < 6.001) is holds
