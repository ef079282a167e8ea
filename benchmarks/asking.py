"""What a judge call costs: calls per second and CPU time a call, side by side with other clients.

A server in its own process answers every chat request after 20 ms; each client makes the same calls, 64 at once,
in a fresh process. Voirdire's row includes filling the prompts, the ledger and reading every answer. CPU time is the
client's own, imports excluded. Run it with the packages of `requirements/bench.txt`:

    python benchmarks/asking.py [--calls 5000] [--in-flight 64] [--rounds 3] [--out benchmarks/results]

writes `asking.json` into the folder and the table into `docs/performance.md`.
"""

import argparse
import asyncio
import contextlib
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
DELAY = 0.02
MODEL = "gpt-4o-mini"
PROMPT = "You are an expert grader. " * 20
BEGIN, END = "<!-- asking: begin -->", "<!-- asking: end -->"


@dataclass(frozen=True)
class Measured:
    """One client's run: wall-clock and CPU seconds for so many calls."""

    client: str
    calls: int
    wall: float
    cpu: float
    memory: int

    @property
    def per_second(self) -> float:
        """Calls per second."""
        return self.calls / self.wall

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds a call."""
        return 1000 * self.cpu / self.calls


class Stopwatch:
    """Wall-clock and CPU time of this process since it was made."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def stop(self, client: str, calls: int) -> Measured:
        """Return what was measured."""
        return Measured(
            client=client,
            calls=calls,
            wall=time.perf_counter() - self._wall,
            cpu=time.process_time() - self._cpu,
            memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        )


@dataclass(frozen=True)
class Task:
    """What a client has to do."""

    client: str
    url: str
    calls: int
    in_flight: int
    ledger: str


def prompt(k: int) -> str:
    """Return the k-th prompt."""
    return f"{PROMPT}PROBLEM {k}\nSCORE (0 to 10):"


# --- the clients; each returns what it measured -----------------------------------------------------


def voirdire(task: Task) -> Measured:
    """Fill the prompts, ask, keep every answer in the ledger, read it."""
    from voirdire.engine.ask import Asker
    from voirdire.engine.budget import Budget
    from voirdire.engine.ledger import Ledger
    from voirdire.engine.pace import AdaptivePace
    from voirdire.engine.plan import calls_for
    from voirdire.engine.progress import NoProgress
    from voirdire.judges import open_judge
    from voirdire.model import Asking, Item, JudgeSpec, Message, ReaderSpec
    from voirdire.questions import Score

    _import_ahead("aiohttp", "voirdire.judges.openai", "voirdire.readers.first_line")
    asking = Asking(
        messages=(Message("user", PROMPT + "PROBLEM {{problem}}\nSCORE (0 to 10):"),),
        questions=(Score("SCORE", "How good is it?"),),
        reader=ReaderSpec("first_line"),
    )
    watch = Stopwatch()
    items = [Item(str(k), {"problem": str(k)}) for k in range(task.calls)]
    spec = JudgeSpec(
        name="bench",
        backend="openai",
        model=MODEL,
        asking=asking,
        sampling={"temperature": 0},
        options={"base_url": task.url},
    )
    judge = open_judge(spec)

    async def run() -> int:
        with Ledger(task.ledger) as ledger:
            asker = Asker(
                ledger=ledger,
                pace=AdaptivePace(concurrency=task.in_flight),
                budget=Budget(),
                progress=NoProgress(),
            )
            calls = calls_for(judge, items, repeats=1)
            asker.forecast(calls)
            answers = await asker.ask(calls)
            await judge.close()
        return sum(verdicts[0].value == 7 for verdicts in answers)

    read = asyncio.run(run())
    return watch.stop(task.client, read)


def bare_aiohttp(task: Task) -> Measured:
    """Post JSON and take the content; nothing is kept or read."""
    import aiohttp

    async def run() -> int:
        connector = aiohttp.TCPConnector(limit=task.in_flight)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def ask(k: int) -> str:
                body = {"model": MODEL, "messages": _messages(k), "temperature": 0}
                async with session.post(f"{task.url}/chat/completions", json=body) as response:
                    data = await response.json()
                return str(data["choices"][0]["message"]["content"])

            return await _pool(task, ask)

    watch = Stopwatch()
    return watch.stop(task.client, asyncio.run(run()))


def openai_sdk(task: Task) -> Measured:
    """The vendor's own client, retries off; nothing is kept or read."""
    import openai

    async def run() -> int:
        async with openai.AsyncOpenAI(base_url=task.url, api_key="none", max_retries=0, timeout=60) as client:

            async def ask(k: int) -> str:
                answer = await client.chat.completions.create(
                    model=MODEL, messages=_messages(k), temperature=0
                )
                return str(answer.choices[0].message.content)

            return await _pool(task, ask)

    watch = Stopwatch()
    return watch.stop(task.client, asyncio.run(run()))


def inspect_ai(task: Task) -> Measured:
    """A peer framework: the same prompts as one task, with its log and a scorer."""
    from inspect_ai import Task as InspectTask
    from inspect_ai import eval as inspect_eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import get_model
    from inspect_ai.scorer import includes

    watch = Stopwatch()
    samples = [Sample(input=prompt(k), target="7") for k in range(task.calls)]
    with tempfile.TemporaryDirectory() as logs:
        log = inspect_eval(
            InspectTask(dataset=samples, scorer=includes()),
            model=get_model(f"openai/{MODEL}", base_url=task.url, api_key="none"),
            max_connections=task.in_flight,
            max_samples=task.in_flight,
            display="none",
            log_dir=logs,
        )[0]
        answered = len(log.samples or [])
    return watch.stop(task.client, answered)


