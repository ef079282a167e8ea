"""A parsing process that dies of certain texts, in the ways that real ones do."""

import os
import signal
import time

from voirdire.languages import _worker

REAL = _worker._own


def _own(text: str, careful: bool) -> _worker.Said | None:
    if "SEGV" in text:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "KILL" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "EXIT" in text:
        os._exit(3)
    if "SLEEP" in text:
        time.sleep(60)
    while "SPIN" in text:
        pass
    if "MEMORY" in text:
        raise MemoryError
    return REAL(text, careful)


def _guarded(text: str, careful: bool) -> _worker.Said | None:
    try:
        return _own(text, careful)
    except MemoryError:
        return "MemoryError", "", None, None, False


def main() -> None:
    """Serve as the real worker does, under shorter limits."""
    _worker._own = _guarded
    _worker.CPU_SECONDS = 1
    _worker.WALL_SECONDS = 3
    _worker.main()
