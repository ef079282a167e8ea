"""How often the two audits are right on simulated records: few false alarms, a leak of a stated size is found."""

from pathlib import Path

import pytest

from tools import operating_characteristics, simulate_recorded
from tools.simulate_recorded import Comparer, Rater, comparer_tally, population_superiority, rater_tally

PAGE = Path(__file__).parents[2] / "docs" / "operating-characteristics.md"


def test_fair_judges_of_pairs_are_rarely_charged_and_a_strong_pull_is_found() -> None:
    fair, pulled = comparer_tally(Comparer("J"), 40, 3), comparer_tally(Comparer("J", slot=0.4), 40, 3)
    assert fair.false <= 6
    assert pulled.rulings["leaks"] == pulled.ruled == 40
    assert pulled.covered >= 33


def test_fair_raters_are_rarely_charged_and_two_points_are_found() -> None:
    fair, rising = rater_tally(Rater("J"), 20, 3), rater_tally(Rater("J", rise=2.0), 20, 3)
    assert fair.false <= 4
    assert fair.rulings["leaks"] + fair.rulings["unresolved"] == fair.ruled == 20 * 8
    assert rising.rulings["leaks"] >= 0.95 * rising.ruled


def test_fault_on_one_scale_is_no_excuse_to_charge_the_others() -> None:
    alone = rater_tally(Rater("J", rise=2.0, scales=("Negligent",)), 20, 3)
    assert alone.ruled == 20 * 2
    assert alone.rulings["leaks"] >= 36
    assert alone.false <= 4


def test_true_superiority_of_a_fair_rater_is_one_half() -> None:
    assert population_superiority(Rater("J")) == pytest.approx(0.5, abs=1e-9)
    assert population_superiority(Rater("J", rise=-1.0)) < 0.3


def test_page_holds_every_section_with_every_row() -> None:
    page = PAGE.read_text(encoding="utf-8")
    standing = operating_characteristics.standing_sections(page)
    assert list(standing) == list(operating_characteristics.SECTIONS)
    for name, kinds in (
        ("position, audit of a record", simulate_recorded.COMPARERS),
        ("outcome_ratings, audit of a record", simulate_recorded.RATERS),
    ):
        rows = [line.split("|")[1].strip() for line in standing[name].splitlines() if line.startswith("| ")]
        assert rows[2:] == [kind.name for kind in kinds]
    assert page == operating_characteristics.header(1000, 1) + "".join(standing.values())
