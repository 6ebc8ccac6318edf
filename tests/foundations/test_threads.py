"""Long work is announced, shown, and can be interrupted."""

import numpy as np
import pytest

from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.foundations.threads import progress_of, progress_to


def test_long_work_is_never_silent():
    progress_of("cooking", 59.0)(1.0)
    with pytest.warns(UserWarning, match="cooking, which takes about 2 min"):
        progress_of("cooking", 120.0)(0.5)
    seen = []
    with progress_to(lambda text, share: seen.extend([text, share])):
        progress_of("cooking", 120.0)(0.5)
    assert seen == ["cooking, which takes about 2 min", 0.5]


@pytest.mark.parametrize("solver", ["global", "fixed-point"])
def test_a_fit_shows_batches_of_pairs_and_can_be_interrupted(monkeypatch, solver):
    monkeypatch.setattr("heterolda.solvers._PAIR_SECONDS", 1.0)
    monkeypatch.setattr("heterolda.solvers._BATCH_BYTES", 16 * 9)
    shares = []

    def interrupt(text, share):
        shares.append(share)
        if share > 0.5:
            raise KeyboardInterrupt

    rng = np.random.default_rng(0)
    statistics = ClassStatistics.from_data(rng.normal(size=(80, 3)), np.arange(80) % 4)
    model = GaussianLinearDiscriminant(solver=solver)
    with progress_to(interrupt), pytest.raises(KeyboardInterrupt):
        model.fit_statistics(statistics)
    assert np.allclose(shares, [1 / 6, 2 / 6, 3 / 6, 4 / 6])
    assert not hasattr(model, "coef_")
