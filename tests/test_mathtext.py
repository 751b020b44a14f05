"""Math density: notation and vocabulary count, small talk does not."""

import pytest

from redactkit.mathtext import density, is_math


@pytest.mark.parametrize(
    "text", ["9351 / 7 = 1335 r 6", "How many apples are left over in total?", "x^2 + 3x", "3/4 of 12"]
)
def test_mathematics(text):
    assert is_math(text)


@pytest.mark.parametrize("text", ["", "Hi Isaac, how was your weekend?", "lol ok", "can you hear me now"])
def test_small_talk(text):
    assert not is_math(text)


def test_density_is_a_share():
    assert density("") == 0.0
    assert density("1 + 1 = 2") == 1.0
