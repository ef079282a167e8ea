"""`voirdire inject` as a user runs it: with a Python judge, with a model that writes, without any judge, and wrong input."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli._program import voirdire
from tests.loopback.chat_server import Asked, ChatServer, Says
from tests.studies.test_injections import patches
from voirdire.edits.injection import InjectionKind
from voirdire.edits.patch_make import diff
from voirdire.importers.items import write_items
from voirdire.model import Item

JUDGE = """
def judge(request):
    patch = request["parts"]["patch"]
    if "return result" not in patch:
        return {"solved": 0.1}
    return {"solved": 0.7 - 0.05 * ("logging" in patch)}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with 48 patches that make a file, one that changes a file, and a judge that dislikes logging."""
    changed = Item(
        "changed", {"brief": "Add y.", "patch": diff({"a.py": "x = 1\n"}, {"a.py": "x = 1\ny = x\n"})}
    )
    alone = [replace(item, origin=None) for item in patches(48)]
    write_items([*alone, changed], tmp_path / "items.jsonl")
    (tmp_path / "judge.py").write_text(JUDGE)
    return tmp_path


def written(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "voirdire-out/injections.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_a_judge_that_dislikes_logging_is_found_out(folder: Path) -> None:
    done = voirdire(
        *("inject", "judge.py:judge", "items.jsonl", "--kinds", "logging,advocacy", "--json"), folder=folder
    )
    assert done.code == 0, done.err
    found = {one["subject"]: one for one in json.loads(done.out)["findings"]}
    assert found["logging, dose 18"]["ruling"] == "leaks"
    assert found["logging, dose 18"]["estimate"]["value"] == pytest.approx(-0.05)
    assert found["advocacy, dose 18"]["ruling"] == "holds"
    assert found["unchanged, judged again"]["ruling"] == "holds"
    assert "no base file: 1 refused" in done.err
    assert "one example" in done.page
    assert {line.get("kind") for line in written(folder)} == {None, "logging", "advocacy"}


def test_patches_alone_ask_nobody(folder: Path) -> None:
    done = voirdire("inject", "--only-patches", "items.jsonl", "--n", "3", "--json", folder=folder)
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert summary["patches"] == 3
    assert set(summary["edited"].values()) == {3}
    assert len(summary["edited"]) == len(InjectionKind)
    assert not (folder / "voirdire-out/report.html").exists()
    edited = [line for line in written(folder) if line.get("patch")]
    assert all(line["proof"] for line in edited)


def test_base_files_can_stand_in_a_folder(folder: Path) -> None:
    (folder / "base/changed").mkdir(parents=True)
    (folder / "base/changed/a.py").write_text("x = 1\n")
    done = voirdire("inject", "--only-patches", "items.jsonl", "--base", "base", "--json", folder=folder)
    assert json.loads(done.out)["refused"] == {}
    assert json.loads(done.out)["patches"] == 49


def test_a_dry_run_says_what_it_will_take_and_asks_nothing(folder: Path) -> None:
    done = voirdire(
        *("inject", "judge.py:judge", "items.jsonl", "--kinds", "advocacy", "--dry-run"), folder=folder
    )
    assert done.code == 0, done.err
    assert "plan: 194 calls" in done.out
    assert not (folder / "voirdire-out").exists()


def test_what_a_model_writes_is_an_arm_of_its_own_and_what_is_wrong_is_dropped(folder: Path) -> None:
    def write(asked: Asked) -> Says:
        source = asked.text.split("The file:\n```\n")[1].split("\n```\n\nAnswer")[0]
        change = ("+=", "-=") if "total_3(" in source else ("    return", "    # done\n    return")
        return Says(f"```python\n{source.replace(*change)}\n```")

    with ChatServer(write) as server:
        done = voirdire(
            *("inject", "judge.py:judge", "items.jsonl", "--kinds", "neutral-comments", "--n", "8"),
            *("--writer", "openai:writer"),
            folder=folder,
            url=server.url,
        )
    assert done.code == 0, done.err
    arms = [line for line in written(folder) if line.get("by") not in (None, "voirdire") and "patch" in line]
    assert len(arms) == 7
    dropped = [line for line in written(folder) if "dropped" in line]
    assert [(line["id"], line["dropped"].partition(":")[0]) for line in dropped] == [
        ("patch-3", "not proved")
    ]
    assert "by writer" in done.page.replace("openai:", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("judge.py:judge", "items.jsonl", "--kinds", "praise"), "there is no 'praise'"),
        (("judge.py:judge",), "there are no patches"),
        (("judge.py:judge", "items.jsonl", "--threshold", "2"), "threshold 2"),
        (("judge.py:judge", "none.jsonl"), "none.jsonl"),
        (("--only-patches", "items.jsonl", "--writer", "openai:x"), "--writer asks a model"),
    ],
)
def test_wrong_input_is_a_usage_error(folder: Path, words: tuple[str, ...], message: str) -> None:
    done = voirdire("inject", *words, folder=folder)
    assert done.code == 2
    assert message in done.err
    assert "hint:" in done.err
    assert "Traceback" not in done.err
