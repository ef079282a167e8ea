"""`voirdire outcome` as a user runs it: stopped and continued, limited, interrupted, and asked wrongly."""

import html
import json
import os
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.cli._program import ROOT, Done, ended, started, voirdire
from tests.loopback.chat_server import Asked, ChatServer, Plain, Says
from tests.loopback.reviewer import LEAKY, Reviewer
from voirdire.cli import run

CASE = "coding"
CALLS = 50
"""Forty for the case's four versions, ten for the rule."""

JUDGE = "openai:scripted-model"


def reviewer() -> Reviewer:
    return Reviewer([CASE], LEAKY)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it never came to pass"
        time.sleep(0.005)


def printed(done: Done) -> dict[str, Any]:
    """Return the JSON on standard output, which must hold nothing else."""
    data: dict[str, Any] = json.loads(done.out)
    return data


# --- a whole run, killed in the middle --------------------------------------------------------------------


@dataclass(frozen=True)
class Killed:
    """A run killed in its middle and started again with `--json`.

    `before`: requests that the server had seen by then; `kept`: answers in the ledger; `seen`: all requests, by body.
    """

    done: Done
    before: int
    kept: int
    seen: Counter[bytes]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """The run, its folder holding the whole ledger afterwards."""
    folder = tmp_path_factory.mktemp("killed")
    with ChatServer(reviewer(), delay=0.03) as server:
        words = ("outcome", JUDGE, CASE, "--concurrency", "4")
        first = started(*words, folder=folder, url=server.url)
        wait_for(lambda: server.answered >= 20)
        os.kill(first.pid, signal.SIGKILL)
        first.communicate(timeout=30)
        assert first.returncode == -signal.SIGKILL
        before = len(server.asked)
        with sqlite3.connect(folder / ".voirdire/ledger.sqlite") as ledger:
            kept = int(ledger.execute("SELECT count(*) FROM answers").fetchone()[0])
        ledger.close()
        done = voirdire(*words, "--json", folder=folder, url=server.url)
        return Killed(done, before, kept, Counter(asked.raw for asked in server.asked))


def test_a_killed_run_asks_only_what_is_missing(killed: Killed) -> None:
    assert killed.done.code == 0
    assert killed.before - 4 <= killed.kept < CALLS
    account = killed.done.findings["account"]
    assert (account["cached"], account["asked"]) == (killed.kept, CALLS - killed.kept)
    assert killed.seen.total() == killed.before + CALLS - killed.kept
    assert killed.seen.total() - CALLS <= 4, "more was asked twice than was in flight"


def test_json_alone_stands_on_standard_output(killed: Killed) -> None:
    assert printed(killed.done) == killed.done.findings
    assert f"plan: {CALLS} calls" in killed.done.err
    assert "report: voirdire-out/report.html" in killed.done.err


def test_what_was_found_after_the_kill_is_what_a_whole_run_finds(killed: Killed) -> None:
    found = [
        (one["subject"], one["ruling"], one["estimate"]["value"]) for one in killed.done.named("outcome")
    ]
    assert found == [(CASE, "leaks", 0.0), ("judge", "unresolved", 0.0)]


# --- a run that ends before its end -----------------------------------------------------------------------


def partial(done: Done) -> str:
    """Return why a run is partial, after a look that exit code, terminal, JSON and page say so."""
    assert done.code == 3
    assert "Traceback" not in done.err
    reason = str(done.findings["account"]["partial"])
    assert f"partial: {reason}" in " ".join(done.out.split())
    assert "partial" in done.page.casefold()
    assert reason in html.unescape(done.page)
    assert done.finding("outcome", CASE)["ruling"] == "unresolved"
    return reason


