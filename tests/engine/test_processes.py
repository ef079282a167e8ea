"""Real processes against a real server: killed, interrupted, two at once."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.loopback.chat_server import ChatServer, Hangs, Says
from voirdire.engine.ledger import Ledger

ROOT = Path(__file__).parents[2]
IN_FLIGHT = 8


def start(url: str, ledger: Path, n: int) -> subprocess.Popen[str]:
    """Start a process that asks `n` calls."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engine.asking_child", url, str(ledger), str(n), str(IN_FLIGHT)],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def account_of(process: subprocess.Popen[str]) -> dict[str, object]:
    """Wait for the end and return what the process printed."""
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    account: dict[str, object] = json.loads(output.splitlines()[-1])
    return account


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came to pass"
        time.sleep(0.002)


def test_a_killed_run_goes_on_and_pays_only_for_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with ChatServer(delay=0.02) as server:
        first = start(server.url, path, 300)
        wait_for(lambda: server.answered >= 120)
        os.kill(first.pid, signal.SIGKILL)
        first.communicate(timeout=30)
        assert first.returncode == -signal.SIGKILL
        with Ledger(path) as ledger:
            kept = {str(row["item"]) for row in ledger.rows()}
        seen_before = len(server.asked)
        assert 120 - IN_FLIGHT <= len(kept) < 300

        account = account_of(start(server.url, path, 300))

        assert account["cached"] == len(kept)
        assert account["values"] == {"7.0": 300}
        assert account["partial"] is None
        assert len(server.asked) - seen_before == 300 - len(kept)
        repeated = [text for text, times in server.counts.items() if times > 1]
        assert max(server.counts.values()) <= 2
        assert len(repeated) <= IN_FLIGHT
        assert not kept & {f"item-{text.rpartition(' ')[2]}" for text in repeated}
        assert len(server.counts) == 300


def test_a_finished_run_asks_nothing_again(tmp_path: Path) -> None:
    with ChatServer() as server:
        first = account_of(start(server.url, tmp_path / "l.sqlite", 40))
        second = account_of(start(server.url, tmp_path / "l.sqlite", 40))
        assert first["asked"] == second["cached"] == len(server.asked) == 40
        assert second["asked"] == 0


def test_two_processes_share_a_ledger_and_neither_pays_twice(tmp_path: Path) -> None:
    with ChatServer(delay=0.02) as server:
        both = [start(server.url, tmp_path / "l.sqlite", 300) for _ in range(2)]
        accounts = [account_of(process) for process in both]
        assert set(server.counts.values()) == {1}
        assert len(server.counts) == 300
        assert [account["values"] for account in accounts] == [{"7.0": 300}] * 2
        asked = [account["asked"] for account in accounts]
        assert sum(int(str(n)) for n in asked) == 300
        assert all(int(str(n)) > 0 for n in asked), "the second found nothing left to do"


def test_the_claims_of_a_killed_process_are_taken_over_at_once(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with ChatServer(lambda asked: Hangs(60) if asked.number < IN_FLIGHT else Says()) as server:
        first = start(server.url, path, 20)
        wait_for(lambda: len(server.asked) == IN_FLIGHT)
        with sqlite3.connect(path) as ledger:
            assert ledger.execute("SELECT count(*) FROM claims").fetchone() == (20,)
        ledger.close()
        os.kill(first.pid, signal.SIGKILL)
        first.communicate(timeout=30)
        began = time.monotonic()
        account = account_of(start(server.url, path, 20))
        assert account["asked"] == 20
        assert time.monotonic() - began < 30, "it waited for the lease to run out"


def test_ctrl_c_gives_a_partial_run_whose_answers_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with ChatServer(delay=0.02) as server:
        process = start(server.url, path, 500)
        wait_for(lambda: server.answered >= 60)
        process.send_signal(signal.SIGINT)
        account = account_of(process)
        assert account["partial"] == "interrupted by Ctrl-C"
        asked = int(str(account["asked"]))
        assert 60 - IN_FLIGHT <= asked < 500
        assert account["values"] == {"7.0": asked, "not asked: interrupted by Ctrl-C": 500 - asked}
        assert asked == len(server.asked), "what was in flight was waited for"
        again = account_of(start(server.url, path, 500))
        assert again["cached"] == asked
        assert set(server.counts.values()) == {1}


def test_a_second_ctrl_c_does_not_wait_for_what_is_in_flight(tmp_path: Path) -> None:
    with ChatServer(lambda asked: Hangs(60)) as server:
        process = start(server.url, tmp_path / "l.sqlite", 50)
        wait_for(lambda: len(server.asked) == IN_FLIGHT)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        account = account_of(process)
        assert time.monotonic() - began < 2.0
        assert account["asked"] == 0
        assert account["partial"] == "interrupted by Ctrl-C"
