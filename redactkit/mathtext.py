"""How mathematical a message is: the share of its words that are mathematics (companion paper, math density; M1).

A weighted sum of notation, vocabulary and phrases over the number of words. Segments of neighbouring messages are
left to the study of numeric ambiguity; here the density alone tells the reviewer where a candidate stands.
"""

from __future__ import annotations

import re

MATH_FROM = 0.2  # density from which a message counts as mathematics
NOTATION, VOCABULARY, PHRASE = 1.0, 0.7, 1.0  # weight of one hit
_WORD = re.compile(r"\S+")
_NOTATION = re.compile(r"\d[\d.,:/]*%?|[=+×÷*^√π≤≥<>]|(?<=\s)-(?=\s*\d)|\b[xyn]\b|\$(?=\d)")
_PHRASES = re.compile(r"\b(how many|how much|in all|in total|is equal to|left over|each|per|times as)\b")
_WORDS = re.compile(
    r"\b(add|added|adds|sum|total|plus|minus|subtract\w*|difference|multipl\w+|times|product|divid\w+|division|quotient"
    r"|remainder|equals?|equation|expression|variable|fractions?|numerator|denominator|half|halves|thirds?|fourths?"
    r"|quarters?|decimals?|percent\w*|ratio|rate|proportion\w*|squared?|cubed?|roots?|powers?|exponent\w*|factor\w*"
    r"|multiples?|prime|even|odd|integers?|digits?|numbers?|angles?|triangles?|rectangles?|circles?|radius|diameter"
    r"|perimeter|area|volume|graph\w*|slope|intercept|axis|mean|median|mode|average|probability|function|polynomial"
    r"|coefficient|theorem|formula|tens|ones|hundreds|thousands?|million|more|less|fewer|twice|double|triple|cost\w*"
    r"|worth|miles|meters|feet|inches|pounds|dollars|cents|hours?|minutes?)\b"
)


def density(text: str) -> float:
    """The weighted hits of mathematics for each word of `text`, at most 1; 0.0 where there is no word."""
    words = len(_WORD.findall(text))
    low = text.casefold()
    hits = NOTATION * len(_NOTATION.findall(low)) + VOCABULARY * len(_WORDS.findall(low))
    hits += PHRASE * len(_PHRASES.findall(low))
    return min(hits / words, 1.0) if words else 0.0


def is_math(text: str) -> bool:
    """Whether a message is dense enough to count as mathematics."""
    return density(text) >= MATH_FROM
