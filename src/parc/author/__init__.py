"""Skills made by rule where motion capture is missing: scripts of contacts, fitted to the laws of mechanics."""

from parc.author.climb import Climb, climb
from parc.author.descend import Descend, descend
from parc.author.draft import Draft, draft
from parc.author.forward_jump import ForwardJump, JumpStyle, forward_jump
from parc.author.make import SKILLS, Authored, MakeSettings, author, fixed_scripts, random_scripts
from parc.author.quality import AuthoredLimits, AuthoredQuality, measure_authored
from parc.author.run_jump import RunJump, run_jump
from parc.author.script import Grip, Key, Script, Step, Via
from parc.author.solve import Solve, SolveSettings
from parc.author.vault import Vault, vault

__all__ = [
    "SKILLS",
    "Authored",
    "AuthoredLimits",
    "AuthoredQuality",
    "Climb",
    "Descend",
    "Draft",
    "ForwardJump",
    "Grip",
    "JumpStyle",
    "Key",
    "MakeSettings",
    "RunJump",
    "Script",
    "Solve",
    "SolveSettings",
    "Step",
    "Vault",
    "Via",
    "author",
    "climb",
    "descend",
    "draft",
    "fixed_scripts",
    "forward_jump",
    "measure_authored",
    "random_scripts",
    "run_jump",
    "vault",
]  # fmt: skip
