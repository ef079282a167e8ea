"""What all tests share: a clean environment, a Chromium where there is one, and what is said where there is none."""

import os
import shutil

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True, database=None, print_blob=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("VOIRDIRE_HYPOTHESIS", "house"))

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str | None:
    """Return the path of the Chromium that CHROMIUM names or the path holds, or None."""
    named = os.environ.get("CHROMIUM", "")
    found = (shutil.which(name) for name in (named, *CHROMIUMS) if name)
    return next((path for path in found if path), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium; the test is skipped where there is none."""
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium found")
    return path


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings and keys of whoever runs the tests change nothing, and no test can spend their money."""
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name in ("VOIRDIRE_LEDGER", "VOIRDIRE_DEBUG"):
            monkeypatch.delenv(name)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Say whether the browser tests ran, and with what."""
    line = _about_browser_tests(terminalreporter)
    if line:
        terminalreporter.write_line(line)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run where the browser tests had to run and did not."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not _browser_required() or hasattr(session.config, "workerinput") or reporter is None:
        return
    if _ran(reporter) == 0 and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _browser_required() -> bool:
    return os.environ.get("VOIRDIRE_REQUIRE_BROWSER") == "1"


def _ran(reporter: TerminalReporter) -> int:
    reports = [*reporter.getreports("passed"), *reporter.getreports("failed")]
    return sum(report.when == "call" and "browser" in report.keywords for report in reports)


def _skipped(reporter: TerminalReporter) -> int:
    return sum("browser" in report.keywords for report in reporter.getreports("skipped"))


def _about_browser_tests(reporter: TerminalReporter) -> str:
    ran = _ran(reporter)
    if ran:
        return f"browser tests: {ran} run with {find_chromium()}"
    if _skipped(reporter) or _browser_required():
        reason = "no Chromium found" if find_chromium() is None else "none selected"
        must = ", but VOIRDIRE_REQUIRE_BROWSER=1 wants them: failed" if _browser_required() else ""
        return f"browser tests: not run ({reason}){must}"
    return ""
