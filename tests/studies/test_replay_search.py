"""A search steered by a judge that approves of broken code drifts towards code that cannot run; the gate keeps it."""

import pytest

from tools.simulate_search import Course, courses, section


def ends(*, seeds: int, steps: int) -> tuple[Course, Course]:
    plain, gated = (courses(gate=gate, seeds=seeds, steps=steps)[-1] for gate in (False, True))
    return plain, gated


def test_the_gate_keeps_what_parses_and_what_passes() -> None:
    plain, gated = ends(seeds=1, steps=4)
    assert plain.parsing[0] < gated.parsing[0] - 0.08
    assert plain.passing[0] < gated.passing[0]


def test_a_search_is_seeded() -> None:
    assert courses(gate=True, seeds=1, steps=1) == courses(gate=True, seeds=1, steps=1)


def test_the_table_has_a_row_for_every_step() -> None:
    course = [Course(step, (0.5, 0.4, 0.6), (0.2, 0.1, 0.3)) for step in range(3)]
    assert section(course, course, seeds=20).count("| 0.500 [0.400, 0.600] | 0.500 [0.400, 0.600] |") == 3


@pytest.mark.slow
def test_every_seed_of_twenty_ends_lower_without_the_gate() -> None:
    plain, gated = ends(seeds=20, steps=12)
    assert plain.parsing[2] < gated.parsing[1]
    assert plain.passing[0] < gated.passing[0] - 0.1
