"""The record of every answer ever paid for: one SQLite file, written before anything is counted.

An answer's key is the judge's fingerprint, the digest of the rendered request and the repeat number, and nothing
else. A killed process loses at most the calls that were in flight. Two processes may share a ledger: rows are
claimed with a lease before they are asked. The write-ahead log needs a local disk. Commits survive the death of
the process at any instant; the loss of power may take the last of them (`synchronous = NORMAL`).
"""

import json
import os
import socket
import sqlite3
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from voirdire.errors import DataError
from voirdire.model import Answer, Identity, Request, Usage, canonical_json

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x766F6972
_PATIENCE = 30.0
_LEASE_SECONDS = 120.0
_COMPRESS_FROM = 4096
_KEYS_PER_QUERY = 500
_CHECKPOINT_PAGES = 8000

_SCHEMA = """
CREATE TABLE identities (
    id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, name TEXT NOT NULL, fields TEXT NOT NULL,
    first_seen REAL NOT NULL
);
CREATE TABLE requests (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, body BLOB NOT NULL, compressed INTEGER NOT NULL
);
CREATE TABLE answers (
    identity INTEGER NOT NULL REFERENCES identities (id), request INTEGER NOT NULL REFERENCES requests (id),
    repeat INTEGER NOT NULL, item TEXT NOT NULL, raw TEXT NOT NULL, missing_because TEXT, failed INTEGER NOT NULL,
    input_tokens INTEGER, output_tokens INTEGER, cached_tokens INTEGER, money REAL, served TEXT, seconds REAL,
    extra TEXT, at REAL NOT NULL
);
CREATE UNIQUE INDEX answer_key ON answers (identity, request, repeat);
CREATE TABLE owners (
    id TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, boot TEXT, space TEXT, born TEXT,
    expires REAL NOT NULL
);
CREATE TABLE claims (
    identity INTEGER NOT NULL, request INTEGER NOT NULL, repeat INTEGER NOT NULL, owner TEXT NOT NULL,
    PRIMARY KEY (identity, request, repeat)
) WITHOUT ROWID;
CREATE TABLE looks (
    id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL, family TEXT NOT NULL, n INTEGER NOT NULL, at REAL NOT NULL
);
"""

_ANSWER_COLUMNS = (
    "raw, missing_because, failed, input_tokens, output_tokens, cached_tokens, money, served, seconds, extra"
)

_RECORD = f"""
INSERT INTO answers (identity, request, repeat, item, at, {_ANSWER_COLUMNS})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (identity, request, repeat) DO UPDATE SET
    item = excluded.item, at = excluded.at, raw = excluded.raw, missing_because = excluded.missing_because,
    failed = excluded.failed, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
    cached_tokens = excluded.cached_tokens, money = excluded.money, served = excluded.served,
    seconds = excluded.seconds, extra = excluded.extra
WHERE answers.failed
"""

_CLAIM = """
INSERT OR IGNORE INTO claims (identity, request, repeat, owner)
SELECT ?1, ?2, ?3, ?4
WHERE NOT EXISTS (SELECT 1 FROM answers WHERE identity = ?1 AND request = ?2 AND repeat = ?3 AND NOT failed)
"""


class Key(NamedTuple):
    """What an answer belongs to: judge (row number of its fingerprint in this ledger), request, repeat."""

    identity: int
    digest: str
    repeat: int


class Entry(NamedTuple):
    """An answer about to be written."""

    key: Key
    request: Request
    answer: Answer


class Claimed(NamedTuple):
    """What became of the keys one wanted to claim: `mine` to ask now, `answers` that are there by now, `taken`."""

    mine: list[Key]
    answers: dict[Key, Answer]
    taken: list[Key]


