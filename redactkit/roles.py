"""What a speaker label tells: a role ("T", "Student 2"), or that a person's name stands there."""

from __future__ import annotations

import re

_TUTOR = "tutor teacher instructor coach agent assistant mentor educator professor".split()
_STUDENT = "student pupil learner child kid user".split()
_ROLE_OF = dict.fromkeys([*_TUTOR, "t"], "tutor") | dict.fromkeys([*_STUDENT, "students", "s", "ss"], "student")
_ALSO_SURNAMES = {"coach", "agent", "child", "kid", "user"}  # they tell a role at the label's beginning only
# Labels of nobody in particular; a word that is in neither list may be a name, and is treated as one.
_NOBODY = set(
    "speaker participant system bot ai group class everyone everybody all both some multiple several various whole "
    "unknown unidentified other others none na nan narrator recording audio video voice chat moderator admin host "
    "guest parent adult children kids pupils learners teachers tutors users male female boy girl room table team and "
    "the of in a an or new second first another inaudible unclear".split()
)


def infer_role(label: str) -> str:
    """The role a speaker label tells of ("T", "Tutor 2", "Teacher: Ann", "S1", "Maria (student)"), or "other".

    A person's name is "other", and so is "Ms. Lee": a title is no proof of who teaches whom.
    """
    label = label.strip().casefold()
    short = re.fullmatch(r"(ss?|t)[\s_.:#-]*\d*[.:]?", label)
    if short:
        return _ROLE_OF[short[1]]
    words = re.findall(r"[^\W\d_]+(?:['’]\w+)?", label)
    telling = [w for n, w in enumerate(words) if n == 0 or f"({w}" in label or w not in _ALSO_SURNAMES]
    roles = {_ROLE_OF[w] for w in telling if len(w) > 2 and w in _ROLE_OF}
    return roles.pop() if len(roles) == 1 else "other"  # a "student teacher" is neither for certain


def names_a_person(label: str) -> bool:
    """Whether a speaker label holds any word that is neither a role nor a word for nobody in particular.

    When in doubt it is a name: "S1", "Tutor", "SPEAKER_00" and "" are not, "Maria R.", "Tutor Ann" and "JP" are.
    """
    words = re.findall(r"[^\W\d_]+", label.casefold())
    return any(w not in _ROLE_OF and w not in _NOBODY and not re.fullmatch(r"sn|st|tr|sp|spk", w) for w in words)
