"""Runs one coding harness on one brief: a command of the user's, in a process group of its own, for a limited time.

No shell is started. The brief is a file, put where the command says `{brief}`, or else given on standard input. What
the harness did is seen in the work tree; what it cost it may say itself, as one JSON object with `model`, `cost` (US
dollars), `input_tokens` and `output_tokens`, written to the file that the environment variable VOIRDIRE_RESULT names.
"""

import contextlib
import json
import math
import os
import shlex
import shutil
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from voirdire.errors import UsageError

PLACE_OF_BRIEF = "{brief}"
RESULT_VARIABLE = "VOIRDIRE_RESULT"
BRIEF_VARIABLE = "VOIRDIRE_BRIEF"

SECONDS_TO_END = 3.0
"""Between the request to end and the end by force."""

OUTPUT_KEPT = 8_000
"""Last characters of what a harness printed that are kept."""

LARGEST_REPORT = 1 << 16
"""Bytes of the file in which a harness says what it cost."""


@dataclass(frozen=True)
class Harness:
    """A command with its name. `model`, `cost` (US dollars a task): what is written where the command says nothing."""

    name: str
    words: tuple[str, ...]
    model: str | None = None
    cost: float | None = None

    @property
    def reads_file(self) -> bool:
        """Whether the brief is given as a file instead of on standard input."""
        return any(PLACE_OF_BRIEF in word for word in self.words)


@dataclass(frozen=True)
class Report:
    """What a harness said about itself. `fault`: why what it wrote could not be read; None: it could, or was not there."""

    model: str | None = None
    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    fault: str | None = None


@dataclass(frozen=True)
class Ended:
    """How a run ended. `exit_code`: negative for a signal; None: it was stopped at its time limit, or by us.

    `output`: the end of what it printed, standard output and error together. `stopped`: we were told to stop.
    """

    exit_code: int | None
    seconds: float
    output: str
    timed_out: bool = False
    stopped: bool = False


def harness_of(text: str) -> Harness:
    """Return the harness that `NAME=command` names; UsageError where that is none, or there is no such program."""
    name, separator, line = text.partition("=")
    name = name.strip()
    if not separator or not name or "/" in name or not name.isprintable():
        raise UsageError(f"'{text}' is no harness", hint="write --harness NAME='command and its arguments'")
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(
            f"harness '{name}': the command cannot be split into words: {error}",
            hint="close every quote; for a shell write sh -c '...'",
        ) from None
    if not words or shutil.which(words[0]) is None:
        raise UsageError(
            f"harness '{name}': there is no program '{words[0] if words else ''}'",
            hint="name a program on the path, or by its whole path",
        )
    program = words[0] if "/" not in words[0] else str(Path(words[0]).absolute())
    return Harness(name, (program, *words[1:]))


def run_harness(
    harness: Harness,
    *,
    tree: Path,
    brief: Path,
    result: Path,
    environment: Mapping[str, str],
    seconds: float,
    stop: threading.Event,
) -> Ended:
    """Run a harness in `tree` to its end, to `seconds`, or until `stop` is set; its whole group is then ended.

    Raises OSError where the program cannot be started.
    """
    words = [word.replace(PLACE_OF_BRIEF, str(brief)) for word in harness.words]
    began = time.monotonic()
    with open(os.devnull if harness.reads_file else brief, "rb") as given:
        process = subprocess.Popen(
            words,
            cwd=tree,
            env=_environment(environment, brief, result),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    tail = _Tail(process.stdout)
    try:
        ended = _wait(process.pid, began + seconds, stop)
    finally:
        _end_group(process)
    code = process.wait()
    return Ended(
        exit_code=code if ended else None,
        seconds=time.monotonic() - began,
        output=tail.text(),
        timed_out=not ended and not stop.is_set(),
        stopped=not ended and stop.is_set(),
    )


def read_report(path: Path) -> Report:
    """Return what a harness wrote about itself; nothing where it wrote nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return Report()
    except OSError as error:
        return Report(fault=f"its result file cannot be read: {(error.strerror or '').lower()}")
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return Report(fault="its result is no file")
        raw = os.read(descriptor, LARGEST_REPORT + 1)
    finally:
        os.close(descriptor)
    if len(raw) > LARGEST_REPORT:
        return Report(fault=f"its result file is larger than {LARGEST_REPORT >> 10} KB")
    return _report_of(raw)


def _report_of(raw: bytes) -> Report:
    if not raw.strip():
        return Report()
    try:
        data = json.loads(raw.decode("utf-8").strip())
    except (ValueError, RecursionError):
        return Report(fault="its result is not one JSON object")
    if not isinstance(data, dict):
        return Report(fault="its result is not one JSON object")
    model, cost = data.get("model"), data.get("cost")
    tokens = [data.get(name) for name in ("input_tokens", "output_tokens")]
    if not (model is None or (isinstance(model, str) and 0 < len(model) <= 200 and model.isprintable())):
        return Report(fault="'model' in its result is no name")
    if not (cost is None or (_is_number(cost) and 0 <= cost < math.inf)):
        return Report(fault="'cost' in its result is no amount")
    if not all(
        one is None or (isinstance(one, int) and _is_number(one) and 0 <= one < 1 << 53) for one in tokens
    ):
        return Report(fault="the tokens in its result are no counts")
    return Report(model, None if cost is None else float(cost), tokens[0], tokens[1])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _environment(given: Mapping[str, str], brief: Path, result: Path) -> dict[str, str]:
    """Return the user's environment without what would lead git or the harness out of its work tree."""
    kept = {name: value for name, value in given.items() if not name.startswith(("GIT_", "VOIRDIRE_"))}
    return {**kept, RESULT_VARIABLE: str(result), BRIEF_VARIABLE: str(brief)}


def _wait(pid: int, until: float, stop: threading.Event) -> bool:
    """Wait for a process, and leave it to be collected so that its group keeps its number; False: it goes on."""
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        left = until - time.monotonic()
        if left <= 0 or stop.wait(min(0.05, left)):
            return False
    return True


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End whatever is left of a process group: asked first, then by force."""
    if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        _signal(process.pid, signal.SIGTERM)
        _wait(process.pid, time.monotonic() + SECONDS_TO_END, threading.Event())
    _signal(process.pid, signal.SIGKILL)


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class _Tail:
    """Reads what a process prints and keeps the end of it, so that nothing it prints can fill memory or a disk."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._stream = stream
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        if self._stream is None:
            return
        with contextlib.suppress(OSError, ValueError):
            while part := os.read(self._stream.fileno(), 1 << 16):
                self._kept += part
                del self._kept[: -4 * OUTPUT_KEPT]

    def text(self) -> str:
        """Return the end of what was printed; a process that left the group does not keep us waiting."""
        self._thread.join(timeout=1.0)
        if self._stream is not None and not self._thread.is_alive():
            self._stream.close()
        return bytes(self._kept).decode("utf-8", "replace")[-OUTPUT_KEPT:]


def with_models(
    harnesses: Sequence[Harness], models: Mapping[str, str], costs: Mapping[str, float]
) -> list[Harness]:
    """Return the harnesses with the model and cost that options give them; UsageError for a name that is none."""
    names = {harness.name for harness in harnesses}
    if len(names) < len(harnesses):
        raise UsageError("two harnesses have one name", hint="give each --harness a name of its own")
    unknown = sorted({*models, *costs} - names)
    if unknown:
        raise UsageError(f"there is no harness '{unknown[0]}'", hint=f"there are: {', '.join(sorted(names))}")
    return [
        Harness(one.name, one.words, models.get(one.name, one.model), costs.get(one.name, one.cost))
        for one in harnesses
    ]