class Ledger:
    """An open ledger; a context manager. Made, with its folder, where there is none.

    Raises DataError where the file is no ledger, was written by a newer version, cannot be written, stays locked, or
    lies on a disk that cannot keep a write-ahead log. `lease_seconds`: how long a claim outlives a silent owner.
    One thread at a time may use it.
    """

    def __init__(self, path: str | Path, *, lease_seconds: float = _LEASE_SECONDS) -> None:
        self.path = Path(path)
        self.lease_seconds = lease_seconds
        self._identities: dict[str, int] = {}
        self._requests: dict[str, int] = {}
        with self._explained():
            self._connection = _connect(self.path)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was recorded is kept."""
        self._connection.close()

    # --- keys and answers

    def identity_number(self, identity: Identity) -> int:
        """Return the row number of this identity, writing it down when it is new."""
        fingerprint = identity.fingerprint
        known = self._identities.get(fingerprint)
        if known is None:
            known = self._find_identity(fingerprint)
            if known is None:
                fields = _storable(canonical_json(identity.fields))
                with self._writing():
                    self._connection.execute(
                        "INSERT OR IGNORE INTO identities (fingerprint, name, fields, first_seen) VALUES (?, ?, ?, ?)",
                        (fingerprint, _storable(identity.name), fields, time.time()),
                    )
                known = self._find_identity(fingerprint)
                assert known is not None
            self._identities[fingerprint] = known
        return known

    def known_identity(self, identity: Identity) -> int | None:
        """Return the row number of this identity, or None where it never asked anything; writes nothing."""
        known = self._identities.get(identity.fingerprint)
        return self._find_identity(identity.fingerprint) if known is None else known

    def answers(self, keys: Iterable[Key]) -> dict[Key, Answer]:
        """Return the answers that need not be asked again, by key: all but those whose call failed."""
        return {key: _answer(columns) for key, columns in self._select(keys, _ANSWER_COLUMNS)}

    def answered(self, keys: Iterable[Key]) -> set[Key]:
        """Return those keys whose answers need not be asked again."""
        return {key for key, _ in self._select(keys, "NULL")}

    def record(self, entries: Sequence[Entry]) -> dict[Key, Answer]:
        """Write answers in one transaction, and free the claims of those that failed.

        The other claims mean nothing once there is an answer; they go with their lease. An answer that is already there and did not fail stays; such earlier answers are returned by key. This
        happens only where a lease ran out while its owner was still waiting.
        """
        now = time.time()
        with self._writing():
            self._register([entry.request for entry in entries])
            before = self._connection.total_changes
            self._connection.executemany(
                _RECORD, [(*self._place(entry.key), *_columns(entry, now)) for entry in entries]
            )
            written = self._connection.total_changes - before
            self._connection.executemany(
                "DELETE FROM claims WHERE identity = ? AND request = ? AND repeat = ?",
                [self._place(entry.key) for entry in entries if entry.answer.failed],
            )
        if written == len(entries):
            return {}
        stored = self.answers(entry.key for entry in entries)
        return {
            entry.key: stored[entry.key]
            for entry in entries
            if stored.get(entry.key, entry.answer) != entry.answer
        }

    def mean_seconds(self, identity: int) -> float | None:
        """Return how long this judge's answers took on average, in seconds, or None where nothing is known."""
        with self._explained():
            row = self._connection.execute(
                "SELECT avg(seconds) FROM answers WHERE identity = ? AND NOT failed", (identity,)
            ).fetchone()
        return None if row[0] is None else float(row[0])

    def lease(self) -> "Lease":
        """Return a new lease: a name under which rows can be claimed."""
        return Lease(self)

    # --- looks

    def record_look(self, identity: Identity, family: str, n: int) -> None:
        """Note that the results of `family` were looked at when each version had `n` answers."""
        with self._writing():
            self._connection.execute(
                "INSERT INTO looks (fingerprint, family, n, at) VALUES (?, ?, ?, ?)",
                (identity.fingerprint, _storable(family), n, time.time()),
            )

    def looks(self, identity: Identity, family: str) -> list[int]:
        """Return the n of every look at `family` so far, oldest first."""
        with self._explained():
            rows = self._connection.execute(
                "SELECT n FROM looks WHERE fingerprint = ? AND family = ? ORDER BY id",
                (identity.fingerprint, _storable(family)),
            ).fetchall()
        return [int(n) for (n,) in rows]

    # --- export

    def rows(self, *, bodies: bool = False) -> Iterator[dict[str, object]]:
        """Yield every answer as a plain dict, in the order written; with the request's text where `bodies`.

        Keys: judge (fingerprint), judge_name, item, request (digest), repeat, the fields of an Answer with its usage
        spread out, and `at`, an ISO 8601 time in UTC.
        """
        columns = ", ".join(f"a.{name}" for name in _ANSWER_COLUMNS.split(", "))
        query = f"""
            SELECT i.fingerprint, i.name, a.item, r.digest, a.repeat, a.at, {columns}
            FROM answers a JOIN identities i ON i.id = a.identity JOIN requests r ON r.id = a.request ORDER BY a.rowid
        """
        with self._explained():
            for fingerprint, name, item, digest, repeat, at, *rest in self._connection.execute(query):
                answer = _answer(rest)
                row: dict[str, object] = {
                    "judge": fingerprint,
                    "judge_name": _text(name),
                    "item": _text(item),
                    "request": digest,
                    "repeat": repeat,
                    "raw": answer.raw,
                    "missing_because": answer.missing_because,
                    "failed": answer.failed,
                    "input_tokens": answer.usage.input_tokens,
                    "output_tokens": answer.usage.output_tokens,
                    "cached_tokens": answer.usage.cached_tokens,
                    "money": answer.money,
                    "served": answer.served,
                    "seconds": answer.seconds,
                    "extra": dict(answer.extra),
                    "at": datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds"),
                }
                if bodies:
                    row["body"] = self.body(digest)
                yield row

    def body(self, digest: str) -> str | None:
        """Return the request with this digest, or None."""
        with self._explained():
            row = self._connection.execute(
                "SELECT body, compressed FROM requests WHERE digest = ?", (digest,)
            ).fetchone()
        if row is None:
            return None
        return _text(zlib.decompress(row[0]) if row[1] else row[0])

    def identities(self) -> Iterator[dict[str, object]]:
        """Yield every identity as a plain dict: judge (fingerprint), judge_name, fields."""
        with self._explained():
            for fingerprint, name, fields in self._connection.execute(
                "SELECT fingerprint, name, fields FROM identities ORDER BY id"
            ):
                yield {"judge": fingerprint, "judge_name": _text(name), "fields": json.loads(_text(fields))}

    # --- inside

    def _find_identity(self, fingerprint: str) -> int | None:
        with self._explained():
            row = self._connection.execute(
                "SELECT id FROM identities WHERE fingerprint = ?", (fingerprint,)
            ).fetchone()
        return None if row is None else int(row[0])

    def _select(self, keys: Iterable[Key], columns: str) -> Iterator[tuple[Key, Sequence[Any]]]:
        """Yield the `columns` of every answer that did not fail, a few hundred requests a query."""
        wanted = set(keys)
        by_judge: dict[int, dict[str, None]] = {}
        for key in wanted:
            by_judge.setdefault(key.identity, {})[key.digest] = None
        for identity, of_judge in by_judge.items():
            digests = iter(of_judge)
            while chunk := list(islice(digests, _KEYS_PER_QUERY)):
                for digest, repeat, *rest in self._select_chunk(identity, chunk, columns):
                    key = Key(identity, digest, repeat)
                    if key in wanted:
                        yield key, rest

    def _select_chunk(self, identity: int, digests: Sequence[str], columns: str) -> list[Any]:
        marks = ",".join("?" * len(digests))
        with self._explained():
            return self._connection.execute(
                f"SELECT digest, repeat, {columns} FROM requests CROSS JOIN answers ON request = requests.id "
                f"WHERE digest IN ({marks}) AND identity = ? AND NOT failed",
                (*digests, identity),
            ).fetchall()

    def _register(self, requests: Iterable[Request]) -> None:
        """Learn the row numbers of these requests, writing down those that are new. Within a transaction."""
        new = {request.digest: request.body for request in requests if request.digest not in self._requests}
        if not new:
            return
        self._connection.executemany(
            "INSERT OR IGNORE INTO requests (digest, body, compressed) VALUES (?, ?, ?)",
            [(digest, *_packed(body)) for digest, body in new.items()],
        )
        digests = iter(new)
        while chunk := list(islice(digests, _KEYS_PER_QUERY)):
            marks = ",".join("?" * len(chunk))
            self._requests.update(
                self._connection.execute(f"SELECT digest, id FROM requests WHERE digest IN ({marks})", chunk)
            )

    def _place(self, key: Key) -> tuple[int, int, int]:
        return key.identity, self._requests[key.digest], key.repeat

    def _prepare(self) -> None:
        connection = self._connection
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if tables and application != _APPLICATION_ID:
            raise DataError(
                f"'{self.path}' is a database of another program, not a ledger",
                hint="name another file with --ledger",
            )
        if version > SCHEMA_VERSION:
            raise DataError(
                f"ledger '{self.path}' was written by a newer voirdire (schema {version}, we know {SCHEMA_VERSION})",
                hint="upgrade voirdire, or name another file with --ledger",
            )
        if _switch_to_wal(connection) != "wal":
            raise DataError(
                f"ledger '{self.path}': this disk cannot keep a write-ahead log",
                hint="keep the ledger on a local disk: name one with --ledger or VOIRDIRE_LEDGER",
            )
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        if not tables:
            self._make_tables()

    def _make_tables(self) -> None:
        with self._writing():
            if self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return
            for statement in _SCHEMA.split(";"):
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction that waits for its turn at the start, never in the middle."""
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite or the disk says into a DataError."""
        try:
            yield
        except (sqlite3.DatabaseError, OSError) as error:
            raise _explanation(self.path, error) from error