def test_max_calls_is_never_passed_and_the_run_can_go_on(tmp_path: Path) -> None:
    with ChatServer(reviewer()) as server:
        done = voirdire("outcome", JUDGE, CASE, "--max-calls", "25", folder=tmp_path, url=server.url)
        assert "max-calls" in partial(done)
        assert done.findings["account"]["asked"] == len(server.asked) == 25
        again = voirdire("outcome", JUDGE, CASE, "--dry-run", folder=tmp_path, url=server.url)
        assert f"plan: {CALLS} calls, 25 of them in the ledger already, 25 to ask" in again.out


def test_an_exhausted_quota_ends_the_run_and_keeps_what_came_in(tmp_path: Path) -> None:
    answers = reviewer()

    def until_the_money_ends(asked: Asked) -> Says | Plain:
        return (
            answers(asked) if asked.number < 20 else Plain.error(429, "insufficient_quota", "no money left")
        )

    with ChatServer(until_the_money_ends) as server:
        done = voirdire("outcome", JUDGE, CASE, "--concurrency", "2", folder=tmp_path, url=server.url)
        reason = partial(done)
        assert "quota exhausted" in reason
        assert "no money left" in reason
        assert done.findings["account"]["asked"] == 20
        assert len(server.asked) <= 22, "the quota was asked for again and again"


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")], ids=["SIGINT", "SIGTERM"]
)
def test_ctrl_c_and_sigterm_give_a_page_of_what_came_in(
    number: signal.Signals, name: str, tmp_path: Path
) -> None:
    with ChatServer(reviewer(), delay=0.05) as server:
        process = started("outcome", JUDGE, CASE, "--concurrency", "2", folder=tmp_path, url=server.url)
        wait_for(lambda: server.answered >= 20)
        process.send_signal(number)
        done = ended(process, tmp_path)
        assert partial(done) == f"interrupted by {name}"
        assert done.findings["account"]["asked"] == len(server.asked) < CALLS, "what was in flight is kept"


def test_page_and_terminal_agree_on_the_plan_of_a_deterministic_judge(tmp_path: Path) -> None:
    done = voirdire("outcome", "planted:deterministic", CASE, folder=tmp_path)
    assert done.code == 0, done.err
    account = done.findings["account"]
    at_most, needed = account["at_most"], account["planned"]
    assert at_most > needed == account["asked"]
    assert f"plan: {at_most} calls, {at_most} to ask\n" in done.out
    assert f"{at_most} at most, {needed} needed: this judge is deterministic" in done.page


def test_a_run_is_dated_and_says_which_version_made_it(killed: Killed) -> None:
    found = killed.done.findings
    made = datetime.fromisoformat(found["made"])
    assert abs((datetime.now(UTC) - made).total_seconds()) < 3600
    assert found["version"] == version("voirdire")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_the_self_check_is_announced_and_can_be_stopped(number: signal.Signals, tmp_path: Path) -> None:
    process = started("outcome", "planted:fair", folder=tmp_path, url="")
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line == "voirdire: checking the instrument on planted judges\n"
    began = time.monotonic()
    process.send_signal(number)
    done = ended(process, tmp_path)
    assert time.monotonic() - began < 5.0
    assert done.code == 3
    assert done.err == "stopped by Ctrl-C or SIGTERM; the ledger keeps what was answered\n"
    assert not (tmp_path / "voirdire-out" / "report.html").exists()


def test_a_dry_run_asks_nothing_and_writes_nothing(tmp_path: Path) -> None:
    with ChatServer(reviewer()) as server:
        said = voirdire("outcome", JUDGE, CASE, "--dry-run", folder=tmp_path, url=server.url)
        data = voirdire("outcome", JUDGE, CASE, "--dry-run", "--json", folder=tmp_path, url=server.url)
        assert (said.code, data.code) == (0, 0)
        assert said.out.startswith(f"plan: {CALLS} calls, {CALLS} to ask\n")
        assert printed(data)["to_ask"] == CALLS
        assert server.asked == []
        assert not (tmp_path / "voirdire-out").exists()


