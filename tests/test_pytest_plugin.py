"""The pytest plug-in in a test suite of its own: what passes, what fails with which words, and what it costs."""

import subprocess
import sys

import pytest

from voirdire.importers.items import write_items
from voirdire.model import Item

pytest_plugins = ["pytester"]

PLUGIN = ("-p", "no:voirdire", "-p", "voirdire.pytest", "-p", "no:cacheprovider")

JUDGES = """
CALLS = []

def good(task, first, second):
    CALLS.append(task)
    ranks = {"good": 2, "poor": 1}
    scores = [ranks.get(text.split(":")[0], 0) for text in (first, second)]
    return "tie" if scores[0] == scores[1] else "first" if scores[0] > scores[1] else "second"

def slot(task, first, second):
    return "first"
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with 40 pairs and two judges."""
    items = [
        Item(
            f"p{k}",
            {"task": f"Add {k}.", "response_a": f"good: {k}", "response_b": f"poor: {k}", "order": "ab"},
        )
        for k in range(40)
    ]
    write_items(items, pytester.path / "items.jsonl")
    pytester.makepyfile(judges=JUDGES)
    return pytester


def test_a_judge_that_holds_passes_and_a_second_run_asks_nobody(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        from voirdire.pytest import judge_holds

        def test_order():
            findings = judge_holds("position", "judges.py:good", "items.jsonl")
            assert [one.ruling.value for one in findings] == ["holds"]
        """
    )
    suite.runpytest_subprocess(*PLUGIN, "-W", "error").assert_outcomes(passed=1)
    import sqlite3
    from contextlib import closing

    def answers() -> int:
        with closing(sqlite3.connect(suite.path / ".voirdire/ledger.sqlite")) as ledger:
            return int(ledger.execute("SELECT count(*) FROM answers").fetchone()[0])

    before = answers()
    suite.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=1)
    assert answers() == before > 0
    assert not (suite.path / "voirdire-out").exists()


def test_a_judge_that_leaks_fails_with_the_sentence_and_the_page(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        def test_order(judge_holds):
            judge_holds("position", "judges.py:slot", "items.jsonl")
        """
    )
    result = suite.runpytest_subprocess(*PLUGIN, "--voirdire-out", "pages")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "position, the judge in general: leaks. first-slot advantage 1.00*",
            "page: pages/position-*/report.html",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert len(list((suite.path / "pages").glob("position-*/report.html"))) == 1


def test_items_of_code_open_judges_and_running_loops(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import asyncio
        from voirdire.importers.items import read_items
        from pathlib import Path
        from voirdire.pytest import judge_holds

        def test_inside_a_loop():
            async def main():
                return judge_holds("position", "judges.py:good", read_items(Path("items.jsonl")))
            assert asyncio.run(main())
        """
    )
    suite.runpytest_subprocess(*PLUGIN, "-W", "error").assert_outcomes(passed=1)


def test_a_run_that_its_limit_stopped_fails_as_incomplete(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        def test_order(judge_holds):
            judge_holds("position", "judges.py:good", "items.jsonl")
        """
    )
    result = suite.runpytest_subprocess(
        *PLUGIN, "--voirdire-max-calls", "10", "--voirdire-ledger", "mine.sqlite"
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the run is incomplete: *--max-calls*"])
    assert (suite.path / "mine.sqlite").exists()


def test_the_ini_file_names_the_ledger(suite: pytest.Pytester) -> None:
    suite.makeini("[pytest]\nvoirdire_ledger = kept/answers.sqlite\n")
    suite.makepyfile("def test_order(judge_holds): judge_holds('position', 'judges.py:good', 'items.jsonl')")
    suite.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=1)
    assert (suite.path / "kept/answers.sqlite").exists()


def test_wrong_use_is_an_error_that_says_what_to_do(suite: pytest.Pytester) -> None:
    suite.makepyfile("def test_order(judge_holds): judge_holds('positoin', 'judges.py:good', 'items.jsonl')")
    result = suite.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*UsageError: there is no probe 'positoin'*"])


def test_loading_the_plug_in_imports_nothing_heavy_and_nothing_of_ours() -> None:
    program = (
        "import sys, pytest; before = set(sys.modules); import voirdire.pytest; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"voirdire", "voirdire.pytest"}


def test_a_suite_that_does_not_use_it_is_not_touched(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import sys

        def test_nothing_was_loaded():
            assert not {"numpy", "polars", "voirdire.model"} & set(sys.modules)
        """
    )
    suite.runpytest_subprocess(*PLUGIN, "-W", "error").assert_outcomes(passed=1)
    assert not (suite.path / ".voirdire").exists()
