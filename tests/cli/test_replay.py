"""The command `replay`: from files to the page, with judges that are asked, recorded, or none."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.test_execute import PROGRAMS
from tests.studies.test_replay_files import lines, tasks_file
from voirdire.cli import _main as cli
from voirdire.studies._replay_judge import shipped_prompt


def inputs(folder: Path) -> list[str]:
    """Write samples of two checkpoints and return the arguments that name them."""
    base, trained = (
        lines(
            folder / f"{name}.jsonl",
            [
                {"task_id": f"HumanEval/{task}", "solution": code.replace("f0", f"f{task}")}
                for task in range(3)
                for code in codes
            ],
        )
        for name, codes in (
            ("base", [PROGRAMS["right"], PROGRAMS["wrong"]]),
            ("trained", [PROGRAMS["broken"], PROGRAMS["renamed"]]),
        )
    )
    return [f"base={base}", f"trained={trained}", "--tasks", str(tasks_file(folder))]


def run(folder: Path, *more: str) -> int:
    words = ["--out", str(folder / "out"), "--ledger", str(folder / "ledger.sqlite")]
    return cli.run(["replay", *inputs(folder), *words, *more])


def findings(folder: Path) -> dict[str, str]:
    found = json.loads((folder / "out" / "findings.json").read_text())["findings"]
    return {f"{one['name']}: {one['subject']}": one["sentence"] for one in found}


def test_one_command_from_samples_to_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(
        tmp_path,
        *(
            "--judge",
            "planted:always_first",
            "--judge",
            "planted:always_second",
            "--run",
            "--isolation",
            "process",
            "--unsafe",
        ),
    )
    assert code == cli.FINE
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {
        *("findings.json", "report.html", "replay.parquet", "dose.parquet"),
        *("pass_at_k.csv", "differences.csv"),
    }
    frame = pl.read_parquet(tmp_path / "out" / "replay.parquet")
    assert frame.height == 2 * 12
    assert frame.group_by("judge").agg(pl.col("value").mean()).sort("value")["value"].to_list() == [0.0, 1.0]
    trained = frame.filter((pl.col("author") == "trained") & (pl.col("judge") == "planted:always_first"))
    assert trained["truth_status"].to_list() == ["unparsable", "no_entry_point"] * 3
    assert trained["truth_passed_renamed"].to_list() == [False, True] * 3
    assert (
        "Of 3 executed samples that do not parse none has execution credit"
        in findings(tmp_path)["execution_check: 3 samples"]
    )
    page = (tmp_path / "out" / "report.html").read_text()
    for said in (
        "Four readings of the same samples",
        "What parses, and what each reading sees of it",
        "run under the isolation process",
    ):
        assert said in page
    assert "plan: " in capsys.readouterr().out


def test_every_k_stands_in_the_tables_beside_the_page(tmp_path: Path) -> None:
    run(tmp_path, "--judge", "planted:always_first", "--dose", "none")
    curves = pl.read_csv(tmp_path / "out" / "pass_at_k.csv")
    assert set(curves["k"]) == {1, 2}
    assert set(pl.read_csv(tmp_path / "out" / "differences.csv")["reading"]) == {"judge", "judge and gate"}
    assert not (tmp_path / "out" / "dose.parquet").exists()


def test_recorded_verdicts_and_results_ask_and_run_nothing(tmp_path: Path) -> None:
    verdicts = lines(
        tmp_path / "verdicts.jsonl",
        [
            {"checkpoint": name, "task": f"HumanEval/{task}", "sample": sample, "value": 1}
            for name in ("base", "trained")
            for task in range(3)
            for sample in range(2)
        ],
    )
    results = lines(
        tmp_path / "results.jsonl",
        [
            {
                "task_id": f"HumanEval/{task}",
                "sample": sample,
                "status": "passed" if not sample else "failed",
                "passed": not sample,
            }
            for task in range(3)
            for sample in range(2)
        ],
    )
    assert run(tmp_path, "--verdicts", f"72B={verdicts}", "--results", f"base={results}") == cli.FINE
    frame = pl.read_parquet(tmp_path / "out" / "replay.parquet")
    assert set(frame["judge"]) == {"72B"}
    assert frame.filter(pl.col("author") == "base")["truth_passed"].to_list() == [True, False] * 3
    assert frame.filter(pl.col("author") == "trained")["truth_passed"].null_count() == 6


def test_a_judge_that_always_raises_ends_the_run_as_incomplete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = tmp_path / "pj.py"
    judge.write_text("def dead(problem, candidate):\n    raise RuntimeError('no')\n")
    assert run(tmp_path, "--judge", f"{judge}:dead", "--limit", "1") == cli.INCOMPLETE
    shown = capsys.readouterr().out
    assert "partial: " in shown
    assert "RuntimeError" in shown
    assert (tmp_path / "out" / "report.html").exists()


def test_a_verdict_file_with_a_row_twice_is_accounted_for_and_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"checkpoint": "base", "task": "HumanEval/0", "sample": 0, "value": 1}
    one, two = (lines(tmp_path / name, [row, row]) for name in ("one.jsonl", "two.jsonl"))
    assert run(tmp_path, "--verdicts", f"A={one}", "--verdicts", f"B={two}") == cli.FINE
    shown = capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text()
    assert "one.jsonl, 1 duplicate: line 2: sample 0 of 'HumanEval/0' is on line 1" in shown
    assert "one.jsonl, 1 duplicate" in page
    assert (
        "A: The judge accepts" in findings(tmp_path)["parse_gate: judge"] or "B: The judge accepts" in shown
    )
    assert "; 2 judges" in page


def results_of(folder: Path, name: str, *, proof: str = "separate") -> Path:
    """Write results of one checkpoint as `execute` does: its first samples pass."""
    return lines(
        folder / f"{name}.results.jsonl",
        [
            {
                "task_id": f"HumanEval/{task}",
                "sample": sample,
                "system": name,
                "pass": "",
                "status": "failed" if sample else "passed",
                "passed": not sample,
                "proof": proof,
                "isolation": "namespace",
                "error": "",
            }
            for task in range(3)
            for sample in range(2)
        ],
    )


def test_results_say_whose_they_are_and_how_they_were_run(tmp_path: Path) -> None:
    assert run(tmp_path, "--results", str(results_of(tmp_path, "base"))) == cli.FINE
    frame = pl.read_parquet(tmp_path / "out" / "replay.parquet")
    assert frame.filter(pl.col("author") == "trained")["truth_passed"].null_count() == 6
    assert frame.filter(pl.col("author") == "base")["truth_apart"].to_list() == [True, False] * 3
    page = (tmp_path / "out" / "report.html").read_text()
    assert "base.results.jsonl: Samples were run under the isolation namespace." in page
    assert "tests apart alone" not in page


def test_credit_beside_the_tests_is_said_and_pass_at_k_given_without_it(tmp_path: Path) -> None:
    results = results_of(tmp_path, "base", proof="shared")
    assert run(tmp_path, "--results", f"base={results}") == cli.FINE
    curves = pl.read_csv(tmp_path / "out" / "pass_at_k.csv").filter(pl.col("k") == 1)
    found = dict(curves.select("reading", "pass_at_k").iter_rows())
    assert found == {"execution": 0.5, "execution, tests apart alone": 0.0}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "3 of the 3 samples that pass, of 3 tasks, were tested in their own interpreter" in page
    assert "Execution counts samples whose tests ran beside them" in page


def test_results_of_nobody_here_and_of_other_programs_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--results", str(results_of(tmp_path, "other"))) == cli.USAGE
    assert "belongs to base, trained" in capsys.readouterr().err
    path = results_of(tmp_path, "base")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    lines(path, [{**row, "solution": "def another(): pass"} for row in rows])
    assert run(tmp_path, "--results", str(path)) == cli.USAGE
    assert "sample 0 of 'HumanEval/0' is another program than in base" in capsys.readouterr().err


def test_bad_lines_are_named_and_the_rest_is_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.jsonl"
    good = json.dumps({"task_id": "HumanEval/0", "sample": 0, "solution": PROGRAMS["right"]})
    lost = json.dumps({"task_id": "HumanEval/9", "solution": "x"})
    bad = [good, good, lost, '{"task_id": "HumanEval/1"}', '{"task_id": "HumanEval/1", "solution": "\xe9"}']
    path.write_bytes("\n".join([*bad, '{"task_id": "Hum']).encode("latin-1"))
    words = ["replay", f"base={path}", "--tasks", str(tasks_file(tmp_path)), "--out", str(tmp_path / "out")]
    assert cli.run([*words, "--ledger", str(tmp_path / "l.sqlite")]) == cli.FINE
    shown = capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text()
    for said in (
        "bad.jsonl: 6 entries, 1 samples",
        "line 2: sample 0 of &#39;HumanEval/0&#39; is on line 1",
        "line 3: there is no task &#39;HumanEval/9&#39;",
        "line 4: &#39;HumanEval/1&#39; has neither solution nor completion",
        "line 5: byte",
        "line 6: the last line is cut off",
    ):
        assert said.replace("&#39;", "'") in shown
        assert said in page or said.replace("&#39;", "'") in page


def test_a_dry_run_asks_nothing_and_tells_the_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--judge", "planted:coin", "--dry-run", "--json") == cli.FINE
    assert json.loads(capsys.readouterr().out)["calls"] > 12
    assert not (tmp_path / "out").exists()


def test_a_budget_leaves_the_rest_missing_and_the_run_partial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--judge", "planted:coin", "--max-calls", "5", "--json") == cli.INCOMPLETE
    told = json.loads(capsys.readouterr().out)
    assert told["account"]["asked"] == 5
    frame = pl.read_parquet(tmp_path / "out" / "replay.parquet")
    assert frame["value"].null_count() == 7
    assert set(frame.filter(pl.col("value").is_null())["missing_because"]) == {
        "not asked: --max-calls 5 reached"
    }


def test_the_prompt_can_be_printed_changed_and_given_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["replay", "--print-prompt"]) == cli.FINE
    shown = capsys.readouterr().out
    assert shown == shipped_prompt()
    mine = tmp_path / "mine.toml"
    mine.write_text(shown.replace("A correct solution:\n{{gold}}\n", ""))
    assert run(tmp_path, "--judge", "planted:coin", "--prompt", str(mine), "--dose", "none") == cli.FINE


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dose", "2"], "'2' is no share"),
        (["--dosed", "other"], "no checkpoint 'other' to damage"),
        (["--results", "other=x.jsonl"], "no samples of 'other'"),
        (["--judge", "nobody"], "names no judge"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert run(tmp_path, *words) == cli.USAGE
    assert message in capsys.readouterr().err


def test_without_samples_or_tasks_there_is_no_replay(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["replay"]) == cli.USAGE
    assert "a replay needs samples and their tasks" in capsys.readouterr().err
