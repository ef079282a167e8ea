"""Which findings fail a test of a judge."""

import pytest

from tests.report.samples import CASES, examination, judge, outcome, partial_run
from voirdire.model import Ruling
from voirdire.studies._judge_holds import failures

HOLDS, LEAKS, OPEN, BLIND, ALLOWED = (
    Ruling.HOLDS,
    Ruling.LEAKS,
    Ruling.UNRESOLVED,
    Ruling.BLIND,
    Ruling.PERMITTED,
)


@pytest.mark.parametrize(
    ("cases", "general", "permitted", "failed"),
    [
        ([HOLDS] * 8, HOLDS, False, 0),
        ([HOLDS] * 7 + [OPEN], HOLDS, False, 0),
        ([HOLDS] * 7 + [LEAKS], HOLDS, False, 1),
        ([HOLDS] * 7 + [BLIND], HOLDS, False, 1),
        ([HOLDS] * 8, OPEN, False, 1),
        ([HOLDS] * 3, OPEN, False, 0),
        ([HOLDS, HOLDS, OPEN], OPEN, False, 1),
        ([ALLOWED] * 8, ALLOWED, False, 9),
        ([ALLOWED] * 8, ALLOWED, True, 0),
        ([LEAKS] * 3, OPEN, True, 3),
    ],
)
def test_the_general_finding_decides_where_there_are_enough_cases(
    cases: list[Ruling], general: Ruling, permitted: bool, failed: int
) -> None:
    one = judge()
    named = zip(CASES, cases, strict=False)
    findings = [
        *(outcome(case, 0.5, ruling, one) for case, ruling in named),
        outcome("judge", 0.5, general, one),
    ]
    assert len(failures(examination("t", [one], findings), permitted=permitted)) == failed


def test_a_failure_is_the_findings_sentence_with_what_would_settle_it() -> None:
    one = judge()
    said = failures(examination("t", [one], [outcome("judge", 0.5, OPEN, one)]), permitted=False)
    assert said[0].startswith("outcome, the judge in general: unresolved. P(superiority)")
    assert said[0].endswith("about 14 more repeats of each version, at the present estimate")


def test_an_incomplete_run_fails_whatever_it_found() -> None:
    assert failures(partial_run(), permitted=True) == [
        "the run is incomplete: the limit of 260 calls (--max-calls) was reached; the ledger keeps what was answered"
    ]
