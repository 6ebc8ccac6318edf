"""What should hold of the recommended recipe, and whether it does."""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarks.accuracy.comparisons import (
    CONTENDERS,
    FEW_ROWS,
    HALVES,
    HITS,
    LOSS,
    Comparisons,
)
from benchmarks.accuracy.honesty import ALL
from benchmarks.accuracy.methods import PEERS, RECOMMENDED, TIMED_PEER
from benchmarks.accuracy.sets import SIZES

# Points below the best untuned peer, calibration error above that of perfectly
# calibrated forecasts, ratio of training times, and level of the tests.
LARGEST_LOSS, LARGEST_EXCESS, LARGEST_RATIO, LEVEL = 1.5, 0.03, 1.0, 0.05
# So many of those that break a rule are named.
SHOWN = 4

# Whether something holds on some sets, and the figures that say so; None without any.
Verdict = tuple[bool, str] | None
Criterion = Callable[[Comparisons, list[str]], Verdict]


def verdicts(c: Comparisons) -> dict[str, list[str]]:
    """By what should hold: the verdict on each of the halves."""
    lacking = {d for d, _ in c.missing(CONTENDERS)}
    found: dict[str, list[str]] = {text: [] for text in CRITERIA}
    for title, names in c.halves.items():
        so_far = " so far" if lacking & set(HALVES[title]) else ""
        for text, criterion in CRITERIA.items():
            verdict = criterion(c, names)
            if verdict is None:
                found[text].append("not decided")
            else:
                word = "met" if verdict[0] else "**not met**"
                found[text].append(f"{word}{so_far}: {verdict[1]}")
    return found


def by_size(names: list[str], few: bool) -> list[str]:
    """The sets with fewer than `FEW_ROWS` rows, or the others."""
    return [d for d in names if (SIZES[d][0] < FEW_ROWS) == few]


def best_rank(what: str) -> Criterion:
    """No peer has a better mean rank, on the sets that both have."""

    def criterion(c: Comparisons, names: list[str]) -> Verdict:
        pairs = {m: a.ranks for m, a in c.rivals(names, what).items()}
        if not pairs:
            return None
        first = min(pairs, key=lambda m: pairs[m][1] - pairs[m][0])
        ours, theirs = pairs[first]
        return ours <= theirs, f"{ours:.2f}; {first} has {theirs:.2f}"

    return criterion


def best_accuracy(c: Comparisons, names: list[str]) -> Verdict:
    """No peer has a higher mean accuracy, on the sets that both have."""
    rivals = c.rivals(names)
    if not rivals:
        return None
    first = min(rivals, key=lambda m: rivals[m].points)
    ours, theirs = rivals[first].means
    return rivals[first].points >= 0, f"{ours:.2f} %; {first} has {theirs:.2f} %"


def no_better_peer(few: bool) -> Criterion:
    """No peer is better by a paired test, on sets of few or of many rows."""

    def criterion(c: Comparisons, names: list[str]) -> Verdict:
        rivals = c.rivals(by_size(names, few))
        p = {f"{m} {a.p_peer:.2g}": -a.p_peer for m, a in rivals.items()}
        sets = max((a.sets for a in rivals.values()), default=0)
        return _limited(p, -LEVEL, f"{sets} sets, smallest p ")

    return criterion


def no_large_loss(c: Comparisons, names: list[str]) -> Verdict:
    """On no set clearly below the best untuned peer."""
    losses = {}
    for d in names:
        if lead := c.lead(d, PEERS):
            text = f"{d} {lead.points:+.2f} ± {2 * lead.error:.2f} ({lead.peer})"
            # A loss that may be chance is none that breaks the rule.
            chance = not lead.is_loss and -lead.points > LARGEST_LOSS
            losses[text] = LARGEST_LOSS if chance else -lead.points
    return _limited(losses, LARGEST_LOSS, "at worst ")


def calibrated(c: Comparisons, names: list[str]) -> Verdict:
    """Calibration error at most so much above that of perfect forecasts."""
    perfect, errors = c.perfect_errors, c.calibration_errors
    found = {d: errors[d, RECOMMENDED] - perfect[d] for d in names if d in perfect}
    excess = {f"{d} {x:+.3f}": x for d, x in found.items()}
    return _limited(excess, LARGEST_EXCESS, "at worst ")


def honest(c: Comparisons, names: list[str]) -> Verdict:
    """It does not expect clearly fewer errors than it makes, over the sets."""
    claims = c.claims(names)
    if not claims:
        return None
    gap, error = claims[ALL].difference, claims[ALL].standard_error
    return not gap < -2 * error, f"{gap:+.2f} ± {2 * error:.2f} points"


def fast(c: Comparisons, names: list[str]) -> Verdict:
    """Training time at most that of the timed peer."""
    found = {d: c.time_ratio(d, RECOMMENDED) for d in names}
    ratios = {f"{d} {x:.2g}": x for d, x in found.items() if not math.isnan(x)}
    return _limited(ratios, LARGEST_RATIO, "ratio at worst ")


def _limited(values: dict[str, float], limit: float, words: str) -> Verdict:
    """Whether no value is above a limit; those that are, or the largest."""
    if not values:
        return None
    order = sorted(values, key=values.__getitem__, reverse=True)
    above = [text for text in order if values[text] > limit]
    shown = ", ".join(above[:SHOWN] or order[:1])
    more = f" and {len(above) - SHOWN} more" if len(above) > SHOWN else ""
    return not above, f"{words}{shown}{more}"


CRITERIA: dict[str, Criterion] = {
    f"best mean rank of {len(CONTENDERS)} linear methods": best_rank(HITS),
    "highest mean accuracy of them": best_accuracy,
    f"n < {FEW_ROWS:,}: no peer better by a paired test": no_better_peer(True),
    f"n >= {FEW_ROWS:,}: no peer better by a paired test": no_better_peer(False),
    f"on no set below the best untuned peer by more than {LARGEST_LOSS:g} points and "
    "two standard errors": no_large_loss,
    f"calibration error at most {LARGEST_EXCESS:g} above that of perfectly calibrated "
    "forecasts, on every set": calibrated,
    "log loss: best mean rank of the methods with probabilities": best_rank(LOSS),
    f"training time at most that of {TIMED_PEER}, on every set": fast,
    "expects no fewer errors than it makes, over the sets": honest,
}
