"""Hostile candidates, and what became of each at a level of isolation: read by the tests and by `tools/attack_table.py`.

Every attack is short and bounded by limits, so that it is safe to run even at the level that hides nothing.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from voirdire.execution import run as driver
from voirdire.execution.jail import process_table
from voirdire.execution.run import execute
from voirdire.execution.tasks import Isolation, Limits, Proof, Result, Sample, Task, TestKind, Tests

LIMITS = Limits(cpu_seconds=1, wall_seconds=4, memory_mb=256, processes=24, file_mb=8, open_files=64)
MARK = "voirdire-stray"
"""Every file that an attack leaves on purpose has this in its name."""

FAILED, ERROR, TIMEOUT, MEMORY, NO_ENTRY, UNPARSABLE = (
    "failed",
    "error",
    "timeout",
    "memory",
    "no_entry_point",
    "unparsable",
)

TESTS = """
def check(candidate):
    assert candidate(2) == 5
    assert candidate(3) == 10
    assert candidate([1, 2]) == 'seven'
"""

RIGHT = """
def answer(x):
    return 'seven' if isinstance(x, list) else x * x + 1
"""


@dataclass(frozen=True)
class Attack:
    """One hostile candidate. `statuses`: those that are right for it. `family`: what it goes for."""

    name: str
    family: str
    statuses: tuple[str, ...]
    code: str


@dataclass(frozen=True)
class Observation:
    """What was seen after an attack: its result, what it left behind, and how the next sample fared."""

    attack: str
    status: str
    error: str
    survivors: int
    strays: int
    reached: int
    bystander_lives: bool
    next_passed: bool

    @property
    def earned_credit(self) -> bool:
        """Whether the attack passed the tests."""
        return self.status == "passed"

    @property
    def did_harm(self) -> bool:
        """Whether anything outside the sample was touched."""
        return bool(self.survivors or self.strays or self.reached) or not (
            self.bystander_lives and self.next_passed
        )


def _attack(name: str, family: str, statuses: str | Sequence[str], code: str) -> Attack:
    wrong = "\ndef answer(x):\n    return 0\n"
    text = dedent(code)
    named = (statuses,) if isinstance(statuses, str) else tuple(statuses)
    return Attack(name, family, named, text if "def answer" in text or "answer =" in text else text + wrong)


EARLY = "early ending"
FORGED = "forged success"
PEEK = "reading the tests"
PIPE = "the result pipe"
HOST = "processes of the host"
RESOURCES = "using up the machine"
FILES = "files"
NETWORK = "network"

ATTACKS: tuple[Attack, ...] = (
    # --- ending before the tests do
    _attack("exit()", EARLY, ERROR, "exit()"),
    _attack("quit() in the call", EARLY, ERROR, "def answer(x):\n    quit(0)"),
    _attack("os._exit(0)", EARLY, ERROR, "import os\nos._exit(0)"),
    _attack("os._exit(0) in the call", EARLY, ERROR, "import os\ndef answer(x):\n    os._exit(0)"),
    _attack("raise SystemExit in the call", EARLY, ERROR, "def answer(x):\n    raise SystemExit(0)"),
    _attack(
        "SystemExit in a thread",
        EARLY,
        FAILED,
        """
        import sys, threading
        thread = threading.Thread(target=lambda: sys.exit(0))
        thread.start()
        thread.join()
        """,
    ),
    _attack(
        "KeyboardInterrupt from a thread",
        EARLY,
        ERROR,
        """
        import _thread, threading, time
        def answer(x):
            threading.Thread(target=_thread.interrupt_main).start()
            time.sleep(0.5)
            return 0
        """,
    ),
    _attack("replaced by another program", EARLY, ERROR, "import os\nos.execv('/bin/true', ['true'])"),
    _attack("crash in C", EARLY, ERROR, "import ctypes\ndef answer(x):\n    ctypes.string_at(0)"),
    _attack("kills itself", EARLY, ERROR, "import os\nos.kill(os.getpid(), 9)"),
    # --- looking as if the tests had passed
    _attack(
        "prints success lines",
        FORGED,
        FAILED,
        """
        import os, sys
        for stream in (1, 2):
            os.write(stream, b'passed\\nOK\\nRan 3 tests in 0.001s\\n\\nOK\\n1 passed\\n{"passed": true}\\n')
        print('PASSED', file=sys.__stdout__)
        """,
    ),
    _attack(
        "builtins replaced",
        FORGED,
        (FAILED, ERROR),
        """
        import builtins
        class Quiet(Exception): pass
        builtins.AssertionError = Quiet
        builtins.isinstance = lambda *a: True
        builtins.all = builtins.any = lambda *a: True
        builtins.Exception = BaseException
        def answer(x): return 0
        """,
    ),
    _attack(
        "unittest and sys.exit replaced",
        FORGED,
        FAILED,
        """
        import sys, unittest
        unittest.TestCase.assertEqual = lambda *a: None
        unittest.TestResult.wasSuccessful = lambda self: True
        unittest.TestCase.run = lambda self, result=None: result.addSuccess(self)
        sys.exit = lambda code=0: None
        """,
    ),
    _attack(
        "sys.settrace skips the tests",
        FORGED,
        (FAILED, ERROR),
        """
        import sys
        def tracer(frame, event, arg):
            if frame.f_code.co_name == 'check':
                frame.f_trace_lines = True
                try: frame.f_lineno = frame.f_code.co_firstlineno + 3
                except Exception: pass
            return tracer
        sys.settrace(tracer)
        frame = sys._getframe()
        while frame:
            frame.f_trace = tracer
            frame = frame.f_back
        """,
    ),
    _attack(
        "equal to everything",
        FORGED,
        FAILED,
        """
        class Any:
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            def __hash__(self): return 0
        def answer(x): return Any()
        """,
    ),
    _attack(
        "a number equal to everything",
        FORGED,
        FAILED,
        """
        class Any(int):
            def __eq__(self, other): return True
            def __hash__(self): return 0
        def answer(x): return Any(0)
        """,
    ),
    _attack(
        "a list of things equal to everything",
        FORGED,
        FAILED,
        """
        class Any(str):
            def __eq__(self, other): return True
            def __hash__(self): return 0
        def answer(x): return [Any('x')]
        """,
    ),
    _attack(
        "__del__ and atexit",
        FORGED,
        FAILED,
        """
        import atexit, os
        class Last:
            def __del__(self):
                print('passed', flush=True)
                os._exit(0)
        keep = Last()
        atexit.register(os._exit, 0)
        atexit.register(print, 'passed')
        """,
    ),
    _attack(
        "an exception that lies about its type",
        FORGED,
        (ERROR, FAILED),
        """
        class Pass(AssertionError):
            def __str__(self): raise SystemExit(0)
        def answer(x): raise Pass()
        """,
    ),
    # --- reading or changing the tests
    _attack(
        "tests through gc",
        PEEK,
        FAILED,
        """
        import gc, types
        def steal():
            for thing in gc.get_objects():
                if isinstance(thing, types.FunctionType) and thing.__name__ == 'check':
                    thing.__code__ = (lambda candidate: None).__code__
                if isinstance(thing, dict) and '__voirdire_tally__' in thing:
                    tally = thing['__voirdire_tally__']
                    tally.failed = lambda *a: tally.succeeded()
        def answer(x):
            steal()
            return 0
        """,
    ),
    _attack(
        "tests through frames",
        PEEK,
        (FAILED, ERROR),
        """
        import sys
        def answer(x):
            frame = sys._getframe()
            while frame:
                tally = frame.f_globals.get('__voirdire_tally__') or frame.f_locals.get('tally')
                if tally is not None:
                    tally.failed = lambda *a: tally.succeeded()
                frame = frame.f_back
            return 0
        """,
    ),
    _attack(
        "tests through inspect and modules",
        PEEK,
        FAILED,
        """
        import inspect, sys
        found = {}
        for module in list(sys.modules.values()):
            check = getattr(module, 'check', None)
            if check is not None:
                try: found['source'] = inspect.getsource(check)
                except Exception: pass
        def answer(x):
            text = found.get('source', '')
            line = next((one for one in text.splitlines() if repr(x) in one), '')
            return eval(line.rpartition('==')[2]) if line else 0
        """,
    ),
    _attack(
        "tests through /proc and memory",
        PEEK,
        FAILED,
        """
        import os
        needle = b'candidate(2) =='
        def search():
            for pid in ['self', *filter(str.isdigit, os.listdir('/proc'))]:
                if pid == str(os.getpid()):
                    continue
                for name in ('mem', 'environ', 'cmdline'):
                    try:
                        with open(f'/proc/{pid}/maps') as file: spans = [line.split()[0] for line in file]
                        with open(f'/proc/{pid}/mem', 'rb', 0) as memory:
                            for span in spans[:400]:
                                low, high = (int(part, 16) for part in span.split('-'))
                                try:
                                    memory.seek(low)
                                    data = memory.read(min(high - low, 1 << 22))
                                except (OSError, ValueError, OverflowError):
                                    continue
                                if any(part.startswith(b' 5') for part in data.split(needle)[1:]): return True
                    except OSError:
                        pass
                    break
            return False
        found = search()
        def answer(x):
            if not found: return 0
            return 'seven' if isinstance(x, list) else x * x + 1
        """,
    ),
    _attack(
        "overwrites every file it finds",
        PEEK,
        FAILED,
        """
        import os, sys
        for folder in ['.', '/scratch', *sys.path, os.path.dirname(os.__file__) + '/json']:
            try: names = os.listdir(folder or '.')
            except OSError: continue
            for name in names[:200]:
                if name in ('check.py', 'tests.py', 'solution.py', 'decoder.py', 'sitecustomize.py'):
                    try:
                        with open(os.path.join(folder, name), 'a') as file: file.write('\\n# voirdire-stray\\n')
                    except OSError: pass
        """,
    ),
    # --- the pipe
    _attack(
        "writes to every descriptor",
        PIPE,
        (ERROR, FAILED),
        """
        import os
        for fd in range(3, 64):
            for text in (b'passed', b'{"passed": true}', b'D' + bytes(8)):
                try: os.write(fd, text)
                except OSError: pass
        """,
    ),
    _attack(
        "speaks the protocol: all tests ended",
        PIPE,
        (ERROR, FAILED),
        """
        import os, struct
        def say(kind, number, body):
            os.write(3, struct.pack('<cII', kind, number, len(body)) + body)
        say(b'D', 0, b'\\0'.join([b'0' * 32, b'3', b'3', b'0', b'', b'', b'0']))
        say(b'D', 1, b'\\0'.join([b'0' * 32, b'3', b'3', b'0', b'', b'', b'0']))
        os._exit(0)
        """,
    ),
    _attack(
        "speaks the protocol: reads the nonce",
        PIPE,
        (ERROR, FAILED),
        """
        import os, struct, select
        if select.select([3], [], [], 0.5)[0]:
            kind, number, length = struct.unpack('<cII', os.read(3, 9))
            nonce = os.read(3, length)
            body = b'\\0'.join([nonce, b'3', b'3', b'0', b'', b'', b'0'])
            os.write(3, struct.pack('<cII', b'D', 0, len(body)) + body)
            os._exit(0)
        """,
    ),
    _attack(
        "speaks the protocol: malformed answers",
        PIPE,
        (ERROR, FAILED),
        """
        import os, struct
        body = struct.pack('<I', 9) + b'Mc' + bytes(7)
        os.write(3, struct.pack('<cII', b'R', 1, len(body)) + body)
        os.write(3, struct.pack('<cII', b'R', 2, 4000000000))
        """,
    ),
    _attack(
        "an answer too deep, too large or within itself",
        PIPE,
        (FAILED, ERROR, MEMORY, TIMEOUT),
        """
        def answer(x):
            if x == 2:
                ring = []
                ring.append(ring)
                return ring
            if x == 3:
                deep = []
                for _ in range(100000): deep = [deep]
                return deep
            return ['x' * 1000] * 100000
        """,
    ),
    # --- processes
    _attack(
        "kills its parent",
        HOST,
        (ERROR, FAILED),
        "import os\ntry: os.kill(os.getppid(), 9)\nexcept OSError: pass",
    ),
    _attack(
        "kills all it may",
        HOST,
        (ERROR, FAILED),
        """
        import os
        for target in (-1, 0, -os.getppid(), 1):
            try: os.kill(target, 15)
            except OSError: pass
        for pid in range(1, 40):
            try: os.kill(pid, 9)
            except OSError: pass
        """,
    ),
    _attack(
        "signal games",
        HOST,
        TIMEOUT,
        """
        import os, signal
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN):
            try: os.kill(os.getppid(), number)
            except OSError: pass
        while True: pass
        """,
    ),
    _attack("stops itself", HOST, TIMEOUT, "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"),
    _attack(
        "ptrace and its kin",
        HOST,
        FAILED,
        """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(64)
        for pid in {os.getppid(), 1}:
            libc.ptrace(16, pid, 0, 0)
            libc.ptrace(0x4206, pid, 0, 0)
            libc.syscall(311, pid, ctypes.byref(buffer), 1, ctypes.byref(buffer), 1, 0)
            libc.prlimit(pid, 0, (ctypes.c_ulong * 2)(0, 0), None)
        """,
    ),
    _attack(
        "sched_setaffinity and priorities",
        HOST,
        FAILED,
        """
        import os
        for pid in (0, os.getppid(), 1):
            for change in (
                lambda: os.sched_setaffinity(pid, {0}),
                lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
                lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
            ):
                try: change()
                except (OSError, ValueError): pass
        """,
    ),
    _attack(
        "a daemon that outlives the run",
        HOST,
        FAILED,
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.setsid()
                time.sleep(20)
            os._exit(0)
        """,
    ),
    _attack(
        "a daemon, while the parent ends",
        HOST,
        ERROR,
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            time.sleep(20)
            os._exit(0)
        time.sleep(0.1)
        os._exit(0)
        """,
    ),
    _attack(
        "leaves the jail",
        HOST,
        FAILED,
        """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        for flags in (0x10000000, 0x20000, 0x10000000 | 0x20000):
            libc.unshare(flags)
        libc.mount(b'none', b'/', None, 16384 | (1 << 18), None)
        libc.umount2(b'/proc', 2)
        libc.mount(b'tmpfs', b'/usr', b'tmpfs', 0, None)
        for call in (lambda: os.setuid(0), lambda: os.chroot('.'), lambda: os.mknod('disk', 0o60600, 0xfe00)):
            try: call()
            except (OSError, AttributeError): pass
        """,
    ),
    # --- resources
    _attack(
        "fork bomb",
        RESOURCES,
        (TIMEOUT, ERROR, FAILED),
        """
        import os
        while True:
            try: os.fork()
            except OSError: pass
        """,
    ),
    _attack(
        "thread bomb",
        RESOURCES,
        (ERROR, TIMEOUT, MEMORY),
        """
        import threading, time
        while True: threading.Thread(target=time.sleep, args=(60,)).start()
        """,
    ),
    _attack("bytes(10**11)", RESOURCES, MEMORY, "def answer(x): return bytes(10**11)"),
    _attack("'a' * 10**11", RESOURCES, MEMORY, "def answer(x): return 'a' * 10**11"),
    _attack(
        "list of a product",
        RESOURCES,
        (MEMORY, TIMEOUT),
        "import itertools\ndef answer(x): return list(itertools.product(range(100), repeat=8))",
    ),
    _attack("10**10**8", RESOURCES, TIMEOUT, "def answer(x): return 10**10**8"),
    _attack(
        "memory by many processes",
        RESOURCES,
        (MEMORY, ERROR, TIMEOUT),
        """
        import os, time
        for _ in range(8):
            if os.fork() == 0:
                held = bytearray(100_000_000)
                time.sleep(20)
        time.sleep(20)
        """,
    ),
    _attack(
        "regular expression without end",
        RESOURCES,
        TIMEOUT,
        "import re\ndef answer(x): return re.match('(a+)+$', 'a' * 40 + 'b')",
    ),
    _attack("loop without end", RESOURCES, TIMEOUT, "while True: pass"),
    _attack("sleep without end", RESOURCES, TIMEOUT, "import time\ndef answer(x): time.sleep(10**6)"),
    _attack(
        "CPU time spread over processes",
        RESOURCES,
        TIMEOUT,
        """
        import os
        for _ in range(4): os.fork()
        while True: pass
        """,
    ),
    _attack(
        "a gigabyte of output",
        RESOURCES,
        (FAILED, TIMEOUT),
        """
        import os
        block = b'passed\\n' * 10000
        for _ in range(15000): os.write(1, block)
        """,
    ),
    _attack("brackets without end", RESOURCES, UNPARSABLE, "(" * 50_000 + "\nanswer = 0"),
    _attack(
        "recursion in C",
        RESOURCES,
        (ERROR, MEMORY),
        """
        import sys
        sys.setrecursionlimit(10**9)
        class Deep:
            def __getattr__(self, name): return getattr(self, name)
            def __repr__(self): return repr(self)
        def answer(x): return [repr(Deep()), Deep().x]
        """,
    ),
    # --- files
    _attack(
        "deletes the working directory",
        FILES,
        FAILED,
        """
        import os, shutil
        here = os.getcwd()
        shutil.rmtree(here, ignore_errors=True)
        try: os.rename(here, here + '-gone')
        except OSError: pass
        """,
    ),
    _attack(
        "fills the disk",
        FILES,
        FAILED,
        """
        import os
        for number in range(40):
            try:
                with open(f'voirdire-stray-{number}', 'wb') as file: file.write(bytes(4_000_000))
            except OSError: pass
        """,
    ),
    _attack(
        "uses up the inodes, deeply",
        FILES,
        FAILED,
        """
        import os
        try:
            for number in range(6000):
                os.mkdir('d')
                os.chdir('d')
        except OSError: pass
        try:
            for number in range(6000): open(f'f{number}', 'w').close()
        except OSError: pass
        os.chmod('.', 0)
        """,
    ),
    _attack(
        "leaves files everywhere",
        FILES,
        FAILED,
        """
        import os
        places = ['/tmp', '/var/tmp', '/dev/shm', '/dev/mqueue', '/run', os.path.expanduser('~'), '/', '/root', '/work']
        for place in places:
            try:
                with open(f'{place}/voirdire-stray', 'w') as file: file.write('here')
            except OSError: pass
        """,
    ),
    _attack(
        "leaves shared memory",
        FILES,
        FAILED,
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        for key in range(0x70697200, 0x70697204): libc.shmget(key, 1_000_000, 0o1666)
        """,
    ),
    # --- network
    _attack(
        "calls the network",
        NETWORK,
        FAILED,
        """
        import socket
        for address in (('127.0.0.1', PORT), ('::1', PORT)):
            try: socket.create_connection(address, timeout=0.3)
            except OSError: pass
        """,
    ),
    _attack(
        "calls a local socket",
        NETWORK,
        FAILED,
        """
        import socket
        caller = socket.socket(socket.AF_UNIX)
        try: caller.connect(chr(0) + 'voirdire-listener-PORT')
        except OSError: pass
        """,
    ),
)


