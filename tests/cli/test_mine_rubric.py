"""From a git history to a halo page: tasks, two harnesses, checklists by an explorer, scores by a judge, over loop-back."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.loopback.chat_server import Asked, ChatServer, Says
from tests.loopback.explorer import (
    TASKS,
    good,
    invents,
    judge,
    leaves,
    messages_of,
    never_ends,
    shop_history,
    turn_of,
)
from voirdire.cli import _main as cli
from voirdire.cli.mine_score import _summary
from voirdire.mining.attempts import read_attempts
from voirdire.mining.checklists import read_checklists

AGENT = """
import pathlib, re, sys
brief = sys.stdin.read()
k = re.search(r"module (\\d+)", brief)[1]
if sys.argv[1] == "doer" or int(k) % 4 == 0:
    path = pathlib.Path(f"shop/m{k}.py")
    path.write_text(path.read_text() + f"\\n\\ndef greet_{k}(name):\\n    return name\\n")
else:
    pathlib.Path("NOTES.md").write_text(brief)
"""


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a repository, its tasks, the attempts of two harnesses and what came of them."""
    folder = tmp_path_factory.mktemp("rubric")
    repo = shop_history(folder / "shop")
    (folder / "agent.py").write_text(AGENT)
    tasks, attempts = folder / "tasks.jsonl", folder / "attempts.jsonl"
    assert cli.run(["mine", str(repo), "--out", str(tasks)]) == cli.FINE
    run = ["mine", "run", str(tasks), "--repo", str(repo), "--out", str(attempts)]
    for name in ("doer", "idler"):
        run += [
            "--harness",
            f"{name}={sys.executable} {folder}/agent.py {name}",
            "--model",
            f"{name}=m-secret",
        ]
    assert cli.run(run) == cli.FINE
    write_outcomes(folder)
    return folder


