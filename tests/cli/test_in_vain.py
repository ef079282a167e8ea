"""Runs that got nothing: nobody answered, or nothing could be read. The user must be told where he looks."""

import html
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli._program import Done, voirdire
from tests.cli.test_probe import pairs
from tests.loopback.chat_server import Asked, ChatServer, Plain, Says
from voirdire.importers.items import write_items

JUDGE = "openai:scripted-model"
PATIENCE = 30.0
"""Seconds that a run may take which gets nothing, on a busy machine; it took minutes where every call was tried eight times."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_items(pairs()[:4], tmp_path / "items.jsonl")
    return tmp_path


def partial(done: Done) -> str:
    """Return why the run is partial, after a look that exit code, terminal, JSON and page say so."""
    assert done.code == 3, done.err
    reason = str(done.findings["account"]["partial"])
    assert f"partial: {reason}." in " ".join(done.out.split())
    assert reason in html.unescape(done.page)
    assert f"hint: `voirdire doctor {JUDGE}`" in done.out
    return reason


@pytest.mark.parametrize(
    ("answering", "why"),
    [
        (lambda _: Plain(status=500), "server error (500)"),
        (
            lambda _: Plain(body=b"<html>hello</html>", content_type="text/html"),
            "not a chat completion: an HTML page",
        ),
        (lambda _: Plain.error(429), "rate limit (429)"),
    ],
    ids=["500", "html", "429"],
)
def test_a_server_that_never_answers_is_noticed_soon(
    answering: Callable[[Asked], Plain], why: str, folder: Path
) -> None:
    began = time.monotonic()
    with ChatServer(answering) as server:
        done = voirdire("probe", JUDGE, "items.jsonl", folder=folder, url=server.url)
    assert time.monotonic() - began < PATIENCE
    assert re.fullmatch(re.escape(f"no call was answered: {why}") + r" \(\d+ tried\)", partial(done))
    assert "$0.00" not in done.page


def test_nobody_there_is_named_with_the_address(folder: Path) -> None:
    with ChatServer() as server:
        gone = server.url
    done = voirdire("probe", JUDGE, "items.jsonl", folder=folder, url=gone)
    address = gone.removeprefix("http://").removesuffix("/v1")
    assert f"no call was answered: no connection to {address}: " in partial(done)


def test_answers_that_the_reader_never_reads_are_told_with_their_reasons(folder: Path) -> None:
    def prose(asked: Asked) -> Says:
        rule = "first" not in asked.text
        return Says("no" if rule else "I prefer the former, on the whole.")

    with ChatServer(prose) as server:
        done = voirdire("probe", JUDGE, "items.jsonl", folder=folder, url=server.url)
    assert re.match(r"(\d+) of \1 answers could not be read: .+ \(\1\)$", partial(done))