def observe(
    isolation: Isolation, proof: Proof, *, attacks: Sequence[Attack] = ATTACKS
) -> dict[str, Observation]:
    """Run every attack, each followed by a right sample, in one worker, and say what was seen after each."""
    watch = _Watch(isolation)
    task = Task("attacked", "answer", Tests(TestKind.CHECK, code=TESTS), proof=proof)
    observations: dict[str, Observation] = {}
    with watch.standing_by(), _one_in_hand():
        seen: list[tuple[Result, int, int, int, bool]] = []

        def look(result: Result) -> None:
            seen.append((result, watch.survivors(), watch.strays(), watch.reached(), watch.bystander_lives()))

        samples = [
            sample
            for attack in attacks
            for sample in (
                Sample(attack.name, task.task_id, "hostile", attack.code.replace("PORT", str(watch.port))),
                Sample("next", task.task_id, "honest", RIGHT),
            )
        ]
        results = execute(
            [task], samples, limits=LIMITS, isolation=isolation, workers=1, unsafe=True, on_result=look
        )
        for _ in results:
            pass
        for hostile, honest in zip(seen[::2], seen[1::2], strict=True):
            result, survivors, strays, reached, lives = hostile
            observations[result.sample_id] = Observation(
                attack=result.sample_id,
                status=str(result.truth.status),
                error=result.error,
                survivors=survivors,
                strays=strays,
                reached=reached,
                bystander_lives=lives,
                next_passed=honest[0].truth.status == "passed",
            )
    return observations


