"""The page about mutants, with a reason for each that survived."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

REASONS = Path(__file__).with_name("survivors.toml")
SURVIVED = "survived", "no tests"


@dataclass(frozen=True)
class Mutant:
    """One change of the code.

    Attributes
    ----------
    module, function : str
        Where it is.
    before, after : str
        The changed lines.
    status : str
        What became of it, in mutmut's words.
    """

    module: str
    function: str
    before: str
    after: str
    status: str

    @property
    def name(self) -> str:
        """A name that changes elsewhere do not change."""
        return f"{self.module}.{self.function}: {self.after}"


def read_reasons() -> tuple[dict[str, str], dict[str, str]]:
    """What each class of survivors is, and the class of each survivor."""
    content = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    known = {name: kind for kind, names in content["mutants"].items() for name in names}
    return content["reasons"], known


def page(mutants: list[Mutant]) -> str:
    """The page in Markdown."""
    lost = [mutant for mutant in mutants if mutant.status in SURVIVED]
    share = 100 * (1 - len(lost) / len(mutants))
    lines = [
        "# Mutation testing",
        "",
        "Tests that always pass prove nothing. So",
        "[mutmut](https://mutmut.readthedocs.io) changes the code in one small way,",
        "and the quickest tests that call the changed function run, for four seconds",
        "at most: does one of them fail? A change is another operator, number or text,",
        "an argument or a value left out, a branch taken always or never.",
        "",
        f"Of {len(mutants):,} changes **{share:.1f} % were noticed**",
        "(`make mutation`).",
        "",
        "| module | changes | a test fails | it hangs or crashes | survive | noticed |",
        "|---|---|---|---|---|---|",
        *_rows(mutants),
        "",
        "## Survivors",
        "",
        "Each with its reason. Those of one line of code stand together.",
        "",
        *_survivors(lost),
    ]
    return "\n".join(lines) + "\n"


def _rows(mutants: list[Mutant]) -> list[str]:
    """The table, by module."""
    by_module: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for mutant in mutants:
        by_module[mutant.module][mutant.status] += 1
    rows = []
    for module, counts in sorted(by_module.items()):
        lost = sum(counts[status] for status in SURVIVED)
        broken = counts.total() - counts["killed"] - lost
        share = 100 * (1 - lost / counts.total())
        rows.append(
            f"| `{module}` | {counts.total()} | {counts['killed']} | {broken} "
            f"| {lost} | {share:.1f} % |"
        )
    return rows


def _survivors(lost: list[Mutant]) -> list[str]:
    """Survivors by their reason, function and line."""
    reasons, known = read_reasons()
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for mutant in lost:
        kind = known.get(mutant.name, "")
        of_kind = found.setdefault(kind, {}).setdefault(
            f"{mutant.module}.{mutant.function}", {}
        )
        of_kind.setdefault(mutant.before, []).append(mutant.after)
    lines = []
    for kind, text in (reasons | {"": "**Not explained yet.**"}).items():
        functions = found.get(kind, {})
        changes = sum(len(b) for f in functions.values() for b in f.values())
        if not changes:
            continue
        lines += [f"### {kind.capitalize() or 'Others'}: {changes}", "", text, ""]
        for function, by_line in functions.items():
            lines += [f"{function}:", "", "```diff"]
            for before, after in by_line.items():
                lines += [f"-{line}" for line in before.splitlines()]
                lines += [f"+{line}" for code in after for line in code.splitlines()]
            lines += ["```", ""]
    return lines[:-1]