# --- verdicts that exist already --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(killed: Killed, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The answers of an earlier run, exported from its ledger and examined as a judge of their own."""
    folder = tmp_path_factory.mktemp("recorded")
    ledger = str(killed.done.folder / ".voirdire/ledger.sqlite")
    assert voirdire("export", "answers.jsonl", "--requests", "--ledger", ledger, folder=folder).code == 0
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text("utf-8").splitlines()]
    (folder / "verdicts.jsonl").write_text(
        "\n".join([json.dumps({"schema": "voirdire.verdicts/1"}), *verdicts(rows)]), encoding="utf-8"
    )
    return voirdire("outcome", "recorded:verdicts.jsonl", CASE, folder=folder)


def verdicts(rows: list[dict[str, Any]]) -> list[str]:
    """Return lines of a verdict file, made from a ledger's export with its requests."""
    lines = []
    for row in rows:
        last = json.loads(row["body"])["messages"][-1]["content"]
        if row["item"] != CASE:
            continue
        log, _, rest = last.removeprefix("Log of the run:\n\n").partition("\n\nWhat happened later:\n\n")
        parts = {"log": log, "outcome": rest.partition("\n\nPROCESS:")[0]}
        lines.append(
            json.dumps({"item": row["item"], "parts": parts, "raw": row["raw"], "repeat": row["repeat"]})
        )
    return lines


def test_exported_answers_give_the_same_finding_as_a_recorded_judge(recorded: Done) -> None:
    assert recorded.code == 0
    finding = recorded.finding("outcome", CASE)
    assert (finding["ruling"], finding["estimate"]["value"], finding["control"]["value"]) == (
        "leaks",
        0.0,
        1.0,
    )
    assert recorded.findings["account"]["unreadable"] == {"not recorded": 10}


def test_a_recorded_judge_has_no_rule_and_the_finding_says_so(recorded: Done) -> None:
    finding = recorded.finding("outcome", CASE)
    assert finding["rule"]["permits"] is None
    assert "could not be asked its rule" in finding["rule"]["note"]
    assert "against the norm of this probe (the judge could not be asked its rule" in finding["sentence"]


# --- asked wrongly ----------------------------------------------------------------------------------------

JUDGE_WITH_PROMPT = """
backend = "openai"
model = "m"
[prompt]
user = "{{log}} {{otcome}}"
[[question]]
id = "process"
kind = "score"
text = "How good?"
[reader]
name = "first_line"
"""

NOTES_THAT_DIFFER_TWICE = """
no_harm = "It is Monday. The mailing went out at noon. Nobody complained."
harm = "It is Friday. The mailing went out at noon. Hundreds complained."
"""


def bad_files(folder: Path) -> None:
    """Write every file that the wrong commands below name."""
    shutil.copy(ROOT / "examples/rules/seniority.toml", folder / "rule.toml")
    support = (ROOT / "src/voirdire/data/cases/support.toml").read_text("utf-8")
    head, _, outcome = support.partition("[outcome]")
    unrelated = next(line for line in outcome.splitlines() if line.startswith("unrelated"))
    (folder / "differs.toml").write_text(f"{head}[outcome]{NOTES_THAT_DIFFER_TWICE}{unrelated}\n", "utf-8")
    (folder / "misspelt.toml").write_text('bakcend = "openai"\nmodel = "m"\n', "utf-8")
    (folder / "part.toml").write_text(JUDGE_WITH_PROMPT, "utf-8")
    (folder / "latin.toml").write_bytes('schema = "voirdire.case/1"\nid = "café"\n'.encode("latin-1"))
    (folder / "text.sqlite").write_text("no ledger, but long enough to be taken for one " * 9, "utf-8")
    (folder / "folder").mkdir()
    shutil.copy(ROOT / "src/voirdire/data/cases/coding.toml", folder / "again.toml")
    shutil.copy(ROOT / "src/voirdire/data/init/items.jsonl", folder / "items.jsonl")
    (folder / "one.toml").write_text(JUDGE_WITH_PROMPT.replace("otcome", "outcome"), "utf-8")
    (folder / "unknown.toml").write_text('backend = "nope"\nmodel = "m"\n', "utf-8")


