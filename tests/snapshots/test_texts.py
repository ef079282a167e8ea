"""Help texts and error messages as people read them."""

from pathlib import Path

import pytest

from tests.snapshots._compare import matches
from tools.docs import help_text
from voirdire import plugins
from voirdire.cli._main import overview, run


def test_the_overview() -> None:
    matches("help/voirdire.txt", overview() + "\n")


@pytest.mark.parametrize("name", plugins.names("cli"))
def test_the_help_of_a_command(name: str) -> None:
    matches(f"help/{name}.txt", help_text(name) + "\n")


WRONG_ITEMS = {
    "empty": "",
    "header-missing": '{"id": "a", "parts": {"task": "x"}}\n',
    "cut-off": '{"schema": "voirdire.items/1"}\n{"id": "a", "parts": {"ta',
    "not-a-string": '{"schema": "voirdire.items/1"}\n{"id": "a", "parts": {"task": null}}\n',
    "twice": '{"schema": "voirdire.items/1"}\n' + '{"id": "a", "parts": {"task": "x"}}\n' * 2,
}


def test_messages_about_item_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from voirdire.cli._main import told
    from voirdire.errors import VoirdireError
    from voirdire.importers.items import read_items

    monkeypatch.chdir(tmp_path)
    said = []
    for name, content in WRONG_ITEMS.items():
        Path(f"{name}.jsonl").write_text(content, encoding="utf-8")
        with pytest.raises(VoirdireError) as caught:
            read_items(Path(f"{name}.jsonl"))
        said.append(told(caught.value))
    matches("messages/items.txt", "\n\n".join(said) + "\n")


WRONG_WORDS = (
    ["lisst"],
    ["--jsn"],
    ["list", "attics"],
    ["list", "--jsn"],
    ["export"],
    ["export", "answers.xlsx"],
    ["export", "answers.csv", "--ledger", "none.sqlite"],
)


def test_messages_about_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = []
    for words in WRONG_WORDS:
        code = run(words)
        said.append(f"$ voirdire {' '.join(words)}\n{capsys.readouterr().err}exit {code}\n")
    matches("messages/command-line.txt", "\n".join(said))
