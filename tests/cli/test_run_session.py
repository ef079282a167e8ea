"""What judging commands share: the forecast, asking, the files, what is printed, the exit code."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.snapshots._compare import matches
from voirdire.cli._main import FINE, INCOMPLETE
from voirdire.cli._run import Session, Settings, forecast_text, found_text, session
from voirdire.engine.plan import Call, Forecast, calls_for
from voirdire.errors import UsageError
from voirdire.judges import open_judge
from voirdire.model import (
    Account,
    Asking,
    Cost,
    Examination,
    Finding,
    FindingKind,
    Identity,
    Item,
    Judge,
    JudgeSpec,
    Message,
    ReaderSpec,
    Ruling,
)
from voirdire.questions import Score

ASKING = Asking(
    messages=(Message("user", "{{task}}"),),
    questions=(Score("quality", "How good is it?"),),
    reader=ReaderSpec("typed"),
)
ITEMS = [Item(f"item-{n}", {"task": f"task {n}"}) for n in range(3)]


def settings(tmp_path: Path, **changed: object) -> Settings:
    return Settings(**{"out": tmp_path / "out", "ledger": tmp_path / "sub" / "ledger.sqlite", **changed})  # type: ignore[arg-type]


def planned(run: Session) -> list[Call]:
    judge: Judge = open_judge(JudgeSpec("planted:coin", "planted", "coin"), ASKING)
    run.opened.append(judge)
    return calls_for(judge, ITEMS, repeats=2)


def examination(run: Session, *findings: Finding) -> Examination:
    return Examination("Trial", [Identity("coin", {"model": "coin"})], findings, run.asker.account)


def finding(sentence: str, ruling: Ruling | None = None) -> Finding:
    return Finding("f", FindingKind.PROBE, "position", "judge", "coin", sentence, ruling)


def test_a_run_from_forecast_to_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with session(settings(tmp_path)) as run:
        calls = planned(run)
        assert run.proceed(calls)
        assert len(run.wait(run.asker.ask(calls))) == 6
        assert run.finish(examination(run, finding("The judge answers by chance.", Ruling.LEAKS))) == FINE
    shown = capsys.readouterr().out
    assert shown.startswith("plan: 6 calls, 6 to ask\n")
    assert "leaks       The judge answers by chance.\n" in shown
    assert shown.endswith(f"report: {tmp_path / 'out' / 'report.html'}\n")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"findings.json", "report.html"}


def test_the_second_run_finds_everything_in_the_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        with session(settings(tmp_path)) as run:
            calls = planned(run)
            run.proceed(calls)
            run.wait(run.asker.ask(calls))
    assert "plan: 6 calls, 6 of them in the ledger already, 0 to ask\n" in capsys.readouterr().out


def test_a_dry_run_stops_after_the_forecast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with session(settings(tmp_path, dry_run=True)) as run:
        assert not run.proceed(planned(run))
        assert run.asker.account.asked == 0
    assert capsys.readouterr().out.startswith("plan: 6 calls")


def test_a_dry_run_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with session(settings(tmp_path, dry_run=True, as_json=True)) as run:
        run.proceed(planned(run))
    shown = json.loads(capsys.readouterr().out)
    assert (shown["calls"], shown["to_ask"], shown["cached"]) == (6, 6, 0)


def test_json_has_standard_output_for_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with session(settings(tmp_path, as_json=True)) as run:
        run.proceed(planned(run))
        run.finish(examination(run, finding("Said.")))
    captured = capsys.readouterr()
    assert json.loads(captured.out) == json.loads((tmp_path / "out" / "findings.json").read_text())
    assert "plan: 6 calls" in captured.err
    assert "report: " in captured.err


def test_a_limit_makes_the_run_partial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with session(settings(tmp_path, max_calls=4)) as run:
        run.wait(run.asker.ask(planned(run)))
        assert run.asker.account.asked == 4
        assert run.finish(examination(run)) == INCOMPLETE
    assert "partial: --max-calls 4 reached. What came in is kept" in capsys.readouterr().out


class Closing:
    """A judge that notes when it is closed."""

    closed = False

    async def close(self) -> None:
        self.closed = True


def fail_in_session(chosen: Settings, judge: Closing) -> None:
    with session(chosen) as run:
        run.opened.append(judge)  # type: ignore[arg-type]
        raise UsageError("no")


def test_judges_are_closed_whatever_happens(tmp_path: Path) -> None:
    judge = Closing()
    with pytest.raises(UsageError, match="no"):
        fail_in_session(settings(tmp_path), judge)
    assert judge.closed


def test_opening_a_judge_from_its_address(tmp_path: Path) -> None:
    with session(settings(tmp_path)) as run:
        judge = run.open("planted:coin", lambda backend: ASKING)
        assert judge.asking == ASKING
        assert run.opened == [judge]


FORECASTS = (
    Forecast(1, 0, 0, 1, Cost(300, 5, 0.0), Cost(900, 20, 0.0), 4.0),
    Forecast(240, 40, 0, 200, Cost(61_000, 2_000, 0.12), Cost(120_000, 40_000, 0.8), 200.0),
    Forecast(240, 0, 3, 237, Cost(61_000, 2_000), Cost(120_000, 40_000), None),
    Forecast(240, 240, 0, 0, Cost(), Cost(), None),
    Forecast(8, 0, 0, 8, Cost(), Cost(), None),
    Forecast(2, 0, 0, 2, Cost(100, 2, 0.00012), Cost(200, 4, 0.00052), 1.0),
)


def test_forecasts_as_text() -> None:
    matches("messages/forecasts.txt", "\n\n".join(forecast_text(forecast) for forecast in FORECASTS) + "\n")


def test_findings_as_text() -> None:
    found = (
        finding(
            "In 12 of 30 pairs the first slot wins in both orders: the judge prefers a slot.", Ruling.LEAKS
        ),
        finding("Case support: the score does not move.", Ruling.HOLDS),
        finding(
            "Case deploy: too few answers were read; 14 more repeats would settle it.", Ruling.UNRESOLVED
        ),
        finding("It moved as its own rule allows.", Ruling.PERMITTED),
        finding("It did not see the control.", Ruling.BLIND),
        finding("39,356 recorded verdicts were read."),
    )
    account = Account(asked=3, read=3, partial="interrupted by Ctrl-C")
    matches("messages/findings.txt", found_text(Examination("Trial", [], found, account)) + "\n")


def test_what_is_missing_of_a_whole_run_is_said_with_the_reasons() -> None:
    account = Account(planned=40, asked=40, read=30, failed=2, unreadable={"not recorded": 7, "empty": 1})
    said = found_text(Examination("Trial", [], [], account))
    assert said.splitlines()[0].startswith("missing: 10 of 40 answers: not recorded (7), empty (1), the call")
    assert "missing" not in found_text(Examination("Trial", [], [], Account(planned=3, asked=3, read=3)))


def test_where_nothing_was_read_the_doctor_is_named() -> None:
    account = Account(asked=3, read=0, partial="3 of 3 answers could not be read: empty (3)")
    said = found_text(Examination("Trial", [], [], account), judges=["openai:m"])
    assert said.splitlines()[-1] == "  hint: `voirdire doctor openai:m` shows what it answers"
    assert "What came in is kept" in said
    gone = replace(account, failed=3, partial="no call was answered: server error (500) (3 tried)")
    assert "kept" not in found_text(Examination("Trial", [], [], gone))
