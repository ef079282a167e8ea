"""Hostile candidates at the levels that must stop them all: no credit, the right status, nothing left, nobody harmed."""

import shutil
from functools import cache
from pathlib import Path

import pytest

from tests.execution.attacks import ATTACKS, Attack, Observation, observe
from voirdire.execution.tasks import Isolation, Proof


@cache
def seen(isolation: Isolation) -> dict[str, Observation]:
    return observe(isolation, Proof.SEPARATE)


LEVELS = [
    Isolation.NAMESPACE,
    pytest.param(
        Isolation.BUBBLEWRAP,
        marks=pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed"),
    ),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
@pytest.mark.parametrize("isolation", LEVELS, ids=str)
def test_an_attack_is_stopped(isolation: Isolation, attack: Attack) -> None:
    observation = seen(isolation)[attack.name]
    assert not observation.earned_credit
    assert observation.status in attack.statuses, observation.error
    assert observation.survivors == 0
    assert observation.strays == 0
    assert observation.reached == 0
    assert observation.bystander_lives
    assert observation.next_passed


def test_the_page_of_attacks_lists_every_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "attacks.md").read_text()
    assert [attack.name for attack in ATTACKS if f"| {attack.name} |" not in page] == []
