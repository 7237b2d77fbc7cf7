"""One object to sample from, save and load."""

import pytest
import torch

from parc.character import humanoid
from parc.errors import CharacterError, FormatError, SettingsError
from parc.generate.model.blended_denoising import Blend
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.noise_schedule import DdpmSchedule
from parc.generate.model.paper_encoder import EncoderSettings
from parc.run.checkpoint import save_checkpoint
from parc.terrain.heightmap import HeightmapGrid

PAPER_SMALL = GeneratorSettings(network=EncoderSettings(32, 2, 2, 64), schedule=DdpmSchedule(21, 5), encoding="exp")


def conditions(generator, batch=3):
    g = torch.Generator().manual_seed(0)
    noise = torch.randn(generator.noise_shape(batch), generator=g)
    heightmap = torch.randn(batch, 31, 31, generator=g)
    target = torch.nn.functional.normalize(torch.randn(batch, 2, generator=g), dim=-1)
    past = torch.randn(batch, 2, generator.layout.width, generator=g)
    return past, heightmap, target, noise


@pytest.fixture(params=["fast", "paper"])
def generator(request, tiny_generator):
    if request.param == "fast":
        return tiny_generator
    torch.manual_seed(0)
    return Generator(humanoid(), PAPER_SMALL).eval()


def test_blend_of_one_is_sampling_without_a_past(generator):
    past, heightmap, target, noise = conditions(generator)
    without = generator.sample_window(None, heightmap, target, noise)
    blended = generator.sample_window(past, heightmap, target, noise, Blend.constant(1.0))
    torch.testing.assert_close(blended, without, atol=1e-5, rtol=1e-4)
    seen = generator.sample_window(past, heightmap, target, noise, Blend.constant(0.0))
    assert (seen - without).abs().max() > 1e-3


def test_rows_do_not_depend_on_each_other(generator):
    past, heightmap, target, noise = conditions(generator)
    together = generator.sample_window(past, heightmap, target, noise)
    alone = generator.sample_window(past[1:2], heightmap[1:2], target[1:2], noise[1:2])
    torch.testing.assert_close(together[1:2], alone, atol=1e-5, rtol=1e-4)


def test_save_and_load(generator, tmp_path):
    generator.mean.normal_()
    generator.std.uniform_(0.5, 2.0)
    inputs = conditions(generator)
    expected = generator.sample_window(*inputs)
    generator.save(tmp_path / "g.safetensors", clips=3)
    loaded = Generator.load(tmp_path / "g.safetensors", humanoid())
    assert loaded.settings == generator.settings
    torch.testing.assert_close(loaded.sample_window(*inputs), expected)
    generator.save(tmp_path / "half.safetensors", torch.float16)
    half = Generator.load(tmp_path / "half.safetensors", humanoid())
    torch.testing.assert_close(half.sample_window(*inputs), expected, atol=0.05, rtol=0.05)
    assert (tmp_path / "half.safetensors").stat().st_size < 0.7 * (tmp_path / "g.safetensors").stat().st_size


def test_weights_of_another_body_are_refused(tiny_generator, hopper, tmp_path):
    tiny_generator.save(tmp_path / "g.safetensors")
    with pytest.raises(CharacterError, match=r"'humanoid'.*'hopper'"):
        Generator.load(tmp_path / "g.safetensors", hopper)


def test_other_files_are_refused(tmp_path):
    save_checkpoint(tmp_path / "p.safetensors", {"a": torch.zeros(1)}, {"kind": "policy"})
    with pytest.raises(FormatError, match="'policy'"):
        Generator.load(tmp_path / "p.safetensors", humanoid())
    with pytest.raises(FormatError, match="no checkpoint"):
        Generator.load(tmp_path / "missing.safetensors", humanoid())


def test_header_that_does_not_fit_is_refused(tiny_generator, tmp_path):
    meta = tiny_generator.description()
    save_checkpoint(tmp_path / "p.safetensors", {"statistics.mean": torch.zeros(128), "statistics.std": torch.ones(128)}, meta)
    with pytest.raises(FormatError, match=r"does not hold the weights|describes a network of"):
        Generator.load(tmp_path / "p.safetensors", humanoid())
    meta["network"] = "Oracle"
    save_checkpoint(tmp_path / "q.safetensors", {"statistics.mean": torch.zeros(128), "statistics.std": torch.ones(128)}, meta)
    with pytest.raises(FormatError, match="Oracle"):
        Generator.load(tmp_path / "q.safetensors", humanoid())


def test_another_character_needs_no_code(hopper):
    torch.manual_seed(0)
    generator = Generator(hopper, GeneratorSettings(network=PAPER_SMALL.network)).eval()
    past, heightmap, target, noise = conditions(generator)
    state = generator.layout.decode(generator.sample_window(past, heightmap, target, noise)).state
    assert state.joint_rot.shape == (3, 13, 4, 3, 3)


def test_wrong_grid_is_refused():
    with pytest.raises(SettingsError, match="31 x 31"):
        Generator(humanoid(), GeneratorSettings(grid=HeightmapGrid(shape=(21, 21))))


def test_a_step_that_blends_nothing_computes_one_branch_and_gives_the_same(generator):
    """s = 1, 0.5, 0, ...: one branch where s is 0 or 1, against both everywhere."""
    past, heightmap, target, noise = conditions(generator)
    plan = generator.schedule.plan(torch.device("cpu"))
    embeddings, mixed = generator.level_embeddings(plan), Blend(uneven=0.0).mixed(len(plan))
    assert mixed == (False, True, False, False, False)
    with torch.no_grad():
        for s in (Blend().coefficients(len(plan)), torch.ones(len(plan))):
            both = generator.denoise_window(past, heightmap, target, noise, s, plan, embeddings)
            one = generator.denoise_window(past, heightmap, target, noise, s, plan, embeddings, mixed)
            torch.testing.assert_close(one, both, atol=1e-5, rtol=1e-4)


def test_every_row_may_have_its_own_blend(generator):
    """Rows with s of their own, against the same rows with one s for all."""
    past, heightmap, target, noise = conditions(generator)
    plan = generator.schedule.plan(torch.device("cpu"))
    embeddings, s = generator.level_embeddings(plan), Blend().coefficients(len(plan))
    share = torch.arange(len(noise)) / max(len(noise) - 1, 1)
    with torch.no_grad():
        rows = s.view(-1, 1, 1, 1) * share.view(1, -1, 1, 1)
        each = generator.denoise_window(past, heightmap, target, noise, rows, plan, embeddings, Blend().mixed(len(plan)))
        for row in (0, len(noise) - 1):
            alone = generator.denoise_window(past, heightmap, target, noise, s * share[row], plan, embeddings)
            torch.testing.assert_close(each[row], alone[row], atol=1e-4, rtol=1e-4)
        assert (each[0] - each[-1]).abs().max() > 1e-3
