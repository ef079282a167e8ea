"""The summary says whether the browser tests ran, and a run that needs them fails without them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

TESTS = """
import pytest

@pytest.mark.browser
def test_page(chromium):
    assert chromium

def test_other():
    pass
"""

CONFIG = "[pytest]\nmarkers =\n    browser: needs a Chromium\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(CONFTEST, tmp_path / "conftest.py")
    (tmp_path / "pytest.ini").write_text(CONFIG)
    (tmp_path / "test_pages.py").write_text(TESTS)
    return tmp_path


def summary(folder: Path, *options: str, **environment: str) -> tuple[int, str]:
    """Return pytest's exit code and what it printed, with no Chromium on the path."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CHROMIUM", "VOIRDIRE", "PYTEST"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={**kept, "PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def fake_chromium(folder: Path) -> str:
    path = folder / "chromium"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_without_a_chromium_the_summary_says_so(folder: Path) -> None:
    code, shown = summary(folder)
    assert code == 0
    assert "browser tests: not run (no Chromium found)\n" in shown


def test_without_a_chromium_a_run_that_needs_it_fails(folder: Path) -> None:
    code, shown = summary(folder, VOIRDIRE_REQUIRE_BROWSER="1")
    assert code == 1
    assert (
        "browser tests: not run (no Chromium found), but VOIRDIRE_REQUIRE_BROWSER=1 wants them: failed"
        in shown
    )


def test_leaving_them_out_fails_too_where_they_must_run(folder: Path) -> None:
    code, _ = summary(
        folder, "-m", "not browser", CHROMIUM=fake_chromium(folder), VOIRDIRE_REQUIRE_BROWSER="1"
    )
    assert code == 1


def test_with_a_chromium_they_are_counted(folder: Path) -> None:
    path = fake_chromium(folder)
    code, shown = summary(folder, CHROMIUM=path, VOIRDIRE_REQUIRE_BROWSER="1")
    assert code == 0
    assert f"browser tests: 1 run with {path}\n" in shown


def test_spread_over_processes_they_are_counted_too(folder: Path) -> None:
    code, shown = summary(
        folder, "-p", "xdist", "-n", "1", CHROMIUM=fake_chromium(folder), VOIRDIRE_REQUIRE_BROWSER="1"
    )
    assert code == 0
    assert "browser tests: 1 run with" in shown
