"""How samples in languages other than Python are run: one command each, where its tool is present."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from voirdire.errors import UsageError
from voirdire.execution.jail.tester import CODE
from voirdire.execution.tasks import PYTHON, Task, TestKind


@dataclass(frozen=True)
class Command:
    """A command with the files it reads; the candidate's code stands in them as CODE. `roots`: what it must see."""

    command: tuple[str, ...]
    files: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    roots: tuple[str, ...] = ()

    def as_data(self) -> dict[str, object]:
        """Return what the worker needs, as plain data."""
        return {
            "command": list(self.command),
            "files": dict(self.files),
            "environment": dict(self.environment),
        }


def command_of(task: Task) -> Command | None:
    """Return how the task's samples are run; None: Python, by the worker itself.

    Raises UsageError where the language is not known, its tool is missing, or such tests cannot be run in it.
    """
    if task.language == PYTHON:
        return None
    builder = _BUILDERS.get(task.language)
    if builder is None:
        raise UsageError(
            f"task '{task.task_id}': no way to run the language '{task.language}'",
            hint=f"choose one of: {', '.join([PYTHON, *_BUILDERS])}",
        )
    if task.tests.kind not in (TestKind.PROGRAM, TestKind.STREAMS):
        raise UsageError(
            f"task '{task.task_id}': tests of the kind '{task.tests.kind}' exist for Python only",
            hint="use `streams`, or `program` with a file of asserts",
        )
    return builder(task)


_NODE_MEMORY = "--max-old-space-size=512"
_NODE_ENDING = (
    ";\nprocess.on('exit', (code) => "
    "{ if (!code) require('fs').writeSync(1, require('fs').readFileSync(0, 'latin1')); });\n"
)


def _javascript(task: Task) -> Command:
    node = _tool("node", "JavaScript", hint="install Node.js 18 or later")
    return _node_command(node, (), "main.cjs", _node_text(task))


def _typescript(task: Task) -> Command:
    node = _tool(
        "node", "TypeScript", hint="install Node.js 22.6 or later, or the package `typescript` as well"
    )
    if _node_version(node) >= (22, 6):
        flags = ("--experimental-strip-types", "--no-warnings")
        return _node_command(node, flags, "main.cts", _node_text(task))
    compiler = _tool("tsc", "TypeScript", hint="install Node.js 22.6 or later, or the package `typescript`")
    library = os.path.join(_home_of(compiler), "lib", "typescript.js")
    run = f"exec {shlex.quote(node)} {_NODE_MEMORY} main.cjs"
    shell = f"{shlex.quote(node)} build.cjs {shlex.quote(library)} && {run}"
    return Command(
        command=("/bin/sh", "-c", shell),
        files={"main.ts": _node_text(task), "build.cjs": _STRIP_TYPES},
        roots=(_home_of(node), _home_of(compiler)),
    )


_STRIP_TYPES = """const fs = require('fs'), ts = require(process.argv[2]);
const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS };
const text = fs.readFileSync('main.ts', 'utf8');
const made = ts.transpileModule(text, { compilerOptions: options, reportDiagnostics: true });
for (const found of made.diagnostics) {
  console.error('SyntaxError: ' + ts.flattenDiagnosticMessageText(found.messageText, ' '));
  process.exit(1);
}
fs.writeFileSync('main.cjs', made.outputText);
"""
"""Takes the types away as a new Node does, and checks none: a whole compilation would cost ten times as much."""


def _node_command(node: str, flags: tuple[str, ...], name: str, text: str) -> Command:
    command = (node, _NODE_MEMORY, *flags, name)
    return Command(command=command, files={name: text}, roots=(_home_of(node),))


def _node_text(task: Task) -> str:
    if task.tests.kind == TestKind.STREAMS:
        return CODE
    return f"{task.prelude}\n{CODE}\n;{_STRICT_ASSERTS}\n{task.tests.code}\n{_NODE_ENDING}"


_STRICT_ASSERTS = "console.assert = (right, ...words) => { if (!right) throw new Error(words.join(' ') || 'an assert failed'); };"


def _go(task: Task) -> Command:
    go = _tool("go", "Go", hint="install Go 1.20 or later")
    environment = {
        "GOCACHE": "/scratch/box/.cache",
        "GOFLAGS": "-mod=mod",
        "CGO_ENABLED": "0",
        "GO111MODULE": "on",
    }
    module = {"go.mod": "module candidate\n\ngo 1.20\n"}
    roots = (_home_of(go),)
    if task.tests.kind == TestKind.STREAMS:
        return Command((go, "run", "."), {**module, "main.go": CODE}, environment, roots)
    shell = f"{shlex.quote(go)} test -c -o tests . >&2 && exec ./tests"
    files = {**module, "main.go": CODE, "main_test.go": task.tests.code, "credit_test.go": _GO_ENDING}
    return Command(("/bin/sh", "-c", shell), files, environment, roots)


_GO_ENDING = """package main

import (
\t"io"
\t"os"
\t"testing"
)

func TestMain(m *testing.M) {
\tcode := m.Run()
\tif code == 0 {
\t\tnonce, _ := io.ReadAll(os.Stdin)
\t\tos.Stdout.Write(nonce)
\t}
\tos.Exit(code)
}
"""

_BUILDERS = {"javascript": _javascript, "typescript": _typescript, "go": _go}


def _tool(name: str, language: str, *, hint: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise UsageError(f"{language} needs the program `{name}`, which is not on the PATH", hint=hint)
    return path


def _home_of(tool: str) -> str:
    """Return the folder that an installed tool lives in, above its `bin`."""
    return os.path.dirname(os.path.dirname(os.path.realpath(tool)))


@cache
def _node_version(node: str) -> tuple[int, int]:
    text = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=20).stdout
    found = re.match(r"v(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
