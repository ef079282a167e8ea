"""`voirdire baseline` and `voirdire check` as a user runs them: exit codes, files, what is asked again."""

import json
import shutil
import xml.etree.ElementTree as ET
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli._program import ROOT, started, voirdire
from tests.cli._program import ended as ended_process
from tests.cli.test_probe import pairs
from tests.loopback.chat_server import Asked, ChatServer, Says
from voirdire.cli import run
from voirdire.importers.items import write_items

PUBLISHED = json.loads((files("voirdire") / "data/schemas/check.schema.json").read_text(encoding="utf-8"))

JUDGE = '''
def score(task, first, second):
    """Prefer the good answer, wherever it stands."""
    return "{first}" if first.startswith("good") and not second.startswith("good") else "{second}"
'''
FAIR = JUDGE.format(first="first", second="second")
SLOT = JUDGE.format(first="first", second="first")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with items, a judge that holds, and its baseline."""
    path = tmp_path_factory.mktemp("prepared")
    write_items(pairs(), path / "items.jsonl")
    (path / "judge.py").write_text(FAIR, encoding="utf-8")
    for words in (["probe", "judge.py:score", "items.jsonl", "--out", "before"], ["baseline", "before"]):
        assert voirdire(*words, folder=path).code == 0
    return path


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the prepared folder, and the present one."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def judge(source: str) -> None:
    Path("judge.py").write_text(source, encoding="utf-8")


def check(*words: str) -> tuple[int, dict[str, Any]]:
    """Run the check and return its exit code and what stands in check.json."""
    code = run(["check", "voirdire-baseline.json", *words, "--out", "now"])
    data: dict[str, Any] = json.loads(Path("now/check.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(PUBLISHED).validate(data)
    return code, data


def test_an_unchanged_judge_passes_and_asks_nobody_again(folder: Path) -> None:
    code, data = check("judge.py:score", "items.jsonl")
    assert (code, data["verdict"]) == (0, "passed")
    assert [one["change"] for one in data["findings"]] == ["same"]
    assert "nobody was asked anew" in " ".join(data["notes"])
    assert (folder / "now" / "report.html").exists()


def test_a_judge_that_got_worse_fails_and_every_file_says_so(folder: Path) -> None:
    judge(SLOT)
    code, data = check("judge.py:score", "items.jsonl")
    assert (code, data["verdict"]) == (1, "failed")
    assert [one["kind"] for one in data["changed"]] == ["judge model"]
    assert (data["findings"][0]["before"], data["findings"][0]["now"]) == ("unresolved", "leaks")
    suite = ET.parse(folder / "now" / "junit.xml").getroot()[0]
    assert suite.attrib["failures"] == "1"
    assert "worse beyond noise: position" in (folder / "now" / "summary.md").read_text("utf-8")


def test_a_changed_judge_fails_without_a_new_examination_and_passes_with_one(folder: Path) -> None:
    judge(f"# another text, another judge\n{FAIR}    # the same rule\n")
    assert check("judge.py:score", "--identity")[0] == 1
    assert check("judge.py:score", "before")[0] == 1
    assert run(["probe", "judge.py:score", "items.jsonl", "--out", "after"]) == 0
    assert check("judge.py:score", "after")[0] == 0
    assert check("after/findings.json")[0] == 0


def test_a_changed_item_is_another_item(folder: Path) -> None:
    changed = [pairs()[0].with_part("task", "Add 0 and 3."), *pairs()[1:]]
    write_items(changed, folder / "items.jsonl")
    code, data = check("judge.py:score", "items.jsonl")
    assert (code, data["verdict"]) == (3, "incomplete")
    assert data["findings"][0]["lacking"] == ["pair-0"]
    assert data["findings"][0]["differences"][0]["n"] == 15


def test_a_run_that_its_limit_stopped_is_incomplete(folder: Path) -> None:
    judge(SLOT)
    code, data = check("judge.py:score", "items.jsonl", "--max-calls", "20")
    assert (code, data["verdict"]) == (3, "incomplete")
    assert "--max-calls" in " ".join(data["gaps"])


def test_a_dry_run_says_what_it_takes_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge(SLOT)
    assert (
        run(["check", "voirdire-baseline.json", "judge.py:score", "items.jsonl", "--dry-run", "--out", "now"])
        == 0
    )
    assert "plan: " in capsys.readouterr().out
    assert not (folder / "now").exists()


def test_json_is_all_that_stands_on_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["check", "voirdire-baseline.json", "judge.py:score", "items.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "passed"
    assert run(["baseline", "before", "--json", "--out", "other.json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "voirdire.baseline/1"


def test_a_case_study_is_asked_again_with_its_shipped_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["outcome", "planted:fair", "coding-copy-check", "--repeats", "4", "--out", "before"]
    from voirdire.importers.cases import short_cases

    words[2] = short_cases()[0]
    assert run(words) == 0
    assert run(["baseline", "before"]) == 0
    code, data = check("planted:fair", "--repeats", "4")
    assert (code, data["verdict"]) == (0, "passed")
    assert {one["subject"] for one in data["findings"]} == {short_cases()[0], "judge"}


def test_a_rule_file_is_asked_again_when_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rule = str(ROOT / "examples/rules/seniority.toml")
    assert run(["probe", "planted:noisy", rule, "--repeats", "3", "--out", "before"]) == 0
    assert run(["baseline", "before"]) == 0
    assert check("planted:noisy", rule, "--repeats", "3")[0] == 0


def test_another_served_snapshot_is_seen_once_the_judge_was_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def good(asked: Asked) -> Says:
        if "First answer:" not in asked.text:
            return Says("no" if "May your choice" in asked.text else "yes")
        return Says("first" if "First answer:\ngood" in asked.text else "second")

    monkeypatch.setenv("OPENAI_API_KEY", "dummy")
    words = ["probe", "openai:scripted-model", "items.jsonl"]
    with ChatServer(good) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert run([*words, "--out", "old", "--ledger", "a.sqlite"]) == 0
        assert run(["baseline", "old"]) == 0
        baseline = json.loads(Path("voirdire-baseline.json").read_text("utf-8"))
        baseline["served"] = {"older-snapshot": 50}
        baseline["identity"]["served snapshot"] = ["older-snapshot"]
        Path("voirdire-baseline.json").write_text(json.dumps(baseline), encoding="utf-8")
        code, data = check("openai:scripted-model", "items.jsonl", "--ledger", "b.sqlite")
    assert code == 0
    assert [one["kind"] for one in data["changed"]] == ["served snapshot"]
    assert data["changed"][0]["lines"][0] == "-older-snapshot"


def test_a_check_that_is_stopped_is_incomplete(folder: Path) -> None:
    import signal
    import time

    def slow(asked: Asked) -> Says:
        time.sleep(0.05)
        return Says("first" if "First answer:" in asked.text else "yes")

    with ChatServer(slow) as server:
        words = (
            "check",
            "voirdire-baseline.json",
            "openai:scripted-model",
            "items.jsonl",
            "--concurrency",
            "1",
        )
        process = started(*words, folder=folder, url=server.url)
        while len(server.asked) < 5:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        done = ended_process(process, folder)
    assert done.code == 3, done.err
    assert json.loads((folder / "voirdire-out/check.json").read_text("utf-8"))["verdict"] == "incomplete"


# --- anchors --------------------------------------------------------------------------------------------


def anchors(*, drifted: bool) -> str:
    rows = [f"a{k},{run},{5 + (drifted and run >= 10)}" for run in range(20) for k in range(3)]
    return "\n".join(["item,time,value", *rows]) + "\n"


@pytest.mark.parametrize(("drifted", "code"), [(False, 0), (True, 1)])
def test_anchors_have_a_chart_and_an_exit_code(
    drifted: bool, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "anchors.csv").write_text(anchors(drifted=drifted), encoding="utf-8")
    assert run(["check", "--anchors", "anchors.csv"]) == code
    data = json.loads((tmp_path / "voirdire-out/check.json").read_text("utf-8"))
    assert data["drift"][0]["rang"] is drifted
    assert "<svg" in (tmp_path / "voirdire-out/drift/report.html").read_text("utf-8")


def test_an_alarm_fails_a_check_that_would_pass(folder: Path) -> None:
    (folder / "anchors.csv").write_text(anchors(drifted=True), encoding="utf-8")
    code, data = check("judge.py:score", "items.jsonl", "--anchors", "anchors.csv")
    assert (code, data["findings"][0]["change"]) == (1, "same")


def test_the_findings_of_several_runs_are_anchors(folder: Path) -> None:
    findings = json.loads((folder / "before/findings.json").read_text("utf-8"))
    names = []
    for week in range(1, 5):
        name = f"week-{week}.json"
        (folder / name).write_text(
            json.dumps({**findings, "made": f"2026-09-0{week}T00:00:00+00:00"}), "utf-8"
        )
        names += ["--anchors", name]
    assert run(["check", *names, "--out", "now"]) == 0
    drift = json.loads((folder / "now/check.json").read_text("utf-8"))["drift"]
    assert [(one["runs"], one["anchors"]) for one in drift] == [(4, 16)]
    assert run(["check", "--anchors", "before", "--anchors", "before"]) == 2


# --- asked wrongly --------------------------------------------------------------------------------------

WRONG: dict[tuple[str, ...], tuple[str, str]] = {
    ("check",): ("nothing to check", "voirdire check BASELINE JUDGE"),
    ("check", "voirdire-baseline.json"): ("0 findings files and no judge", "give one findings.json"),
    ("check", "voirdire-baseline.json", "before", "now.json"): ("2 findings files and no judge", "give one"),
    ("check", "voirdire-baseline.json", "before", "--identity"): (
        "1 findings file and no judge",
        "--identity",
    ),
    ("check", "before/findings.json", "judge.py:score"): ("is no baseline", "voirdire baseline DIR"),
    ("check", "none.json", "judge.py:score"): ("none.json", ""),
    ("check", "voirdire-baseline.json", "voirdire-baseline.json"): ("not a findings file", "findings.json"),
    ("check", "voirdire-baseline.json", "judge.py:score"): (
        "none of the 16 items of 'position'",
        "name the files",
    ),
    ("check", "voirdire-baseline.json", "judge.py:other", "items.jsonl"): ("no function 'other'", ""),
    ("check", "--anchors", "none.csv"): ("there is no file 'none.csv'", "check the path"),
    ("baseline", "nowhere"): ("nowhere", "findings.json"),
    ("baseline", "before", "--judge", "nobody"): ("'nobody' names 0 judges", "judge.py:score"),
    ("baseline", "before", "--out", "none/b.json"): ("cannot write into none", "--out"),
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_a_wrong_command_says_what_is_wrong_and_what_to_do(
    words: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    code = run(list(words))
    said = capsys.readouterr().err
    message, hint = WRONG[words]
    assert code == 2, said
    assert message in said
    assert hint in said.partition("\n  hint: ")[2]
    assert "Traceback" not in said
    assert not (folder / "voirdire-out").exists()