def with_uvloop(client: Callable[[Task], Measured]) -> Callable[[Task], Measured]:
    """Return the client, run on uvloop."""

    def run(task: Task) -> Measured:
        import uvloop

        uvloop.install()
        return client(task)

    return run


CLIENTS: dict[str, Callable[[Task], Measured]] = {
    "voirdire": voirdire,
    "voirdire, replay": voirdire,
    "bare aiohttp": bare_aiohttp,
    "voirdire on uvloop": with_uvloop(voirdire),
    "bare aiohttp on uvloop": with_uvloop(bare_aiohttp),
    "openai SDK": openai_sdk,
    "inspect-ai": inspect_ai,
}


def _messages(k: int) -> Any:
    return [{"role": "user", "content": prompt(k)}]


async def _pool(task: Task, ask: Callable[[int], Awaitable[str]]) -> int:
    numbers = iter(range(task.calls))

    async def work() -> int:
        return sum([bool(await ask(k)) for k in numbers])

    return sum(await asyncio.gather(*(work() for _ in range(task.in_flight))))


def _import_ahead(*names: str) -> None:
    for name in names:
        __import__(name)


# --- running and showing them -----------------------------------------------------------------------


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Run the loop-back server in a process of its own; yields its base URL."""
    script = Path(__file__).with_name("loopback_server.py")
    with subprocess.Popen(
        [sys.executable, str(script), "--delay", str(DELAY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.stdin.close()


def measure(task: Task) -> Measured:
    """Run one client in a fresh process."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "INSPECT_DISPLAY": "none",
        "NO_PROXY": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, __file__, "--task", json.dumps(asdict(task))],
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def all_clients(options: argparse.Namespace) -> list[Measured]:
    """Run every client `rounds` times, in turn, and return the run of median CPU time of each."""
    runs: dict[str, list[Measured]] = {name: [] for name in options.clients}
    with server() as url, tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            for name in options.clients:
                ledger = f"{folder}/{'uvloop' if 'uvloop' in name else 'plain'}-{number}.sqlite"
                measured = measure(Task(name, url, options.calls, options.in_flight, ledger))
                print(
                    f"  {name}: {measured.per_second:,.0f}/s, {measured.cpu_ms:.3f} ms CPU", file=sys.stderr
                )
                runs[name].append(measured)
    return [_median(of_client) for of_client in runs.values()]


def _median(runs: list[Measured]) -> Measured:
    middle = statistics.median_low(run.cpu for run in runs)
    return next(run for run in runs if run.cpu == middle)


def table(measured: list[Measured], *, in_flight: int) -> str:
    """Return the results as a Markdown table."""
    ideal = in_flight / DELAY
    lines = [
        "| client | calls/s | of ideal | CPU ms a call | memory MB |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for run in measured:
        share = "-" if "replay" in run.client else f"{100 * run.per_second / ideal:.0f} %"
        lines.append(f"| {run.client} | {run.per_second:,.0f} | {share} | {run.cpu_ms:.3f} | {run.memory} |")
    return "\n".join(lines)


def section(measured: list[Measured], options: argparse.Namespace) -> str:
    """Return the section of the performance page."""
    return f"""{BEGIN}
## Asking a judge

{options.calls:,} calls, {options.in_flight} at once, to a server on the same machine that answers after {DELAY * 1000:.0f} ms: at best
{options.in_flight / DELAY:,.0f} calls a second. The rows of voirdire include filling the prompts, the ledger and reading each answer; the others
keep nothing, except for Inspect, which writes its log. {_rounds(options.rounds)}; {_machine()}.

{table(measured, in_flight=options.in_flight)}

Made by `benchmarks/asking.py`. Ratios carry over to another machine, times do not.
{END}"""


def _rounds(n: int) -> str:
    return "One round" if n == 1 else f"Median by CPU time of {n} rounds"


def _machine() -> str:
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def write_section(text: str) -> None:
    """Put the section into the page, in place of an earlier one."""
    page = PAGE.read_text() if PAGE.exists() else "# Performance\n"
    before, found, rest = page.partition(BEGIN)
    after = rest.partition(END)[2] if found else "\n"
    lead = before if found else before.rstrip("\n") + "\n\n"
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(lead + text + after)


def main() -> None:
    """Measure one client where `--task` is given (a child), else all of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", nargs="+", choices=list(CLIENTS), default=list(CLIENTS))
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--no-page", action="store_true", help="do not touch docs/performance.md")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        task = Task(**json.loads(options.task))
        print(json.dumps(asdict(CLIENTS[task.client](task))))
        return
    measured = all_clients(options)
    options.out.mkdir(parents=True, exist_ok=True)
    rows = [{**asdict(run), "calls_per_second": run.per_second, "cpu_ms": run.cpu_ms} for run in measured]
    (options.out / "asking.json").write_text(
        json.dumps({"machine": _machine(), "rows": rows}, indent=1) + "\n"
    )
    if not options.no_page:
        write_section(section(measured, options))
    print(table(measured, in_flight=options.in_flight))


if __name__ == "__main__":
    main()
