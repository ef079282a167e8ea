"""One worker as the driver sees it: a channel to the process that holds the tests."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from voirdire.errors import UsageError
from voirdire.execution.jail import frames, scratch, tester
from voirdire.execution.jail.settings import Settings
from voirdire.execution.levels import Shell, environment

START_SECONDS = 60


class WorkerLost(Exception):
    """The worker is gone; what it had in hand has to be given to another."""


@dataclass(frozen=True)
class Given:
    """An order in a worker's hands: its number, and the nonce that its result must repeat."""

    number: int
    nonce: str


class Worker:
    """A started worker. `in_hand`: the orders it has not answered yet, the one it works on first."""

    def __init__(self, shell: Shell, settings: Settings) -> None:
        self.in_hand: deque[Given] = deque()
        self.busy_since = time.monotonic()
        self._known: set[str] = set()
        self._scratch = None if settings.namespaces or shell.streams else settings.scratch
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._channel, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            ends = ("0", "1") if shell.streams else (str(fd), str(fd))
            self._process = subprocess.Popen(
                [*shell.command, settings.to_text(), *ends],
                stdin=fd if shell.streams else subprocess.DEVNULL,
                stdout=fd if shell.streams else subprocess.DEVNULL,
                stderr=self._said,
                pass_fds=() if shell.streams else (fd,),
                env=None if shell.streams else environment(settings.scratch),
                start_new_session=True,
                cwd="/",
            )

    def wait_until_ready(self) -> None:
        """Wait for the worker's first word. Raises UsageError with what it said where it could not start."""
        self._channel.settimeout(START_SECONDS)
        try:
            ready = bool(self._channel.recv(1, socket.MSG_PEEK))
        except TimeoutError:
            ready = False
        self._channel.settimeout(None)
        if not ready:
            raise UsageError(self._last_words() or "it did not start in time")
        frames.receive(self.fileno(), most=100)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when a result is there, or the worker is gone."""
        return self._channel.fileno()

    def give(self, given: Given, task: Mapping[str, Any], sample: Mapping[str, Any]) -> None:
        """Hand over a sample, and its task where the worker does not know it yet. Raises WorkerLost."""
        if not self.in_hand:
            self.busy_since = time.monotonic()
        self.in_hand.append(given)
        try:
            if task["id"] not in self._known:
                frames.send(self.fileno(), tester.TASK, 0, json.dumps(task).encode())
                self._known.add(task["id"])
            body = json.dumps({**sample, "nonce": given.nonce}).encode()
            frames.send(self.fileno(), tester.SAMPLE, given.number, body)
        except frames.Ended:
            raise WorkerLost from None

    def take(self) -> tuple[Given, dict[str, Any]]:
        """Return the next result. Raises WorkerLost where there will be none, or it is not the one asked for."""
        try:
            _, number, body = frames.receive(self.fileno(), most=10_000_000)
            result = json.loads(body)
        except (frames.Ended, frames.Broken, ValueError):
            raise WorkerLost from None
        if not self.in_hand:
            raise WorkerLost
        given = self.in_hand.popleft()
        self.busy_since = time.monotonic()
        if number != given.number or result.get("nonce") != given.nonce:
            self.in_hand.appendleft(given)
            raise WorkerLost
        return given, result

    def close(self) -> None:
        """End the worker and all it started, and remove its scratch folder."""
        self._channel.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()
        if self._scratch is not None:
            with contextlib.suppress(OSError):
                scratch.empty(self._scratch)
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        by_tool = (line for line in lines if line.startswith(("docker:", "podman:", "bwrap:", "Error:")))
        return next(by_tool, lines[-1] if lines else "")


def make_scratch() -> str:
    """Make a private folder for a worker that stays in the host's file system."""
    folder = tempfile.mkdtemp(prefix="voirdire-")
    os.chmod(folder, 0o711)
    return folder
