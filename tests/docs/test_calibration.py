"""The tools that write docs/calibration.md: same draws for all, criteria as stated, tables between their marks."""

import numpy as np
import pytest

from tools import halo_characteristics, planted_halo
from tools.planted_halo import FLOOR, OURS, Cell, cell, draws_of, held, mean_errors, ours, page
from voirdire.model import Ruling


def test_the_planted_rates_and_offsets_are_in_the_draws() -> None:
    draws = draws_of("plain", 0.3, 40)
    passed = np.mean([one.passed.mean(axis=1) for one in draws], axis=0)
    assert passed == pytest.approx(planted_halo.RATES, abs=0.02)
    failing = [
        [one.score[k][one.passed[k] == 0].mean() for k in range(planted_halo.SYSTEMS)] for one in draws
    ]
    assert np.diff(np.mean(failing, axis=0)) == pytest.approx(np.diff(planted_halo.OFFSETS), abs=0.02)
    assert np.mean([one.executed.mean() for one in draws]) == pytest.approx(0.3, abs=0.01)


def test_tasks_are_executed_together_and_chosen_rows_with_their_chance() -> None:
    together = draws_of("tasks", 0.3, 3)[0].executed
    assert (together == together[0]).all()
    chosen = draws_of("chosen", 0.1, 20)
    likely = np.mean([one.executed[one.chance > 0.1].mean() for one in chosen])
    assert likely == pytest.approx(0.2, abs=0.02)


def test_ours_beats_labels_alone_and_the_published_rule_on_the_same_draws() -> None:
    draws = draws_of("plain", 0.1, 40)
    made = {name: cell("plain", 0.1, name, draws) for name in (OURS, "labels only", "published offset rule")}
    coverage = made[OURS].coverage
    assert made[OURS].error < made["published offset rule"].error < made["labels only"].error
    assert coverage is not None
    assert coverage > 0.88
    assert made["published offset rule"].coverage is None
    assert ours(draws[0], weighted=False).shape == (4, 3)


def cells(own: float, peer: float, covered: float, floor: float = 0.94) -> list[Cell]:
    return [
        Cell("plain", 0.1, FLOOR, 10, 0.03, 0.9, floor, 0.1),
        Cell("plain", 0.1, OURS, 10, own, 0.9, covered, 0.1),
        Cell("plain", 0.1, "labels only", 10, peer, 0.8, 0.9, 0.1),
    ]


@pytest.mark.parametrize(
    ("own", "covered", "said"),
    [
        (0.05, 0.94, ()),
        (0.0549, 0.92, ()),
        (0.056, 0.94, ("error 0.056 is more than 10 % above labels only's 0.050",)),
        (0.05, 0.919, ("coverage 0.919 is below 0.920",)),
    ],
)
def test_a_cell_that_falls_short_says_so(own: float, covered: float, said: tuple[str, ...]) -> None:
    assert held(cells(own, 0.05, covered), "plain", 0.1).short == said
    assert ("falls short: " in page(cells(own, 0.05, covered))) is bool(said)


def test_coverage_is_held_to_the_floor_of_the_same_draws() -> None:
    assert held(cells(0.04, 0.05, 0.93, floor=0.96), "plain", 0.1).short == ("coverage 0.930 is below 0.940",)


def test_the_mean_leaves_chosen_apart() -> None:
    chosen = [Cell("chosen", 0.1, OURS, 10, 9.0, 0.9, 0.9, 0.1)]
    assert mean_errors([*cells(0.04, 0.05, 0.95), *chosen])[OURS] == pytest.approx(0.04)
    assert "**not** below" in page(cells(0.06, 0.05, 0.95))


def test_only_the_part_between_the_marks_is_written() -> None:
    for tool in (planted_halo, halo_characteristics):
        text = f"before\n{tool.BEGIN}\nold\n{tool.END}\nafter\n"
        part = f"{tool.BEGIN}\nnew\n{tool.END}"
        assert tool.written(text, part) == f"before\n{part}\nafter\n"
        with pytest.raises(SystemExit):
            tool.written("no marks", part)


def test_simulated_tables_are_ruled_as_planted() -> None:
    quiet = halo_characteristics.measured(halo_characteristics.WORLDS[1], 4, seed=1)
    loud = halo_characteristics.measured(halo_characteristics.WORLDS[7], 4, seed=1)
    assert quiet.rulings[Ruling.LEAKS.value] == 0
    assert loud.rulings[Ruling.LEAKS.value] >= 3
    assert quiet.offsets == 4 * 8
    assert halo_characteristics.page([quiet, loud], 1).count("\n| ") == 4
