"""The command line as a whole: help, unknown words, errors, exit codes, stopped and broken runs."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from voirdire import plugins
from voirdire.cli import _main as cli
from voirdire.cli._main import spoken
from voirdire.errors import DataError, JudgeError, VoirdireError


def with_command(monkeypatch: pytest.MonkeyPatch, function: Callable[..., object]) -> None:
    """Let `voirdire trial` be the given function."""
    load, names = plugins.load, plugins.names
    monkeypatch.setattr(
        plugins,
        "load",
        lambda room, name: SimpleNamespace(command=function) if name == "trial" else load(room, name),
    )
    monkeypatch.setattr(plugins, "names", lambda room: sorted([*names(room), "trial"]))


def faulty() -> None:
    raise KeyError("absent")


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(words) == cli.FINE
    shown = capsys.readouterr().out
    for name in plugins.names("cli"):
        assert f"\n  {spoken(name)} " in shown
    assert max(len(line) for line in shown.splitlines()) <= cli.COLUMNS
    assert "?." not in shown


def test_help_after_a_command_is_that_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["help", "list"]) == cli.run(["list", "--help"]) == cli.FINE
    first, second = capsys.readouterr().out.split("Usage: voirdire list")[1:]
    assert first == second


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == cli.FINE
    assert capsys.readouterr().out == "voirdire 0.1.0\n"


def test_an_unknown_command_gets_close_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["lisst"]) == cli.USAGE
    assert capsys.readouterr().err == (
        "there is no command 'lisst'\n  hint: did you mean list? `voirdire --help` lists the commands\n"
    )


def test_an_option_before_a_command_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--jsn"]) == cli.USAGE
    assert "there is no option '--jsn' before a command" in capsys.readouterr().err


def test_an_unknown_option_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["list", "--jsn"]) == cli.USAGE
    told = capsys.readouterr().err
    assert "--jsn" in told
    assert "  hint: `voirdire list --help` shows the arguments and options" in told


@pytest.mark.parametrize(
    ("error", "code"),
    [(DataError("bad file", hint="mend it"), 2), (JudgeError("no answer", hint="mend it"), 3)],
)
def test_an_error_on_purpose_is_two_lines_and_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: VoirdireError, code: int
) -> None:
    def fail() -> None:
        raise error

    with_command(monkeypatch, fail)
    assert cli.run(["trial"]) == code
    assert capsys.readouterr().err == f"{error}\n  hint: mend it\n"


def test_an_error_cannot_steer_the_terminal() -> None:
    assert cli.told(DataError("item '\x1b[2J\u202e'")) == "item '\\x1b[2J\\u202e'"


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (1, 1), (3, 3)])
def test_what_a_command_returns_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, returned: int | None, code: int
) -> None:
    with_command(monkeypatch, lambda: returned)
    assert cli.run(["trial"]) == code


def test_a_bug_asks_for_a_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with_command(monkeypatch, faulty)
    assert cli.run(["trial"]) == cli.BUG
    told = capsys.readouterr().err
    assert told.startswith("this is a bug in voirdire: KeyError: 'absent'\n  hint: please report it")
    assert "Traceback" not in told


def test_a_bug_shows_its_place_when_debugging(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_command(monkeypatch, faulty)
    monkeypatch.setenv("VOIRDIRE_DEBUG", "1")
    assert cli.run(["trial"]) == cli.BUG
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_incomplete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def wait() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with_command(monkeypatch, wait)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert cli.run(["trial"]) == cli.INCOMPLETE
    finally:
        signal.signal(signal.SIGINT, before)
    assert "stopped by Ctrl-C" in capsys.readouterr().err


def test_a_reader_that_leaves_early_gets_no_traceback() -> None:
    program = "import sys; from voirdire.cli import run; sys.exit(run(['list', '--json']))"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert b"Traceback" not in child.stderr.read()


def test_a_terminal_without_unicode_gets_escapes(tmp_path: Path) -> None:
    program = "import sys; from voirdire.cli import run; sys.exit(run(['caf\\u00e9']))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == cli.USAGE
    assert done.stderr.startswith("there is no command 'caf\\xe9'")