class Lease:
    """A name under which rows are claimed, so that no other process asks the same. Renew it while asking."""

    def __init__(self, ledger: Ledger) -> None:
        self.owner = uuid.uuid4().hex
        self._ledger = ledger
        self._process = _this_process()
        self._held = False

    def claim(self, requests: Mapping[Key, Request]) -> Claimed:
        """Claim what is neither answered nor claimed by anyone alive, and write down the requests claimed."""
        ledger = self._ledger
        keys = list(requests)
        with ledger._writing():
            self._renew()
            ledger._register(requests.values())
            mine = self._insert(keys)
            others = [] if len(mine) == len(keys) else self._others(set(keys) - set(mine))
            if others and self._bury({owner for _, owner in others}):
                mine += self._insert([key for key, _ in others])
        rest = set(keys).difference(mine)
        answers = ledger.answers(rest) if rest else {}
        return Claimed(mine, answers, [key for key in keys if key in rest and key not in answers])

    def renew(self) -> None:
        """Say that the owner is still at work."""
        with self._ledger._writing():
            self._renew()

    def release(self) -> None:
        """Give up every claim that was not answered."""
        if self._held:
            with self._ledger._writing():
                _drop(self._ledger._connection, self.owner)
            self._held = False

    def _renew(self) -> None:
        self._held = True
        self._ledger._connection.execute(
            "INSERT INTO owners (id, host, pid, boot, space, born, expires) VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET expires = excluded.expires",
            (self.owner, *self._process, time.time() + self._ledger.lease_seconds),
        )

    def _insert(self, keys: Sequence[Key]) -> list[Key]:
        connection = self._ledger._connection
        before = connection.total_changes
        connection.executemany(_CLAIM, [(*self._ledger._place(key), self.owner) for key in keys])
        if connection.total_changes - before == len(keys):
            return list(keys)
        return [key for key in keys if self._owner_of(key) == self.owner]

    def _others(self, keys: Iterable[Key]) -> list[tuple[Key, str]]:
        owned = [(key, self._owner_of(key)) for key in keys]
        return [(key, owner) for key, owner in owned if owner is not None]

    def _owner_of(self, key: Key) -> str | None:
        row = self._ledger._connection.execute(
            "SELECT owner FROM claims WHERE identity = ? AND request = ? AND repeat = ?",
            self._ledger._place(key),
        ).fetchone()
        return None if row is None else str(row[0])

    def _bury(self, owners: Iterable[str]) -> bool:
        """Drop the claims of those owners that are dead or silent for too long; True where there was one."""
        connection = self._ledger._connection
        dead = []
        for owner in owners:
            row = connection.execute(
                "SELECT host, pid, boot, space, born, expires FROM owners WHERE id = ?", (owner,)
            ).fetchone()
            if row is None or row[5] < time.time() or _is_dead(_Process(*row[:5]), self._process):
                dead.append(owner)
        for owner in dead:
            _drop(connection, owner)
        return bool(dead)