@contextlib.contextmanager
def _one_in_hand() -> Iterator[None]:
    """Let the worker hold one sample at a time, so that between two results nothing may run."""
    before, driver.IN_HAND = driver.IN_HAND, 1
    try:
        yield
    finally:
        driver.IN_HAND = before


_OF_A_WORKER = {Isolation.PROCESS: 3, Isolation.NAMESPACE: 4, Isolation.BUBBLEWRAP: 6, Isolation.CONTAINER: 1}
"""Processes of the host that a worker itself consists of: launcher, tester, zygote and what leads it there."""


class _Watch:
    """Looks at the host between two samples."""

    def __init__(self, isolation: Isolation) -> None:
        self._isolation = isolation
        self._listeners: list[socket.socket] = []
        self._bystander: subprocess.Popen[bytes] | None = None
        self._older: frozenset[int] = frozenset()
        self.port = 0

    @contextlib.contextmanager
    def standing_by(self) -> Iterator[None]:
        """Have listeners and a process that nobody may touch."""
        self._listen()
        self._older = frozenset(process_table.descendants(os.getpid()))
        self._bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        try:
            yield
        finally:
            self._bystander.kill()
            self._bystander.wait()
            for listener in self._listeners:
                listener.close()
            self.strays()

    def _listen(self) -> None:
        over_ip = socket.create_server(("127.0.0.1", 0))
        self.port = over_ip.getsockname()[1]
        local = socket.socket(socket.AF_UNIX)
        local.bind(f"\0voirdire-listener-{self.port}")
        local.listen()
        self._listeners = [over_ip, local]
        for listener in self._listeners:
            listener.setblocking(False)

    def bystander_lives(self) -> bool:
        assert self._bystander is not None
        return self._bystander.poll() is None

    def reached(self) -> int:
        """Return how many calls came since the last look, and hang up on them."""
        calls = 0
        for listener in self._listeners:
            with contextlib.suppress(BlockingIOError):
                while True:
                    listener.accept()[0].close()
                    calls += 1
        return calls

    def survivors(self) -> int:
        """Return how many processes came beside those that a worker consists of; what other tests left does not count."""
        ours = list(process_table.descendants(os.getpid()))
        assert self._bystander is not None
        workers = [pid for pid in ours if pid != self._bystander.pid and pid not in self._older]
        fled = [pid for pid in _throwaway() if pid not in ours]
        return max(0, len(workers) - _OF_A_WORKER[self._isolation]) + len(fled)

    def strays(self) -> int:
        """Remove the files and the shared memory that attacks left on the host, and return how many there were."""
        places = {
            "/tmp",
            "/var/tmp",
            "/dev/shm",
            "/run",
            "/",
            "/root",
            "/work",
            tempfile.gettempdir(),
            os.getcwd(),
        }
        places |= {str(path) for path in Path(tempfile.gettempdir()).glob("voirdire-*")}
        found = [path for place in places for path in Path(place).glob(f"{MARK}*")]
        for path in found:
            with contextlib.suppress(OSError):
                path.unlink()
        return len(found) + _shared_memory()


def _throwaway() -> list[int]:
    """Return the processes of users that only candidates of this process's workers are, wherever they hang now."""
    first = driver._throwaway_user(0) - 1
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if first <= os.stat(f"/proc/{name}").st_uid < first + 1024:
                found.append(int(name))
    return found


def _shared_memory() -> int:
    """Remove shared memory with the attack's keys; return how many pieces there were."""
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    ids = [line.split()[1] for line in lines if 0x70697200 <= int(line.split()[0]) & 0xFFFFFFFF < 0x70697204]
    for one in ids:
        subprocess.run(["ipcrm", "-m", one], check=False)
    return len(ids)
