"""A judge's rules as tests: `judge_holds("position", judge, items)` in a test suite.

    from voirdire.pytest import judge_holds

    def test_the_order_of_two_answers_does_not_matter():
        judge_holds("position", "my-judge.toml", "pairs.jsonl")

It is a fixture of the same name too. The probe runs with its self-check; answers are kept in a ledger, so that a test
that runs again asks nobody. Loading this module imports nothing but pytest.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from voirdire.model import Examination, Finding, Item, Judge, Probe

LEDGER = Path(".voirdire/ledger.sqlite")
PAGES = Path("voirdire-out/pytest")


@dataclass
class Defaults:
    """What a test does not say itself: from the command line or the ini file; the ledger from VOIRDIRE_LEDGER, too."""

    ledger: Path | None = None
    out: Path | None = None
    repeats: int | None = None
    max_calls: int | None = None


_defaults = Defaults()


def judge_holds(
    probe: str | Probe,
    judge: str | Judge,
    items: Sequence[Item] | str | Path | None = None,
    *,
    permitted: bool = False,
    repeats: int | None = None,
    max_calls: int | None = None,
    max_cost: float | None = None,
    ledger: str | Path | None = None,
    out: str | Path | None = None,
    concurrency: int = 32,
) -> list[Finding]:
    """Run a probe on a judge and return its findings; fail the test where one of those that count does not hold.

    probe: its name, or a probe; the path of a rule file brings its items along. judge: an address, a judge file, or an
    open judge. items: items, an item file or case file, or the name of a shipped case; None: what ships for the probe.
    permitted: a shift that the judge's own rule allows passes, too. The finding about the judge in general counts, and
    so does every case, unless there are enough of them for the general one: then a case fails only where it leaks or is
    blind. Without enough cases all of them must hold. max_calls, max_cost: an incomplete run fails. out: where the page
    of a failed test is written. Raises UsageError and the like for what cannot be asked.
    """
    __tracebackhide__ = True
    from voirdire.studies._judge_holds import Limits, examine_for_test, failures

    limits = Limits(
        ledger=Path(ledger or _defaults.ledger or os.environ.get("VOIRDIRE_LEDGER") or LEDGER),
        repeats=repeats or _defaults.repeats,
        max_calls=_defaults.max_calls if max_calls is None else max_calls,
        max_cost=max_cost,
        concurrency=concurrency,
    )
    examination = examine_for_test(probe, judge, items, limits)
    failed = failures(examination, permitted=permitted)
    if failed:
        page = _page(examination, Path(out or _defaults.out or PAGES))
        pytest.fail("\n".join([*failed, f"page: {page}"]), pytrace=False)
    return list(examination.findings)


def _page(examination: Examination, out: Path) -> Path:
    """Write the page into a folder of the probe and the judge, and return its path."""
    from voirdire.report.write import write

    names = dict.fromkeys(finding.name for finding in examination.findings)
    judge = examination.judges[0].fingerprint[:12]
    return write(examination, out / f"{'-'.join(names) or 'nothing'}-{judge}")


# --- the plug-in ----------------------------------------------------------------------------------------


@pytest.fixture(name="judge_holds", scope="session")
def _judge_holds_fixture() -> object:
    """The function `judge_holds`."""
    return judge_holds


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that all tests of a judge share."""
    group = parser.getgroup("voirdire", "examining LLM judges")
    group.addoption(
        "--voirdire-ledger", metavar="FILE", help="record of every answer; what it holds is not asked again"
    )
    group.addoption("--voirdire-out", metavar="DIR", help="folder for the pages of failed tests")
    group.addoption(
        "--voirdire-repeats", metavar="N", type=_positive, help="ask each version N times by default"
    )
    group.addoption(
        "--voirdire-max-calls",
        metavar="N",
        type=int,
        help="never make more than N calls in one test by default",
    )
    parser.addini("voirdire_ledger", "as --voirdire-ledger, from the folder of the ini file", default="")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(f"{text} is not above 0")
    return number


def pytest_configure(config: pytest.Config) -> None:
    """Take the options of this run."""
    kept = config.getini("voirdire_ledger")
    ledger = config.getoption("--voirdire-ledger") or (config.rootpath / kept if kept else None)
    out = config.getoption("--voirdire-out")
    _defaults.ledger = Path(ledger) if ledger else None
    _defaults.out = Path(out) if out else None
    _defaults.repeats = config.getoption("--voirdire-repeats")
    _defaults.max_calls = config.getoption("--voirdire-max-calls")
