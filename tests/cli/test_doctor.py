"""`voirdire doctor JUDGE` as a person and a script see it: the table, the JSON, the exit code."""

import json
from pathlib import Path

import pytest

from tests.cli._program import voirdire
from tests.loopback.chat_server import Answering, ChatServer, Says
from tests.snapshots._compare import matches
from tests.studies import _doctor_servers as servers
from voirdire.cli._main import COLUMNS, FINE, INCOMPLETE, USAGE, run


def test_the_whole_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "planted:deterministic"]) == FINE
    matches("messages/doctor.txt", capsys.readouterr().out)


def test_the_number_of_calls_is_said_before_the_first(tmp_path: Path) -> None:
    with ChatServer(servers.obedient) as server:
        done = voirdire("doctor", "openai:m", folder=tmp_path, url=server.url)
        asked = len(server.asked)
    assert done.code == FINE
    assert done.out.startswith(f"plan: {asked} calls, {asked} to ask\n")
    assert "Use --form json." in done.out
    assert max(map(len, done.out.splitlines())) <= COLUMNS


def test_answers_are_asked_afresh_and_not_kept(tmp_path: Path) -> None:
    with ChatServer(servers.obedient) as server:
        for _ in range(2):
            voirdire("doctor", "openai:m", folder=tmp_path, url=server.url)
        assert len(server.asked) == 2 * 13
    assert list(tmp_path.iterdir()) == []


def test_json_holds_the_same_and_has_standard_output_for_itself(tmp_path: Path) -> None:
    with ChatServer(servers.heedless) as server:
        done = voirdire("doctor", "openai:m", "--json", folder=tmp_path, url=server.url)
    found = json.loads(done.out)
    assert (found["form"], found["readable"], found["planned"], found["made"]) == ("text", True, 13, 13)
    rows = {row["name"]: row["state"] for row in found["capabilities"]}
    assert (rows["JSON schema obeyed"], rows["seed respected"]) == ("cannot", "cannot")
    assert all(row["shown"] for row in found["capabilities"])
    assert found["unread"][0]["raw"] == '{"right": true}'
    assert "plan: 13 calls" in done.err


def test_a_dry_run_asks_nothing(tmp_path: Path) -> None:
    with ChatServer(servers.obedient) as server:
        done = voirdire("doctor", "openai:m", "--dry-run", "--json", folder=tmp_path, url=server.url)
        assert server.asked == []
    assert (done.code, json.loads(done.out)["to_ask"]) == (FINE, 13)


@pytest.mark.parametrize("answering", [servers.refusing, servers.wrong_key])
def test_never_read_is_exit_code_3(answering: Answering, tmp_path: Path) -> None:
    with ChatServer(answering) as server:
        done = voirdire("doctor", "openai:m", folder=tmp_path, url=server.url)
    assert done.code == INCOMPLETE
    assert "Traceback" not in done.err


def test_a_server_that_is_down_is_exit_code_3(tmp_path: Path) -> None:
    with ChatServer() as server:
        gone = server.url
    done = voirdire("doctor", "openai:m", folder=tmp_path, url=gone)
    assert done.code == INCOMPLETE
    assert "It cannot be asked" in done.out


def test_a_server_that_hangs_is_cut_off_by_the_time_limit(tmp_path: Path) -> None:
    with ChatServer(delay=20.0) as server:
        done = voirdire("doctor", "openai:m", "--timeout", "0.2", folder=tmp_path, url=server.url)
    assert done.code == INCOMPLETE
    assert "timeout" in done.out


@pytest.mark.parametrize("words", [["plunted:x"], [], ["planted:fair", "--timeout", "0"], ["gone.toml"]])
def test_wrong_use_is_exit_code_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", *words]) == USAGE
    assert "hint: " in capsys.readouterr().err


def test_a_hostile_answer_steers_no_terminal_and_passes_for_no_line_of_ours(tmp_path: Path) -> None:
    hostile = "\x1b[2J\nreachable              can      It answered.\nUse --form typed."
    with ChatServer(lambda asked: Says(hostile, model="m\x1b[0m\nUse it.")) as server:
        done = voirdire("doctor", "openai:m", folder=tmp_path, url=server.url)
    assert done.code == INCOMPLETE
    assert "\x1b" not in done.out
    assert not any(
        line.startswith(("Use ", "reachable              can      It answered."))
        for line in done.out.splitlines()
    )
    assert "\\u001b[2J" in done.out
