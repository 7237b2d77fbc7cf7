"""What an evaluation found: evaluation.json, from which its page is made."""

from dataclasses import dataclass
from typing import Any

from parc.evaluate.result_cache import DIGITS
from parc.run.dataclass_json import from_json, tidy, to_json

Numbers = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class EvaluationHead:
    """What was compared, and how."""

    test_set: Numbers
    """set, version, families, terrains of each"""
    cases: list[Numbers]
    """name, family and difficulty of each terrain"""
    settings: Numbers
    """`EvaluationSettings`"""
    device: str
    models: list[Numbers]
    """label, iteration, files with their hashes, how the generator samples"""
    paper: Numbers
    """the paper's tables"""


@dataclass(frozen=True, kw_only=True)
class EvaluationResult(EvaluationHead):
    """With the rows of all tables, as the methods of `Evaluator` give them."""

    generators: list[Numbers]
    """Table 1"""
    trackers: list[Numbers]
    """Table 2"""
    on_dataset: Numbers | None = None
    """trackers on given clips"""
    likeness: Numbers | None = None
    """generated motions beside those of a data set"""
    blending: Numbers | None = None
    """Table 3, of one generator"""
    datasets: list[Numbers]
    """where the clips of each data set go"""

    def tables(self) -> Numbers:
        """By name; those that were not made are left out."""
        return {name: value for name, value in to_json(self).items() if value is not None}

    def to_json(self) -> Numbers:
        """For the file: without what differs from one afternoon to the next, and with as many digits as are the same again."""
        return tidy(without(self.tables(), "took"), DIGITS)

    @classmethod
    def from_json(cls, values: Any) -> "EvaluationResult":
        """From what a file holds."""
        return from_json(cls, values)


def without(value: Any, key: str) -> Any:
    """Plain values without an entry, wherever it stands."""
    if isinstance(value, dict):
        return {k: without(v, key) for k, v in value.items() if k != key}
    return [without(v, key) for v in value] if isinstance(value, list | tuple) else value
