"""`voirdire probe` as a user runs it: a judge file with its own prompt, a Python function, a program, and wrong input."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli._program import ROOT, Done, voirdire
from tests.loopback.chat_server import Asked, ChatServer, Says
from voirdire.cli import run
from voirdire.importers.items import write_items
from voirdire.model import Item

PAIRS = 16


def pairs() -> list[Item]:
    """Return pairs in which `good` is better; half of them on either side."""
    return [
        Item(
            f"pair-{k}",
            {
                "task": f"Add {k} and 2.",
                "response_a": f"good: {k + 2}" if k % 2 else "poor: many",
                "response_b": "poor: many" if k % 2 else f"good: {k + 2}",
                "order": "ab",
            },
        )
        for k in range(PAIRS)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an item file in it."""
    write_items(pairs(), tmp_path / "items.jsonl")
    return tmp_path


def position(done: Done) -> dict[str, Any]:
    assert done.code == 0, done.err
    return done.finding("position", "judge")


# --- judges of one's own ----------------------------------------------------------------------------------

JUDGE_FILE = """
backend = "openai"
model = "scripted-model"
name = "my judge"

[prompt]
system = "You are strict."
user = \"\"\"
Task: {{task}}
One: {{first}}
Two: {{second}}
First line: VERDICT first, VERDICT second or VERDICT tie.\"\"\"

[[question]]
id = "better"
kind = "choice"
text = "Which is better?"
options = ["first", "second", "tie"]

[reader]
name = "first_line"
labels = { better = "VERDICT" }

[rule.position]
text = "Is the order of two answers of any weight to you?"
negated = "Is the order of two answers of no weight to you?"
"""


def first_slot(asked: Asked) -> Says:
    """Prefer the first answer always; of one pair say so in another form than the one asked for."""
    if "weight to you" in asked.text:
        return Says("no" if "any weight" in asked.text else "yes")
    form = "I prefer the first.\n" if "Add 3 and 2" in asked.text else ""
    return Says(f"{form}VERDICT first\nIt came first.")


def test_a_judge_file_with_its_own_prompt_reader_and_rule_wording(folder: Path) -> None:
    (folder / "judge.toml").write_text(JUDGE_FILE, encoding="utf-8")
    with ChatServer(first_slot) as server:
        done = voirdire("probe", "judge.toml", "items.jsonl", folder=folder, url=server.url)
        prompts = [asked.text for asked in server.asked if "One:" in asked.text]
    finding = position(done)
    assert finding["ruling"] == "leaks"
    assert finding["estimate"]["value"] == 1.0
    assert finding["estimate"]["missing"] == {"base": 1, "variant": 1}
    assert finding["rule"]["permits"] is False
    assert len(prompts) == 3 * PAIRS
    assert all(text.startswith("Task: Add ") and text.endswith("or VERDICT tie.") for text in prompts)
    assert done.findings["judges"][0]["name"] == "my judge"


PYTHON_JUDGE = '''
def score(task, first, second):
    """Prefer the good answer, wherever it stands."""
    return "first" if first.startswith("good") and not second.startswith("good") else "second"
'''


def test_a_python_function_is_a_judge_without_any_file_about_it(folder: Path) -> None:
    (folder / "judge.py").write_text(PYTHON_JUDGE, encoding="utf-8")
    finding = position(voirdire("probe", "judge.py:score", "items.jsonl", folder=folder))
    assert finding["estimate"]["value"] == 0.0
    assert finding["rule"]["permits"] is None


PROGRAM = """
import json, sys

for line in sys.stdin:
    call = json.loads(line)
    parts = call["parts"]
    answer = "first" if parts.get("first", "").startswith("good") else "second"
    if not parts:
        answer = "no" if "May your choice" in call["messages"][-1][1] else "yes"
    question = call["questions"][0]["id"]
    print(json.dumps({"id": call["id"], "answers": {question: {"value": answer}}}), flush=True)
"""


def test_a_program_is_a_judge(folder: Path) -> None:
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    finding = position(voirdire("probe", "command:python3 program.py", "items.jsonl", folder=folder))
    assert finding["estimate"]["value"] == 0.0
    assert finding["rule"]["permits"] is False


def test_a_rule_file_makes_a_probe_of_its_own(folder: Path) -> None:
    shutil.copy(ROOT / "examples/rules/seniority.toml", folder / "rule.toml")

    def impressed(asked: Asked) -> Says:
        if "Two people did exactly the same work" in asked.text:
            return Says("no" if "depend on that" in asked.text else "yes")
        return Says("SCORE 9" if "principal engineer" in asked.text else "SCORE 5")

    with ChatServer(impressed) as server:
        done = voirdire("probe", "openai:scripted-model", "rule.toml", folder=folder, url=server.url)
    assert done.code == 0
    general = done.finding("seniority", "judge")
    assert (general["ruling"], general["estimate"]["value"]) == ("leaks", 1.0)
    assert "breaks the judge's own stated rule" in general["sentence"]


# --- asked wrongly ----------------------------------------------------------------------------------------

HEADER = '{"schema": "voirdire.items/1"}\n'


