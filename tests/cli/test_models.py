"""`voirdire models`: what there is, and getting one."""

import hashlib
import json
from pathlib import Path

import pytest

from tests.judges._file_server import FileServer
from voirdire.cli._cache import models_folder, with_models_folder
from voirdire.cli._main import FINE, INCOMPLETE, USAGE, run
from voirdire.judges import read_spec

CONTENT = b"GGUF" + b"weights" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VOIRDIRE_CACHE", str(tmp_path))
    return tmp_path / "models"


def test_the_list_says_size_licence_and_whether_it_is_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "list"]) == FINE
    shown = capsys.readouterr().out
    assert "smollm2-135m        145 MB, Apache-2.0, not in the cache" in shown
    assert f"models folder: {folder}" in shown
    assert not folder.exists()


def test_the_list_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "list", "--json"]) == FINE
    told = json.loads(capsys.readouterr().out)
    assert told["folder"] == str(folder)
    assert [model["address"] for model in told["models"]] == [
        "local:smollm2-135m",
        "local:qwen2.5-coder-1.5b",
    ]


def test_a_url_with_its_hash_becomes_a_name_in_the_list(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FileServer(CONTENT).running() as server:
        assert run(["models", "get", server.url, "--sha256", SHA256, "--name", "mine"]) == FINE
        said = capsys.readouterr()
        assert f"getting mine from {server.url}" in said.err
        assert said.out == f"mine verified and kept: {folder / 'mine.gguf'}\n"
        assert run(["models", "get", "mine", "--json"]) == FINE
    told = json.loads(capsys.readouterr().out)
    assert (told["fetched"], told["there"], told["sha256"]) == (False, True, SHA256)
    assert len(server.asked) == 1
    run(["models", "list"])
    assert "licence not stated, in the cache" in capsys.readouterr().out


def test_a_url_with_a_wrong_hash_is_neither_kept_nor_remembered(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FileServer(CONTENT).running() as server:
        assert run(["models", "get", server.url, "--sha256", "5" * 64, "--name", "mine"]) == INCOMPLETE
    assert SHA256 in capsys.readouterr().err
    assert run(["models", "get", "mine"]) == USAGE
    assert not list(folder.glob("mine*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["get"], "which model?"),
        (["get", "nope"], "there is no model 'nope'"),
        (["get", "https://example.org/a.gguf"], "a URL needs the SHA-256"),
        (["get", "smollm2-135m", "--name", "other"], "--sha256 and --name belong to a URL"),
        (["get", "https://e.org/a", "--sha256", "x", "--name", "a"], "'x' is not a SHA-256"),
        (["list", "smollm2-135m"], "takes no model"),
    ],
)
def test_what_cannot_be_asked(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", *words]) == USAGE
    assert message in capsys.readouterr().err


def test_only_the_cache_folder_is_looked_in(folder: Path) -> None:
    assert models_folder() == folder
    assert with_models_folder(read_spec("local:smollm2-135m")).options == {"cache": str(folder)}
    assert with_models_folder(read_spec("planted:fair")).options == {}