def write_outcomes(folder: Path) -> None:
    made: list[Mapping[str, object]] = [{"schema": "voirdire.outcomes/1"}]
    for one in read_attempts(folder / "attempts.jsonl"):
        passed = "+def greet_" in one.diff
        made.append(
            {
                "key": one.key,
                "status": "passed" if passed else "failed",
                "f2p_passed": int(passed),
                "f2p_total": 1,
                "output": "1 passed" if passed else "NameError: greet",
            }
        )
    (folder / "outcomes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))


@pytest.fixture(autouse=True)
def _own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOIRDIRE_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")


def explore(place: Path, tmp_path: Path, server: ChatServer, *more: str) -> tuple[int, Path]:
    out = tmp_path / "checklists.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        words = ["mine", "checklists", str(place / "tasks.jsonl"), "--explorer", "openai:explorer"]
        code = cli.run([*words, "--repo", str(place / "shop"), "--out", str(out), *more])
    return code, out


def judged(place: Path, tmp_path: Path, server: ChatServer, checklists: Path, *more: str) -> tuple[int, Path]:
    out = tmp_path / "scores.jsonl"
    files = ["--checklists", str(checklists), "--outcomes", str(place / "outcomes.jsonl")]
    words = ["mine", "score", str(place / "tasks.jsonl"), str(place / "attempts.jsonl"), *files]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        code = cli.run(
            [*words, "--judge", "openai:judge", "--repo", str(place / "shop"), "--out", str(out), *more]
        )
    return code, out


@pytest.fixture
def checklists(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    with ChatServer(good) as server:
        code, out = explore(place, tmp_path, server)
    assert code == cli.FINE
    capsys.readouterr()
    return out


def test_from_a_history_to_a_halo_page(
    place: Path, tmp_path: Path, checklists: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = ("--by", "checklist", "--by", "plain", "--by", "tests")
    with ChatServer(judge) as server:
        code, scores = judged(place, tmp_path, server, checklists, *methods)
    said = capsys.readouterr().out
    assert code == cli.FINE
    assert "checklist openai:judge, m-secret+doer: mean 1.00 of 12 scores" in said
    table = rows(scores)
    assert len(table) == 3 * 2 * TASKS
    assert {row["judge"] for row in table} == {f"{by} openai:judge" for by in ("checklist", "plain", "tests")}
    idle = [row for row in table if row["harness"] == "idler" and row["status"] == "failed"]
    assert {row["score"] for row in idle} == {0.0, 0.2}

    by_item = rows(tmp_path / "scores.items.jsonl")
    assert len(by_item) == 3 * 2 * TASKS
    assert {row["checklist_item"] for row in by_item if row["scope"]} == {"only_this"}
    assert {row["asked_as"] for row in by_item if row["checklist_item"] == "greets"} == {1, 2, 3}

    assert cli.run(["halo", str(scores), "--out", str(tmp_path / "page")]) == cli.FINE
    page = (tmp_path / "page" / "report.html").read_text("utf-8")
    assert "Judges side by side" in page
    for by in ("checklist", "plain", "tests"):
        assert f"{by} openai:judge" in page


def test_the_author_never_reaches_the_judge(place: Path, tmp_path: Path, checklists: Path) -> None:
    with ChatServer(judge) as server:
        judged(place, tmp_path, server, checklists, "--by", "checklist", "--by", "plain", "--by", "tests")
        sent = [asked.raw.decode() for asked in server.asked]
    assert len(sent) > TASKS
    for name in ("m-secret", "doer", "idler", "explorer", "harness"):
        assert not [body for body in sent if name in body]
    assert all("hello {name}" not in body for body in sent), "the reference was shown"


def test_the_output_of_tests_is_shown_to_one_judge_alone(
    place: Path, tmp_path: Path, checklists: Path
) -> None:
    for by, shown in (("checklist", False), ("plain", False), ("tests", True)):
        with ChatServer(judge) as server:
            judged(place, tmp_path, server, checklists, "--by", by)
            assert any("NameError: greet" in asked.raw.decode() for asked in server.asked) is shown


def test_what_was_asked_is_never_asked_again(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(good) as server:
        assert explore(place, tmp_path, server, "--limit", "3")[0] == cli.FINE
        assert len(server.asked) == 3 * 4
        code, out = explore(place, tmp_path, server, "--limit", "3", "--dry-run")
        assert "12 calls, 12 of them in the ledger already, 0 to ask" in capsys.readouterr().out
        first = out.read_bytes()
        assert explore(place, tmp_path, server, "--limit", "3")[0] == cli.FINE
        assert len(server.asked) == 3 * 4
        assert (code, out.read_bytes()) == (cli.FINE, first)
        file = read_checklists(out)
        assert judged(place, tmp_path, server, out, "--dry-run")[0] == cli.FINE
    assert len(file.written) == 3
    assert "72 calls" not in capsys.readouterr().out


def test_a_run_that_meets_its_limit_goes_on_later(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(good) as server:
        code, out = explore(place, tmp_path, server, "--limit", "4", "--max-calls", "6")
        assert code == cli.INCOMPLETE
        assert "4 tasks not finished: --max-calls" in capsys.readouterr().out
        assert len(server.asked) == 6
        assert explore(place, tmp_path, server, "--limit", "4")[0] == cli.FINE
        assert len(server.asked) == 4 * 4
    assert len(read_checklists(out).written) == 4


@pytest.mark.parametrize(
    ("answering", "why", "detail"),
    [
        (leaves("../../etc/passwd"), "left its path", "leads out of the repository"),
        (leaves("/etc/passwd"), "left its path", "is no path inside the repository"),
        (leaves(".git/config"), "left its path", "reaches into .git"),
        (never_ends, "over budget", "more than 5 steps"),
        (invents, "evidence that does not stand there", "def greet_guest"),
    ],
)
def test_explorers_that_break_a_rule_are_refused_and_counted(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], answering: Any, why: str, detail: str
) -> None:
    with ChatServer(answering) as server:
        code, out = explore(place, tmp_path, server, "--limit", "2", "--steps", "5")
        said = capsys.readouterr().out
        assert code == cli.INCOMPLETE
        assert f"refused, {why}: 2" in said
        file = read_checklists(out)
        assert file.written == []
        assert all((one.missing_because or "").startswith(why) for one in file.checklists.values())
        if detail != "def greet_guest":
            assert detail in said
        last = rows(tmp_path / "checklists.steps.jsonl")[-1]
        assert last["fault"].startswith(why)
        asked = len(server.asked)
        code, scores = judged(place, tmp_path, server, out)
        assert len(server.asked) == asked, "nobody is asked without a checklist"
    missing = [row["missing_because"] for row in rows(scores)]
    assert sum(one.startswith(f"no checklist: {why}") for one in missing) == 4
    assert all(row["score"] is None for row in rows(scores))


def test_a_further_try_may_follow_a_refusal(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def second_time_lucky(asked: Asked) -> Says:
        first = not any(turn_of(one) == 0 for one in server.asked[: asked.number])
        if turn_of(asked) == 0 and first:
            return Says('{"tool": "read", "path": "/"}')
        return good(asked)

    with ChatServer(second_time_lucky) as server:
        code, out = explore(place, tmp_path, server, "--limit", "1", "--tries", "2")
    assert code == cli.FINE
    assert "refused, left its path: 1" in capsys.readouterr().out
    assert len(read_checklists(out).written) == 1
    assert {row["try"] for row in rows(tmp_path / "checklists.steps.jsonl")} == {0, 1}


def test_every_step_is_recorded(place: Path, tmp_path: Path, checklists: Path) -> None:
    steps = rows(tmp_path / "checklists.steps.jsonl")
    assert [step["tool"] for step in steps[:4]] == ["list", "read", "search", "write"]
    assert steps[1]["arguments"]["path"].startswith("./shop/m")
    assert steps[1]["bytes_shown"] > 30
    assert all(step["tokens"] == 22 for step in steps)


def test_only_the_commit_before_is_shown(place: Path, tmp_path: Path) -> None:
    with ChatServer(good) as server:
        explore(place, tmp_path, server)
        shown = [message["content"] for asked in server.asked for message in messages_of(asked)]
    assert any("def open_3()" in text for text in shown)
    assert not any("hello {name} from 11" in text for text in shown), (
        "the last task's solution is later history"
    )


def test_a_checklist_by_hand_is_checked_against_the_repository(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], checklists: Path
) -> None:
    header, first, *_ = rows(checklists)
    header["generator"] = {"name": "by hand"}
    given = tmp_path / "given.jsonl"

    def check(row: Mapping[str, object]) -> tuple[int, str]:
        given.write_text("".join(json.dumps(one) + "\n" for one in (header, row)))
        words = ["mine", "checklists", str(place / "tasks.jsonl"), "--given", str(given)]
        code = cli.run([*words, "--repo", str(place / "shop"), "--out", str(tmp_path / "mine.jsonl")])
        said = capsys.readouterr()
        return code, said.out + said.err

    code, said = check(first)
    assert (code, "1 checklist for 12 tasks" in said) == (cli.FINE, True)
    assert len(read_checklists(tmp_path / "mine.jsonl").generator.fingerprint) == 64
    first["items"][0]["evidence"][0]["quote"] = "def nowhere():"
    code, said = check(first)
    assert (code, "does not stand there" in said) == (cli.USAGE, True)
    first["items"][0]["wieght"] = 3
    code, said = check(first)
    assert (code, "'items.0.wieght'" in said) == (cli.USAGE, True)


def test_the_validity_suite_clears_the_scripted_judge(
    place: Path, tmp_path: Path, checklists: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "validity"
    words = ["mine", "validity", str(place / "tasks.jsonl"), str(place / "attempts.jsonl")]
    words += ["--outcomes", str(place / "outcomes.jsonl"), "--checklists", str(checklists)]
    words += ["--judge", "openai:judge", "--repo", str(place / "shop"), "--out", str(out)]
    with ChatServer(judge) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        assert cli.run([*words, "--dry-run"]) == cli.FINE
        assert not server.asked
        assert cli.run(words) == cli.FINE
    found = json.loads((out / "findings.json").read_text("utf-8"))
    rulings = {one["name"]: one["ruling"] for one in found["findings"]}
    assert [rulings[f"rubric_{arm}"] for arm in ("reference", "empty", "no_op", "unrelated")] == ["holds"] * 4
    assert rulings["rubric_repeats"] == "unresolved", "twelve tasks that stay still show too little"
    settles = {one["name"]: one["settles"] for one in found["findings"]}
    assert "further tasks" in settles["rubric_repeats"]
    assert rulings["rubric_passed"] == "holds"
    assert rulings["rubric_solve_rate"] == "unresolved", "two systems say nothing"
    assert {one["planted"] for one in found["self_checks"]} == {"valid", "blind", "random"}
    assert "Scores of patches whose worth is known" in (out / "report.html").read_text("utf-8")


def test_a_harness_without_any_score_is_said_so() -> None:
    assert _summary([{"score": None}, {"score": None}]) == "no score, 2 missing"
    assert _summary([{"score": 0.5}, {"score": None}]) == "mean 0.50 of 1 score, 1 missing"