class _Process(NamedTuple):
    """Which process it is: machine, process number, boot and process space (None: cannot be told), time of birth."""

    host: str
    pid: int
    boot: str | None
    space: str | None
    born: str | None


def _this_process() -> _Process:
    return _Process(socket.gethostname(), os.getpid(), _boot(), _space(), _birth(os.getpid()))


def _is_dead(owner: _Process, here: _Process) -> bool:
    """Whether an owner is surely dead: a process of this machine that is gone. Unknown counts as alive."""
    if owner.host != here.host:
        return False
    if owner.boot is None or here.boot is None:
        return _is_gone(owner.pid)
    if owner.boot != here.boot:
        return True
    if owner.space != here.space:
        return False
    return _birth(owner.pid) != owner.born


def _is_gone(pid: int) -> bool:
    """Whether no process has this number, where the system can be asked without harm (not on Windows)."""
    if os.name != "posix":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _boot() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def _space() -> str | None:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return None


def _birth(pid: int) -> str | None:
    """Return when a process was started, in clock ticks since boot; None: there is none (or no /proc to ask)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else fields[18]


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    return sqlite3.connect(
        path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, cached_statements=64
    )


def _switch_to_wal(connection: sqlite3.Connection) -> str:
    """Return the mode we are in then. Switching takes the whole file and does not wait by itself: so we do."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _explanation(path: Path, error: Exception) -> DataError:
    """Say what SQLite's or the disk's complaint means for a ledger."""
    said = str(error)
    if "locked" in said or "busy" in said:
        return DataError(
            f"ledger '{path}' stays locked by another program ({said})",
            hint="end the other program, or keep the ledger on a local disk: network disks lock badly",
        )
    if "readonly" in said or "unable to open" in said or isinstance(error, OSError):
        return DataError(
            f"ledger '{path}' cannot be written ({said})",
            hint="make the file and its folder writable, or name another file with --ledger",
        )
    if "full" in said:
        return DataError(
            f"ledger '{path}': the disk is full", hint="free some space; the next run goes on from here"
        )
    if "not a database" in said or "malformed" in said:
        return DataError(
            f"'{path}' is not a ledger ({said})",
            hint="name another file with --ledger; this one is left as it is",
        )
    return DataError(f"ledger '{path}': {said}", hint="name another file with --ledger")


