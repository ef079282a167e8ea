import asyncio
import os
import sqlite3
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from voirdire.engine.ledger import SCHEMA_VERSION, Entry, Key, Ledger
from voirdire.errors import DataError
from voirdire.model import Answer, Identity, Request, Usage

JUDGE = Identity("j", {"backend": "x", "model": "m"})
ANSWER = Answer(
    raw="SCORE: 7",
    usage=Usage(10, 2, 1),
    money=0.001,
    served="m-1@fp",
    seconds=0.5,
    extra={"request_id": "r"},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sub" / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger(path) as opened:
        yield opened


def keys(ledger: Ledger, n: int, *, repeat: int = 0) -> dict[Key, Request]:
    number = ledger.identity_number(JUDGE)
    requests = [Request(f"item-{k}", f'{{"k":{k}}}') for k in range(n)]
    return {Key(number, request.digest, repeat): request for request in requests}


def record(ledger: Ledger, wanted: dict[Key, Request], answer: Answer = ANSWER) -> None:
    ledger.record([Entry(key, request, answer) for key, request in wanted.items()])


def test_an_answer_comes_back_as_it_was_written(ledger: Ledger) -> None:
    wanted = keys(ledger, 3)
    record(ledger, wanted)
    assert ledger.answers(wanted) == dict.fromkeys(wanted, ANSWER)
    assert ledger.answered(wanted) == set(wanted)


@pytest.mark.parametrize("raw", ["", "half \ud800 a character", "nul \0 inside", "ß 漢字 🙂", "x" * 100_000])
def test_any_text_survives(ledger: Ledger, raw: str) -> None:
    [key] = wanted = keys(ledger, 1)
    record(ledger, wanted, Answer(raw=raw, missing_because=raw or None))
    assert ledger.answers([key])[key] == Answer(raw=raw, missing_because=raw or None)


def test_more_keys_than_one_query_takes(ledger: Ledger) -> None:
    wanted = keys(ledger, 1234)
    record(ledger, wanted)
    assert len(ledger.answers(wanted)) == 1234


def test_repeats_and_identities_are_apart(ledger: Ledger) -> None:
    record(ledger, keys(ledger, 2, repeat=0))
    assert not ledger.answers(keys(ledger, 2, repeat=1))
    other = ledger.identity_number(Identity("j", {"backend": "x", "model": "n"}))
    assert not ledger.answers(key._replace(identity=other) for key in keys(ledger, 2))


def test_a_name_is_no_part_of_an_identity(ledger: Ledger) -> None:
    assert ledger.identity_number(JUDGE) == ledger.identity_number(Identity("other", JUDGE.fields))


def test_a_failed_answer_is_recorded_and_may_be_asked_again(ledger: Ledger) -> None:
    wanted = keys(ledger, 1)
    record(ledger, wanted, Answer(missing_because="timeout", failed=True))
    assert not ledger.answers(wanted)
    assert [row["missing_because"] for row in ledger.rows()] == ["timeout"]
    record(ledger, wanted)
    assert ledger.answers(wanted) == dict.fromkeys(wanted, ANSWER)
    assert len(list(ledger.rows())) == 1


def test_an_answer_that_was_paid_is_never_replaced(ledger: Ledger) -> None:
    [key] = wanted = keys(ledger, 1)
    record(ledger, wanted)
    later = Answer(raw="SCORE: 1")
    assert ledger.record([Entry(key, wanted[key], later)]) == {key: ANSWER}
    assert ledger.answers(wanted)[key] == ANSWER


def test_rows_are_plain_dicts_with_all_there_is(ledger: Ledger) -> None:
    wanted = keys(ledger, 1)
    ledger.lease().claim(wanted)
    record(ledger, wanted)
    [row] = ledger.rows(bodies=True)
    at = row.pop("at")
    assert isinstance(at, str)
    assert at.endswith("+00:00")
    assert row == {
        "judge": JUDGE.fingerprint,
        "judge_name": "j",
        "item": "item-0",
        "request": Request("", '{"k":0}').digest,
        "repeat": 0,
        "raw": "SCORE: 7",
        "missing_because": None,
        "failed": False,
        "input_tokens": 10,
        "output_tokens": 2,
        "cached_tokens": 1,
        "money": 0.001,
        "served": "m-1@fp",
        "seconds": 0.5,
        "extra": {"request_id": "r"},
        "body": '{"k":0}',
    }
    assert list(ledger.identities()) == [
        {"judge": JUDGE.fingerprint, "judge_name": "j", "fields": dict(JUDGE.fields)}
    ]


def test_a_long_request_is_kept_compressed_and_whole(ledger: Ledger, path: Path) -> None:
    request = Request("long", "ä" * 50_000)
    key = Key(ledger.identity_number(JUDGE), request.digest, 0)
    ledger.lease().claim({key: request})
    assert ledger.body(request.digest) == request.body
    assert ledger.body("0" * 64) is None
    with sqlite3.connect(path) as raw:
        [(size,)] = raw.execute("SELECT length(body) FROM requests")
    raw.close()
    assert size < 1000


def test_looks_are_remembered_by_judge_and_family(path: Path) -> None:
    with Ledger(path) as ledger:
        for n in (10, 20):
            ledger.record_look(JUDGE, "outcome/support", n)
    with Ledger(path) as ledger:
        assert ledger.looks(JUDGE, "outcome/support") == [10, 20]
        assert ledger.looks(JUDGE, "outcome/coding") == []
        assert ledger.looks(Identity("j", {}), "outcome/support") == []


# --- claims


def test_what_one_claims_is_taken_for_the_other(path: Path) -> None:
    with Ledger(path) as ours, Ledger(path) as theirs:
        wanted = keys(ours, 5)
        first = dict(list(wanted.items())[:3])
        assert ours.lease().claim(first).mine == list(first)
        claimed = theirs.lease().claim(keys(theirs, 5))
        assert claimed.mine == list(wanted)[3:]
        assert claimed.taken == list(first)
        assert claimed.answers == {}


def test_what_was_answered_meanwhile_is_handed_over(path: Path) -> None:
    with Ledger(path) as ours, Ledger(path) as theirs:
        wanted = keys(ours, 4)
        lease = ours.lease()
        lease.claim(wanted)
        record(ours, dict(list(wanted.items())[:2]))
        claimed = theirs.lease().claim(keys(theirs, 4))
        assert claimed.answers == dict.fromkeys(list(wanted)[:2], ANSWER)
        assert claimed.taken == list(wanted)[2:]
        lease.release()
        assert theirs.lease().claim(dict(list(wanted.items())[2:])).mine == list(wanted)[2:]


def test_a_failed_call_is_free_at_once(path: Path) -> None:
    with Ledger(path) as ours, Ledger(path) as theirs:
        wanted = keys(ours, 1)
        ours.lease().claim(wanted)
        record(ours, wanted, Answer(missing_because="timeout", failed=True))
        assert theirs.lease().claim(wanted).mine == list(wanted)


def test_a_lease_that_ran_out_is_taken_over_and_a_renewed_one_is_not(path: Path) -> None:
    with Ledger(path, lease_seconds=0.3) as ours, Ledger(path) as theirs:
        wanted = keys(ours, 1)
        lease = ours.lease()
        lease.claim(wanted)
        for _ in range(4):
            time.sleep(0.15)
            lease.renew()
            assert theirs.lease().claim(wanted).taken == list(wanted)
        time.sleep(0.4)
        assert theirs.lease().claim(wanted).mine == list(wanted)


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="needs /proc to tell a process from its successor"
)
@pytest.mark.parametrize(
    ("change", "taken_over"),
    [
        ("pid = 4194305", True),
        ("born = '1'", True),
        ("boot = 'an earlier one'", True),
        ("host = 'elsewhere', pid = 4194305", False),
        ("space = 'a container', pid = 4194305", False),
    ],
)
def test_only_what_is_surely_dead_is_taken_over_before_its_time(
    path: Path, change: str, taken_over: bool
) -> None:
    with Ledger(path) as ours, Ledger(path) as theirs:
        wanted = keys(ours, 1)
        ours.lease().claim(wanted)
        with sqlite3.connect(path) as raw:
            raw.execute(f"UPDATE owners SET {change}")
        raw.close()
        claimed = theirs.lease().claim(wanted)
        assert bool(claimed.mine) is taken_over


