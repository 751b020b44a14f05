"""Calibration: a probability of .8 means eight in ten, and the order of candidates stays."""

import numpy as np
import pytest
from scipy.special import expit

from redactkit.calibration import NONE, apply, expected_error, fit, reliability


def drawn(temperature, offset, n=20_000):
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, n)
    return logits, rng.random(n) < expit(logits / temperature + offset)


@pytest.mark.parametrize("temperature, offset", [(1.0, 0.0), (0.5, -1.0), (2.0, 0.5)])
def test_the_fit_finds_the_temperature_and_offset_that_made_the_answers(temperature, offset):
    found = fit(*drawn(temperature, offset))
    assert found["temperature"] == pytest.approx(temperature, rel=0.05)
    assert found["offset"] == pytest.approx(offset, abs=0.06)


def test_calibration_lowers_the_error_and_keeps_the_order():
    logits, redact = drawn(0.4, -1.5)
    before, after = apply(logits, NONE), apply(logits, fit(logits, redact))
    assert expected_error(before, redact) > 0.1
    assert expected_error(after, redact) < 0.01
    assert (np.argsort(before) == np.argsort(after)).all()


def test_reliability_counts_each_bin():
    table = reliability(np.array([0.05, 0.07, 0.95, 1.0]), np.array([False, True, True, True]))
    assert table.to_numpy().tolist() == [
        pytest.approx([0.0, 0.1, 2, 0.06, 0.5]),
        pytest.approx([0.9, 1.0, 2, 0.975, 1.0]),
    ]


def test_expected_error_is_weighted_by_candidates():
    p, redact = np.array([0.05, 0.95, 0.95, 0.95]), np.array([False, True, True, False])
    assert expected_error(p, redact) == pytest.approx(0.25 * 0.05 + 0.75 * (0.95 - 2 / 3))


def test_answers_that_are_all_one_do_not_run_off():
    found = fit(np.array([1.0, 2.0]), np.array([True, True]))
    assert np.isfinite(list(found.values())).all()
    assert found["temperature"] > 0
