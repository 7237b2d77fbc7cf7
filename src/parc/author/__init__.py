"""Skills made by rule where motion capture is missing: scripts of contacts, fitted to the laws of mechanics."""

from parc.author.author_clips import SKILLS, Authored, MakeSettings, author, check_can_author, fixed_scripts, random_scripts
from parc.author.script_to_draft import Draft, draft
from parc.author.skill_script import Grip, Key, Script, Step, Via
from parc.author.skills.climb import Climb, climb
from parc.author.skills.descend import Descend, descend
from parc.author.skills.forward_jump import ForwardJump, JumpStyle, forward_jump
from parc.author.skills.run_jump import RunJump, run_jump
from parc.author.skills.stand_up import GetUp, get_up
from parc.author.skills.vault import Vault, vault
from parc.author.solve_motions import Solve, SolveSettings
from parc.quality.limit_profiles import AuthoredLimits

__all__ = [
    "SKILLS", "Authored", "AuthoredLimits", "Climb", "Descend", "Draft", "ForwardJump", "GetUp", "Grip",
    "JumpStyle", "Key", "MakeSettings", "RunJump", "Script", "Solve", "SolveSettings", "Step", "Vault", "Via", "author",
    "check_can_author", "climb", "descend", "draft", "fixed_scripts", "forward_jump", "get_up", "random_scripts",
    "run_jump", "vault",
]  # fmt: skip
