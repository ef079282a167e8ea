"""Finds the command that the arguments name, runs it, and turns errors into text and an exit code.

`voirdire --help` reads the first line of each command's file and imports none; a command imports only itself. This
does not stand in `__init__`, where the file `list.py` would take the place of the builtin of that name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from voirdire import plugins
from voirdire.errors import UsageError, VoirdireError

if TYPE_CHECKING:
    from typer.core import TyperCommand

FINE = 0
GATE_FAILED = 1
USAGE = 2
INCOMPLETE = 3
"""Exit codes: all asked and answered; a gate failed; asked in a way that cannot be done; incomplete or stopped."""

BUG = 70
"""Exit code of an error that we did not raise on purpose, as sysexits.h has it."""

COLUMNS = 80


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name (None: those of this process) and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _never_fail_to_print()
    try:
        with _sigterm_as_interrupt():
            return _dispatch(words)
    except VoirdireError as error:
        print(told(error), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("stopped by Ctrl-C or SIGTERM; the ledger keeps what was answered", file=sys.stderr)
        return INCOMPLETE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INCOMPLETE
    except Exception as error:
        print(_told_as_bug(error), file=sys.stderr)
        return BUG


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM, where nobody has taken it over, end the program as Ctrl-C does: what was answered is kept."""
    import signal
    import threading

    def interrupt(number: int, frame: object) -> None:  # noqa: ARG001 - a handler's shape
        if callable(signal.getsignal(signal.SIGINT)):
            signal.raise_signal(signal.SIGINT)
        else:
            raise KeyboardInterrupt

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    )
    if not ours:
        yield
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def told(error: VoirdireError) -> str:
    """Return what a person reads: the message and, indented below it, the hint."""
    return harmless(f"{error}\n  hint: {error.hint}" if error.hint else str(error))


def harmless(text: str) -> str:
    """Return the text with control characters shown as escapes: answers and names may not steer a terminal."""
    return "".join(letter if letter == "\n" or letter.isprintable() else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def overview() -> str:
    """Return the help of `voirdire` itself: every command with the first line of its file."""
    names = plugins.names("cli")
    width = max((len(name) for name in names), default=0)
    rows = [_row(spoken(name), plugins.summary("cli", name), width) for name in names]
    return "\n".join(
        [
            "Usage: voirdire COMMAND [ARGUMENTS] [OPTIONS]",
            "",
            "  Examines an LLM judge before anyone trusts its verdict.",
            "",
            "Commands:",
            *rows,
            "",
            "Options:",
            "  --version   Print the version.",
            "  -h, --help  Print this text; after a command, its own help.",
            "",
            "New here? `voirdire demo` shows what is found; `voirdire init` writes the files",
            "to examine your own judge with.",
        ]
    )


def spoken(name: str) -> str:
    """Return a command as it is typed: the file `mine_run.py` is the command `mine run`."""
    return name.replace("_", " ")


def built(name: str) -> TyperCommand:
    """Import one command and return it ready to parse arguments; UsageError with close names where there is none."""
    if name not in plugins.names("cli"):
        raise _unknown_command(name)
    from typer import Typer
    from typer.core import TyperCommand
    from typer.main import get_command

    app = Typer(
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": COLUMNS},
    )
    function: Callable[..., object] = plugins.load("cli", name).command
    app.command(spoken(name))(function)
    command = get_command(app)
    if not isinstance(command, TyperCommand):
        raise TypeError(f"command '{name}' is a {type(command).__name__}")
    return command


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        return _help(words[1:])
    if words[0] in ("-V", "--version"):
        return _version()
    if words[0].startswith("-"):
        raise UsageError(
            f"there is no option '{words[0]}' before a command",
            hint="write `voirdire COMMAND [OPTIONS]`; `voirdire --help` lists the commands",
        )
    return _invoke(*_command_of(words))


def _command_of(words: list[str]) -> tuple[str, list[str]]:
    """Return the command that the first two words name together, else the one of the first, and the words after it."""
    both = "_".join(words[:2])
    return (both, words[2:]) if len(words) > 1 and both in plugins.names("cli") else (words[0], words[1:])


def _help(words: list[str]) -> int:
    if words:
        return _invoke(_command_of(words)[0], ["--help"])
    print(overview())
    return FINE


def _version() -> int:
    from importlib.metadata import version

    print(f"voirdire {version('voirdire')}")
    return FINE


def _invoke(name: str, arguments: list[str]) -> int:
    command = built(name)
    from typer import Abort, Exit, TyperException

    try:
        with command.make_context(f"voirdire {spoken(name)}", arguments) as context:
            code = command.invoke(context)
    except Exit as stop:
        return stop.exit_code
    except Abort:
        raise KeyboardInterrupt from None
    except TyperException as error:
        message = error.format_message().rstrip(".").replace(": Value error, ", ": ")
        raise UsageError(
            message, hint=f"`voirdire {spoken(name)} --help` shows the arguments and options"
        ) from None
    return code if isinstance(code, int) else FINE


def _unknown_command(name: str) -> UsageError:
    from difflib import get_close_matches

    close = get_close_matches(name, plugins.names("cli"), n=3)
    meant = f"did you mean {' or '.join(map(spoken, close))}? " if close else ""
    return UsageError(f"there is no command '{name}'", hint=f"{meant}`voirdire --help` lists the commands")


def _row(name: str, summary: str, width: int) -> str:
    from textwrap import wrap

    lead = f"  {name:<{width}}  "
    sentence = summary if summary.endswith("?") else f"{summary}."
    lines = wrap(sentence, COLUMNS - len(lead))
    return lead + f"\n{' ' * len(lead)}".join(lines)


def _never_fail_to_print() -> None:
    """Show what a terminal's encoding cannot hold as an escape, instead of ending with a traceback."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")


def _told_as_bug(error: Exception) -> str:
    from traceback import format_exception

    line = f"{type(error).__name__}: {error}"
    if os.environ.get("VOIRDIRE_DEBUG") == "1":
        return f"{''.join(format_exception(error))}\nthis is a bug in voirdire: {line}"
    return (
        f"this is a bug in voirdire: {line}\n"
        "  hint: please report it with the command you ran; VOIRDIRE_DEBUG=1 shows where it happened"
    )
