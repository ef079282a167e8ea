"""The state of the run: whether it is complete, what is missing, what it cost, and whether we read planted judges right."""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from voirdire.blocks import TableBlock
from voirdire.model import Account, Examination, Ruling
from voirdire.report.missing import missing_answers, not_asked
from voirdire.report.names import examined_judges
from voirdire.report.numerals import counted, dollars, duration, listing, share
from voirdire.report.paper import Paper
from voirdire.report.tables import ShownTable, shown_table

PLACE = 20


@dataclass(frozen=True)
class Fact:
    """One number of the run, its name and a remark."""

    name: str
    value: str
    remark: str = ""
    alert: bool = False


def section(examination: Examination, paper: Paper) -> Markup | None:
    """Return the state of the run; always there."""
    return paper.fill(
        "state.html",
        facts=list(_facts(examination)),
        families=_families(examination),
        missing=_missing_table(examination.account),
        checks=_check_table(examination),
        misread=[check for check in examination.self_checks if not check.passed],
        snapshots=_snapshots(examination),
        notes=examination.notes,
    )


def _facts(examination: Examination) -> Iterator[Fact]:
    account = examination.account
    if account.planned:
        asked = f"{account.asked:,} asked, {account.cached:,} from the ledger{_fewer(account)}"
        yield Fact("Answers planned", f"{account.planned:,}", asked)
        lacking = missing_answers(account)
        remark = (
            f"{share(lacking, account.planned)} of the planned"
            if lacking
            else "every answer is in and readable"
        )
        yield Fact("Missing", f"{lacking:,}", remark, alert=lacking > 0)
        tokens = f"{account.input_tokens:,} tokens in, {account.output_tokens:,} out"
        in_vain = account.asked > 0 and account.asked == account.failed
        cost = "not known" if in_vain and account.money is None else dollars(account.money)
        yield Fact("Cost", cost, f"{tokens}; {duration(account.seconds)}")
    else:
        yield Fact("Answers planned", "none", "no judge was asked in this run")
    checks = examination.self_checks
    if checks:
        passed = sum(check.passed for check in checks)
        remark = (
            "planted judges read as what they are" if passed == len(checks) else "planted judges were misread"
        )
        yield Fact("Self-check", f"{passed} of {len(checks)}", remark, alert=passed < len(checks))
    else:
        yield Fact("Self-check", "not run", "nothing was asked that it could check")
    ruled = [
        finding
        for finding in examination.findings
        if finding.ruling is not None and finding.ruling is not Ruling.UNRESOLVED
    ]
    judges = counted(len(examined_judges(examination)), "judge")
    open_ = sum(finding.ruling is Ruling.UNRESOLVED for finding in examination.findings)
    said = f"{len(ruled):,} with a ruling" + (f", {open_:,} unresolved" if open_ else "")
    yield Fact("Findings", f"{len(examination.findings):,}", f"{said}; {judges}")


def _fewer(account: Account) -> str:
    """Return what the plan foresaw where fewer calls were needed, so that page and terminal agree."""
    if account.at_most <= account.planned:
        return ""
    why = f": {account.fewer_because}" if account.fewer_because else ""
    return f"; {account.at_most:,} at most, {account.planned:,} needed{why}"


def _snapshots(examination: Examination) -> str:
    """Return the warning that more snapshots answered than judges were asked: the numbers then mix several models."""
    served = examination.account.served
    asked = sum(not judge.recorded for judge in examined_judges(examination))
    if len(served) <= max(1, asked):
        return ""
    said = [f"{name} ({counted(answers, 'answer')})" for name, answers in sorted(served.items())]
    return (
        f"{counted(len(served), 'snapshot')} answered for {counted(max(1, asked), 'judge')}: {listing(said)}. The server "
        "changed the model within what this page counts together."
    )


def _families(examination: Examination) -> list[str]:
    sizes = {
        (finding.family, finding.family_size): None
        for finding in examination.findings
        if finding.family and finding.family_size
    }
    return [f"{family} ({counted(size, 'contrast')})" for family, size in sizes]


def _missing_table(account: Account) -> ShownTable | None:
    rows: list[tuple[str, int]] = sorted(account.unreadable.items(), key=lambda pair: (-pair[1], pair[0]))
    rows += [("the call failed for good", account.failed)] if account.failed else []
    rows += [("not asked", not_asked(account))] if not_asked(account) else []
    return (
        shown_table(TableBlock("Answers that are missing, by reason", ["reason", "answers"], rows))
        if rows
        else None
    )


def _check_table(examination: Examination) -> ShownTable | None:
    if not examination.self_checks:
        return None
    rows = [
        (
            check.probe,
            check.planted,
            " or ".join(check.expected),
            check.ruled,
            "yes" if check.passed else "NO",
        )
        for check in examination.self_checks
    ]
    columns = ["probe", "planted judge", "expected", "ruled", "right"]
    return shown_table(
        TableBlock("Planted judges, with known faults, through the same reader", columns, rows)
    )
