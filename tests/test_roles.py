"""Speaker labels: which are roles, and which are somebody's name."""

import pytest

from redactkit.roles import infer_role, names_a_person


@pytest.mark.parametrize(
    "label", ["", "T", "S1", "SS", "Student 3", "Tutor", "SPEAKER_00", "Teacher 2", "Multiple Students", "system"]
)
def test_a_role_is_nobodys_name(label):
    assert not names_a_person(label)


@pytest.mark.parametrize("label", ["Maria R.", "JP", "Tutor Ann", "Ms. Alvarez", "李雷", "maria", "Teacher: Ann"])
def test_any_other_word_is_taken_for_a_name(label):
    assert names_a_person(label)


@pytest.mark.parametrize(
    ("label", "role"),
    [
        *[(x, "tutor") for x in ("T", "tutor", "Teacher 2", "TEACHER:", "T1", "Instructor", "Coach Lee", "agent")],
        *[(x, "tutor") for x in ("Tutor: Ann", "Math tutor", "Ms. Lee (Teacher)", "assistant", "tutor_3")],
        *[
            (x, "student")
            for x in ("S", "S1", "s 12", "SS", "Student A", "student_3", "Pupil", "learner", "user", "Kid")
        ],
        *[(x, "student") for x in ("Maria (student)", "Students", "child")],
        *[(x, "other") for x in ("Maria R.", "Ms. Lee", "Mr. T", "Sam", "Tom", "Julia Child", "Student teacher", "")],
        *[(x, "other") for x in ("Child's mother", "Researcher", "S1, S2", "Tess", "Theo Coach")],
    ],
)
def test_role_is_inferred_from_the_label_only_where_it_tells(label: str, role: str) -> None:
    assert infer_role(label) == role
