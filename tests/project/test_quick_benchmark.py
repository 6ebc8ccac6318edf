"""The comparison with the base: its rule, and a case measured against itself."""

import pytest

from benchmarks.quick import __main__ as quick
from benchmarks.quick.base import BASE, ROOT, base_tree
from benchmarks.quick.rule import too_slow_twice

CASES = [("fit", "iris"), ("fit", "digits"), ("predict", "iris"), ("predict", "digits")]


@pytest.mark.parametrize(
    ("first", "second", "again", "broken"),
    [
        # Faster by any amount, or slower up to the limits
        ([0.2, 1.0, 1.2, 0.9], [], [], []),
        # A group whose geometric mean is above the limit is measured again as a whole.
        ([1.1, 1.1, 1.0, 1.0], [1.0, 1.1], CASES[:2], []),
        ([1.0, 1.0, 0.95, 1.24], [1.2, 1.0], CASES[2:], [("predict", "")]),
        # A single case: its group was fast enough, and is not judged again.
        ([1.3, 0.8, 1.0, 1.0], [1.2], CASES[:1], []),
        ([1.3, 0.8, 1.0, 1.0], [1.3], CASES[:1], [CASES[0]]),
        # Another case than in the first run, and both case and group
        ([1.3, 1.0, 1.0, 1.0], [1.0, 1.3], CASES[:2], [("fit", "")]),
        ([1.3, 1.0, 1.0, 1.0], [1.4, 1.0], CASES[:2], [CASES[0], ("fit", "")]),
    ],
)
def test_changes_may_be_slower_by_so_much_in_two_runs(first, second, again, broken):
    runs, asked = iter([first, second]), []

    def measure(cases):
        asked.append(list(cases))
        return dict(zip(cases, next(runs), strict=True))

    result = too_slow_twice(measure, CASES)
    assert list(result) == broken
    assert asked == ([CASES, again] if again else [CASES])
    assert all(min(ratios) > 1.07 for ratios in result.values())


def test_errors_say_what_to_do():
    assert len(BASE.read_text("utf-8").split()) == 1
    with pytest.raises(SystemExit, match=r"unshallow.* clone the repository"):
        base_tree("0" * 40)
    with pytest.raises(SystemExit, match="no case has a name with nonsense"):
        quick.main(["nonsense"])


@pytest.mark.check
def test_a_tree_is_compared_with_itself(capsys, monkeypatch):
    """Nothing is said about times: only that the command does its work."""
    monkeypatch.setattr(quick, "_TURN", 1e-3)
    keys = {("predict", "iris"), ("LNS", quick.SEARCHED[0].label)}
    cases = [case for case in quick.all_cases() if case.key in keys]
    broken = quick.broken_rule((ROOT, ROOT), cases)
    printed = capsys.readouterr().out
    for text in ("predict iris", "of LDA", "of logistic", "of naive form"):
        assert text in printed
    assert printed.count("geometric mean") >= 2
    assert ("FAIL" if broken else "The rule holds") in printed