WRONG = {
    ("outcome", "nosuch", "coding"): ("'nosuch' names no judge", "path/to/file.py:function"),
    ("outcome", "opnai:m", "coding"): ("no judge backend 'opnai'", "did you mean 'openai:'?"),
    ("outcome", "planted:leak", "coding"): ("no planted judge 'leak'", "leaks"),
    ("outcome", "misspelt.toml", "coding"): ("unknown key 'bakcend'", "did you mean 'backend'?"),
    ("outcome", "part.toml", "coding"): ("the prompt names 'otcome'", "correct the name in the prompt"),
    ("outcome", "latin.toml", "coding"): ("not UTF-8", "save the file as UTF-8"),
    ("outcome", JUDGE, "nosuchcase"): ("there is no case 'nosuchcase'", "recorded-long"),
    ("outcome", JUDGE, "no/such.toml"): ("there is no case 'no/such.toml'", "give a case file"),
    ("outcome", JUDGE, "folder"): ("there is no case 'folder'", "give a case file"),
    ("outcome", JUDGE, "latin.toml"): ("not UTF-8", "save the file as UTF-8"),
    ("outcome", JUDGE, "differs.toml"): ("may differ in one place only, but it differs at", "one span"),
    ("outcome", JUDGE, "coding", "coding"): ("the case 'coding' is named twice", "name each case once"),
    ("outcome", JUDGE, "coding", "again.toml"): ("two items have the id 'coding'", "an id of its own"),
    ("outcome", JUDGE, "part.toml"): (
        "'part.toml' is a judge file; this command takes cases",
        "stands first",
    ),
    ("outcome", JUDGE, "items.jsonl"): ("'items.jsonl' is an item file", "voirdire probe JUDGE items.jsonl"),
    ("outcome", JUDGE, "text.sqlite"): ("'text.sqlite' is no case file", "voirdire init"),
    ("outcome", "one.toml", "coding"): (
        "compares the question 'damage', but the judge answers process",
        "the id process and one with the id damage",
    ),
    ("outcome", "unknown.toml", "coding"): ("no backend 'nope'", "there are: command"),
    ("outcome", JUDGE, "rule.toml", "coding"): ("is a rule file", "without further files"),
    ("outcome", JUDGE, "coding", "--ledger", "folder"): (
        "cannot be written",
        "name another file with --ledger",
    ),
    ("outcome", JUDGE, "coding", "--ledger", "text.sqlite"): ("is not a ledger", "left as it is"),
    ("outcome", JUDGE, "coding", "--out", "text.sqlite"): ("is a file, not a folder", "name another folder"),
    ("outcome", JUDGE, "coding", "--max-cost", "1"): ("at no known price", "at the top of the judge file"),
    ("outcome", "recorded:nosuch.jsonl", "coding"): ("nosuch.jsonl", "correct the path"),
    ("outcome", "recorded:text.sqlite", "coding"): ("not JSON", "one JSON object a line"),
    ("outcome", "command:nosuchprogram", "coding"): ("no program 'nosuchprogram'", "on the PATH"),
}


@pytest.mark.parametrize("how", [(), ("--dry-run",)], ids=["asked", "dry run"])
@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_a_wrong_command_says_what_is_wrong_and_what_to_do_and_asks_nothing(
    words: tuple[str, ...],
    how: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")
    with ChatServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        code = run([*words, *how])
        said = capsys.readouterr().err
        message, hint = WRONG[words]
        assert code == 2
        assert message in said.partition("\n  hint: ")[0]
        assert hint in said.partition("\n  hint: ")[2]
        assert "Traceback" not in said
        assert server.asked == []
    assert not (tmp_path / "voirdire-out").exists()