def _packed(body: str) -> tuple[str | bytes, bool]:
    if len(body) < _COMPRESS_FROM:
        return _storable(body), False
    return zlib.compress(body.encode("utf-8", "surrogatepass"), 1), True


def _drop(connection: sqlite3.Connection, owner: str) -> None:
    connection.execute("DELETE FROM claims WHERE owner = ?", (owner,))
    connection.execute("DELETE FROM owners WHERE id = ?", (owner,))


def _columns(entry: Entry, now: float) -> tuple[object, ...]:
    answer = entry.answer
    return (
        _storable(entry.request.item_id),
        now,
        _storable(answer.raw),
        None if answer.missing_because is None else _storable(answer.missing_because),
        answer.failed,
        answer.usage.input_tokens,
        answer.usage.output_tokens,
        answer.usage.cached_tokens,
        answer.money,
        None if answer.served is None else _storable(answer.served),
        answer.seconds,
        json.dumps(dict(answer.extra)) if answer.extra else None,
    )


def _answer(columns: Sequence[Any]) -> Answer:
    raw, missing, failed, given, made, cached, money, served, seconds, extra = columns
    return Answer(
        raw=raw if type(raw) is str else _text(raw),
        missing_because=None if missing is None else _text(missing),
        failed=bool(failed),
        usage=Usage(given, made, cached),
        money=money,
        served=None if served is None else _text(served),
        seconds=seconds,
        extra=json.loads(extra) if extra else {},
    )


def _storable(text: str) -> str | bytes:
    """Return the text, or its bytes where it holds half a character that SQLite takes for no text."""
    return text if text.isascii() or not _has_surrogate(text) else text.encode("utf-8", "surrogatepass")


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _text(stored: object) -> str:
    return stored.decode("utf-8", "surrogatepass") if isinstance(stored, bytes) else str(stored)
