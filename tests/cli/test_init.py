"""`voirdire init`: example files that work as they are, and that never replace one of yours."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from voirdire.cli._main import FINE, USAGE, run
from voirdire.importers.cases import read_case
from voirdire.importers.items import read_items
from voirdire.importers.rules import read_rule
from voirdire.judges import open_judge, read_spec
from voirdire.judges._prompted import read_answer
from voirdire.model import JudgeSpec
from voirdire.probes.outcome import PROBE as OUTCOME
from voirdire.probes.position import PROBE as POSITION

EXAMPLES = ["case.toml", "items.jsonl", "judge.toml", "rule.toml"]


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    made = tmp_path / "new" / "folder"
    assert run(["init", str(made), "--schemas"]) == FINE
    capsys.readouterr()
    return made


def test_it_writes_every_example_and_says_what_is_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(tmp_path)]) == FINE
    assert sorted(path.name for path in tmp_path.iterdir()) == EXAMPLES
    shown = capsys.readouterr().out
    for name in EXAMPLES:
        assert f"wrote {tmp_path / name}\n" in shown
    assert "voirdire probe judge.toml items.jsonl --dry-run" in shown


def test_without_a_folder_it_writes_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init"]) == FINE
    assert (tmp_path / "judge.toml").exists()


@pytest.mark.parametrize("words", [[], ["--schemas"]], ids=["without", "with"])
def test_a_schema_is_named_only_where_it_is_written(words: list[str], tmp_path: Path) -> None:
    assert run(["init", str(tmp_path), *words]) == FINE
    for path in tmp_path.glob("*.toml"):
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        assert first.startswith("#")
        named = first.removeprefix("#:schema ") if first.startswith("#:schema ") else None
        assert (named is not None) == bool(words)
        assert named is None or (tmp_path / named).is_file()


def test_a_file_that_is_there_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "judge.toml"
    mine.write_text("mine")
    assert run(["init", str(tmp_path), "--json"]) == FINE
    assert mine.read_text() == "mine"
    told = json.loads(capsys.readouterr().out)
    assert told["kept"] == ["judge.toml"]
    assert told["written"] == [name for name in EXAMPLES if name != "judge.toml"]


def test_a_second_run_writes_nothing_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(tmp_path)]) == FINE
    assert run(["init", str(tmp_path)]) == USAGE
    told = capsys.readouterr().err
    assert "every file is there already" in told
    assert "name another folder, or remove the file" in told


def test_a_file_in_the_place_of_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "here").write_text("")
    assert run(["init", str(tmp_path / "here")]) == USAGE
    assert "is a file, not a folder" in capsys.readouterr().err


# --- the files work ---------------------------------------------------------------------------------


def test_the_judge_opens_and_is_asked_about_the_items(folder: Path) -> None:
    spec = read_spec(str(folder / "judge.toml"))
    judge = open_judge(spec)
    for item in read_items(folder / "items.jsonl"):
        body = json.loads(judge.render(POSITION.contrast(item).variant).body)
        assert item["response_a"] in body["messages"][-1]["content"]
        assert POSITION.control_contrast(item).part == "response_a"
    assert read_answer("first", judge.asking)[POSITION.question].value == "first"
    assert read_answer("Tie.", judge.asking)[POSITION.question].value == "tie"
    assert read_answer("The first, I think", judge.asking)[POSITION.question].value is None


def test_the_items_know_which_answer_is_better(folder: Path) -> None:
    labels = [item.truth.label for item in read_items(folder / "items.jsonl") if item.truth]
    assert sorted(filter(None, labels)) == ["a", "b"]


def test_the_case_is_proved_and_asked_about(folder: Path) -> None:
    item = read_case(folder / "case.toml").item()
    assert OUTCOME.contrast(item).variant["outcome"] != item["outcome"]
    assert "make links" in OUTCOME.control_contrast(item).variant["log"]
    assert "make links" not in item["log"]


def test_the_rule_brings_items_and_a_probe(folder: Path) -> None:
    items, probe = read_rule(folder / "rule.toml")
    assert items
    for item in items:
        assert probe.contrast(item).part == probe.part
        assert probe.control_contrast(item).part == probe.control.part


@pytest.mark.parametrize("name", ["judge", "case", "rule"])
def test_an_example_is_valid_by_its_published_schema(folder: Path, name: str) -> None:
    schema = json.loads((folder / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
    text = (folder / f"{name}.toml").read_text(encoding="utf-8")
    jsonschema.validate(tomllib.loads(text), schema)
    assert text.startswith(f"#:schema ./schemas/{name}.schema.json\n")


def test_every_line_of_the_items_is_valid_by_their_schema(folder: Path) -> None:
    schema = json.loads((folder / "schemas" / "items.schema.json").read_text(encoding="utf-8"))
    for line in (folder / "items.jsonl").read_text(encoding="utf-8").splitlines():
        jsonschema.validate(json.loads(line), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"id": "a", "parts": {"task": 1}}, schema)


def test_every_commented_key_of_the_judge_file_is_one(folder: Path, tmp_path: Path) -> None:
    """Taking the `# ` away from any commented setting leaves a judge file that can be read."""
    lines = (folder / "judge.toml").read_text(encoding="utf-8").splitlines()
    body = lines.index(
        'backend = "openai"            # any OpenAI-compatible server; also local, python, command, recorded, planted'
    )
    tried = 0
    for number, line in enumerate(lines):
        key = line.removeprefix("# ").partition(" = ")[0]
        if number < body or not line.startswith("# ") or key not in JUDGE_KEYS:
            continue
        tried += 1
        path = tmp_path / f"{tried}.toml"
        path.write_text(
            "\n".join([*lines[:number], line.removeprefix("# "), *lines[number + 1 :]]), encoding="utf-8"
        )
        assert isinstance(read_spec(str(path)), JudgeSpec)
    assert tried == len(JUDGE_KEYS)


JUDGE_KEYS = {"name", "base_url", "key_env", "price_in", "price_out", "context", "max_tokens", "seed"}
