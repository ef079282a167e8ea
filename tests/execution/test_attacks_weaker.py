"""Hostile candidates where less is promised: limits only, and tests in one interpreter with the candidate."""

import os
from functools import cache

import pytest

from tests.execution.attacks import ATTACKS, EARLY, FORGED, PEEK, PIPE, Attack, Observation, observe
from voirdire.execution.tasks import Isolation, Proof

NOT_STOPPED_BY_LIMITS = {"leaves files everywhere", "calls a local socket"}
"""What `process` does not promise: candidates see the host's files and its local sockets."""

EARNS_WHERE_SHARED = {
    "equal to everything",
    "a number equal to everything",
    "tests through gc",
    "speaks the protocol: reads the nonce",
}
"""What `proof: shared` cannot tell from a right answer; the result says so."""

BEFORE_CREDIT = tuple(attack for attack in ATTACKS if attack.family in (EARLY, FORGED, PEEK, PIPE))


@cache
def at_process() -> dict[str, Observation]:
    return observe(Isolation.PROCESS, Proof.SEPARATE)


@cache
def beside_the_tests() -> dict[str, Observation]:
    return observe(Isolation.NAMESPACE, Proof.SHARED, attacks=BEFORE_CREDIT)


@pytest.mark.skipif(
    os.geteuid() != 0,
    reason="without root, candidates of this level are the user who runs the tests, and may harm him",
)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_limits_alone_still_give_no_credit_and_leave_nothing_running(attack: Attack) -> None:
    observation = at_process()[attack.name]
    assert not observation.earned_credit
    assert observation.survivors == 0
    assert observation.bystander_lives
    assert observation.next_passed
    assert not observation.did_harm or attack.name in NOT_STOPPED_BY_LIMITS


@pytest.mark.timeout(600)
@pytest.mark.parametrize("attack", BEFORE_CREDIT, ids=lambda attack: attack.name)
def test_beside_the_tests_early_ends_earn_nothing_and_only_known_forgeries_do(attack: Attack) -> None:
    observation = beside_the_tests()[attack.name]
    assert observation.earned_credit == (attack.name in EARNS_WHERE_SHARED)
    assert not observation.did_harm