def bad_files(folder: Path) -> None:
    """Write every file that the wrong commands below name."""
    shutil.copy(ROOT / "examples/rules/seniority.toml", folder / "rule.toml")
    item = json.dumps({"id": "a", "parts": {"task": "x", "first": "y", "second": "z"}})
    (folder / "twice.jsonl").write_text(f"{HEADER}{item}\n{item}\n", encoding="utf-8")
    (folder / "empty.jsonl").write_text("", encoding="utf-8")
    (folder / "header.jsonl").write_text(HEADER, encoding="utf-8")
    (folder / "cut.jsonl").write_text(HEADER + item[:20], encoding="utf-8")
    (folder / "latin.jsonl").write_bytes(f"{HEADER}{item}\n".replace("x", "é").encode("latin-1"))
    (folder / "answer.jsonl").write_text(
        f'{HEADER}{{"id": "a", "parts": {{"answer": "x"}}}}\n', encoding="utf-8"
    )
    (folder / "judge.py").write_text("def other():\n    return 1\n", encoding="utf-8")
    (folder / "broken.py").write_text("def score(:\n", encoding="utf-8")
    shutil.copy(ROOT / "src/voirdire/data/init/case.toml", folder / "case.toml")
    (folder / "judge.toml").write_text(JUDGE_FILE, encoding="utf-8")
    (folder / "winner.toml").write_text(JUDGE_FILE.replace("better", "winner"), encoding="utf-8")
    (folder / "slots.toml").write_text(JUDGE_FILE.replace('"first", "second"', '"A", "B"'), encoding="utf-8")
    (folder / "hides.toml").write_text(JUDGE_FILE.replace("Two: {{second}}", ""), encoding="utf-8")
    (folder / "brace.toml").write_text(JUDGE_FILE.replace("{{second}}", "{{second}"), encoding="utf-8")
    pair, equal = {"task": "x", "order": "ab"}, {"response_a": "y", "response_b": "y"}
    lines: dict[str, list[dict[str, object]]] = {
        "equal": [{"id": "e", "parts": {**pair, **equal}}],
        "order": [{"id": "o", "parts": {**pair, **equal, "response_b": "z", "order": "zz"}}],
        "lacks": [
            {"id": "whole", "parts": {**pair, **equal, "response_b": "z"}},
            {"id": "half", "parts": {**pair, "response_a": "y"}},
        ],
        "copies": [{"id": name, "parts": {**pair, **equal, "response_b": "z"}} for name in ("a", "b")],
    }
    for name, items in lines.items():
        text = HEADER + "".join(json.dumps(each) + "\n" for each in items)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


JUDGE = "openai:scripted-model"

WRONG = {
    ("probe", JUDGE, "twice.jsonl"): ("twice.jsonl:3: the id 'a' is taken by line 2", "an id of its own"),
    ("probe", JUDGE, "empty.jsonl"): ("empty.jsonl: the file is empty", "voirdire.items/1"),
    ("probe", JUDGE, "header.jsonl"): ("the files hold no items", "one item"),
    ("probe", JUDGE, "cut.jsonl"): ("cut.jsonl:2", ""),
    ("probe", JUDGE, "latin.jsonl"): ("is not UTF-8", "save the file as UTF-8"),
    ("probe", JUDGE, "nosuch.jsonl"): ("nosuch.jsonl: there is no such file", "check the path"),
    ("probe", JUDGE, "answer.jsonl"): ("no probe fits items with the parts answer", "voirdire list probes"),
    ("probe", JUDGE, "answer.jsonl", "--probe", "position"): ("'answer'", ""),
    ("probe", JUDGE, "--probe", "nosuch"): ("there is no probe 'nosuch'", "position"),
    ("probe", JUDGE, "rule.toml", "twice.jsonl"): ("goes alone", "without further files"),
    ("probe", JUDGE, "rule.toml", "--probe", "position"): ("goes alone", "without --probe"),
    ("probe", "judge.py:score"): ("no function 'score'", ""),
    ("probe", "broken.py:score"): ("broken.py", ""),
    ("probe", "nosuch.py:score"): ("there is no file", "path to a Python file"),
    ("probe", JUDGE, "--repeats", "0"): ("--repeats", "--help"),
    ("probe", JUDGE, "--max-cost", "1"): ("at no known price", "at the top of the judge file"),
    ("probe", JUDGE, "case.toml"): ("'case.toml' is a case file", "voirdire outcome JUDGE case.toml"),
    ("probe", JUDGE, "judge.toml"): ("'judge.toml' is a judge file", "voirdire probe judge.toml ITEMS"),
    ("probe", JUDGE, "nosuch.toml"): ("there is no file 'nosuch.toml'", "check the path"),
    ("probe", "winner.toml"): (
        "compares the question 'better', but the judge answers winner",
        "the id better",
    ),
    ("probe", "slots.toml"): ("no option 'first' or 'second', only A, B, tie", "first, second, tie"),
    ("probe", "hides.toml"): ("does not see 'second'", "{{second}}"),
    ("probe", "brace.toml"): ("brace.toml: [prompt] user, line 3: '{{second}' lacks a brace", "{{second}}"),
    ("probe", JUDGE, "equal.jsonl"): ("item 'e': its two responses are equal", "remove it"),
    ("probe", JUDGE, "order.jsonl"): ("order is 'zz'", "use 'ab' or 'ba'"),
    ("probe", JUDGE, "lacks.jsonl"): (
        "fits all but 1 of 2 items: 'half' has no part 'response_b'",
        "leave the item out",
    ),
    ("probe", JUDGE, "copies.jsonl"): ("item 'b' is a copy of 'a'", "made by --repeats"),
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
        assert code == 2, said
        assert message in said.partition("\n  hint: ")[0]
        assert hint in said.partition("\n  hint: ")[2]
        assert "\n  hint: " in said
        assert "Traceback" not in said
        assert server.asked == []
    assert not (tmp_path / "voirdire-out").exists()