# --- files that are none, and disks that do not work


def test_a_newer_ledger_is_refused(path: Path) -> None:
    Ledger(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    raw.close()
    with pytest.raises(DataError, match="newer voirdire") as error:
        Ledger(path)
    assert "upgrade" in error.value.hint


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("these are my notes\n" * 100)
    with pytest.raises(DataError, match="is not a ledger"):
        Ledger(path)
    assert path.read_text().startswith("these are my notes")


def test_a_database_of_another_program_is_refused(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE mine (x)")
    raw.close()
    with pytest.raises(DataError, match="another program"):
        Ledger(path)


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        Ledger(tmp_path)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written") as error:
        Ledger(tmp_path / "file" / "ledger.sqlite")
    assert "--ledger" in error.value.hint


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
def test_a_read_only_ledger_is_said(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger(path).close()
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        said = _as_nobody(path) if os.getuid() == 0 else _opened(path)
    finally:
        tmp_path.chmod(0o755)
    assert "cannot be written" in said


def _opened(path: Path) -> str:
    try:
        with Ledger(path) as ledger:
            ledger.identity_number(JUDGE)
    except DataError as error:
        return str(error)
    return "opened"


def _as_nobody(path: Path) -> str:
    """Open the ledger in a child that gave up being root, which may write anything."""
    for folder in path.parent.parents:
        if folder.name.startswith("pytest-"):
            folder.chmod(0o755)
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # forking beside threads: the child only opens a file
        child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        os.write(write, _opened(path).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as said:
        return said.read()


def test_a_ledger_that_stays_locked_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voirdire.engine.ledger._PATIENCE", 0.2)
    with Ledger(path) as ledger:
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(DataError, match="stays locked"):
            record(ledger, keys(ledger, 1))
        blocker.close()
        record(ledger, keys(ledger, 1))


def test_many_processes_may_make_it_at_the_same_time(path: Path) -> None:
    code = "import sys; from voirdire.engine.ledger import Ledger; Ledger(sys.argv[1]).close()"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    makers = [subprocess.Popen([sys.executable, "-c", code, str(path)], env=environment) for _ in range(6)]
    assert [maker.wait(60) for maker in makers] == [0] * 6


def test_another_thread_may_use_it_in_its_turn(ledger: Ledger) -> None:
    wanted = keys(ledger, 2)

    async def use() -> None:
        await asyncio.to_thread(record, ledger, wanted)

    asyncio.run(use())
    assert ledger.answered(wanted) == set(wanted)
