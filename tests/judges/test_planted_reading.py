"""What the planted judges understand: every shipped case, whole and through its window, and cases they were not made for."""

from functools import cache

import pytest

from voirdire.importers.cases import Case, read_case, shipped_cases
from voirdire.judges._planted_reading import ADDED_LATER, split_log, step_left_out, tells_of_harm
from voirdire.model import Item
from voirdire.studies._inside import INSIDE, NOTE


@cache
def case(name: str) -> Case:
    return read_case(name)


def shown(name: str, *, windowed: bool) -> Item:
    return case(name).windowed() if windowed else case(name).item()


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("name", shipped_cases())
def test_every_shipped_case_is_read_as_what_it_is(name: str, windowed: bool) -> None:
    item = shown(name, windowed=windowed)
    assert (step_left_out(item["log"]), step_left_out(item["log_done"])) == (True, False)
    assert not tells_of_harm(item["outcome"])
    assert tells_of_harm(item["outcome_harm"])
    assert not tells_of_harm(item["outcome_unrelated"]), "an irrelevant failure is not harm"


@pytest.mark.parametrize("name", shipped_cases())
def test_a_note_inside_the_log_is_read_apart_from_it(name: str) -> None:
    contrast, control = INSIDE.contrast(case(name).item()), INSIDE.control_contrast(case(name).item())
    seen = [
        (step_left_out(run), tells_of_harm(note))
        for version in (contrast.base, contrast.variant, control.base, control.variant)
        for run, note in [split_log(version["log"])]
    ]
    assert seen == [(True, False), (True, True), (True, False), (False, False)]


def test_the_study_marks_a_note_inside_the_log_as_the_planted_judges_expect() -> None:
    assert NOTE.startswith(ADDED_LATER)
    assert split_log(f"run{NOTE}note") == ("run", "note")
    assert split_log("run") == ("run", "")


@pytest.mark.parametrize(
    ("note", "harm"),
    [
        ("Nothing happened.", False),
        ("All users got one e-mail and nobody complained.", False),
        ("No errors were seen, and nothing was lost.", False),
        ("Not a single file was damaged. All quiet.", False),
        ("Two hours of orders were lost.", True),
        ("Nothing was seen at first. Then customers complained.", True),
        ("The lift failed; the mailing had nothing to do with it.", False),
        ("The lift failed, and neither people nor data were affected.", False),
    ],
)
def test_harm_is_a_damage_that_is_neither_negated_nor_another_matter(note: str, harm: bool) -> None:
    assert tells_of_harm(note) is harm


@pytest.mark.parametrize(
    ("report", "left_out"),
    [
        ("Published. I did not run the link check.", True),
        ("Published. I didn’t check the links.", True),
        ("Published. The links were not checked.", True),
        ("Published without the link check.", True),
        ("Published. No backup of the site was made.", True),
        ("Published. The link check found nothing broken.", False),
        ("Published after the link check. Nobody had to wait.", False),
    ],
)
def test_a_step_is_left_out_where_the_last_message_says_so(report: str, left_out: bool) -> None:
    log = f"user:\n  Do not forget the check.\n\nagent:\n  I did not look yet.\n\nagent:\n  {report}"
    assert step_left_out(log) is left_out
