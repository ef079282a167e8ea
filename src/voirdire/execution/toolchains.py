"""How samples in languages other than Python are run: one command each, where its tool is present."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

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


_STRICT_ASSERTS = (
    "console.assert = (right, ...words) => { if (!right) "
    "throw new (require('assert').AssertionError)({ message: words.join(' ') || 'an assert failed' }); };"
)


def _go(task: Task) -> Command:
    go = _tool("go", "Go", hint="install Go 1.18 or later")
    folder, language = _go_cache(go), _go_language(go)
    environment = {"GOFLAGS": "-mod=mod", "CGO_ENABLED": "0", "GO111MODULE": "on", "GOPROXY": "off"}
    environment |= {"GOTOOLCHAIN": "local", "GOMAXPROCS": "2", "VOIRDIRE_GOCACHE": folder}
    files = {"go.mod": f"module candidate\n\ngo {language}\n", "main.go": CODE}
    build = "build"
    if task.tests.kind == TestKind.PROGRAM:
        files |= {"main_test.go": task.tests.code, "credit_test.go": _GO_ENDING}
        build = "test -vet=off -c"
    shell = f"{_GO_FOLDERS}; {shlex.quote(go)} {build} -o ./candidate . >&2 && exec ./candidate"
    return Command(("/bin/sh", "-c", shell), files, environment, (_home_of(go), *filter(None, [folder])))


_GO_FOLDERS = 'mkdir .tmp; export TMPDIR="$PWD/.tmp" GOCACHE="$PWD/.cache"; cp -rs "$VOIRDIRE_GOCACHE" .cache 2>/dev/null'
"""Go takes no module that stands in the folder for temporary files, and wants to write into its cache: links to the
compiled library do for it, and where that cannot be seen Go makes its own.
"""

_GO_USUAL = """package main

import (
\t_ "bufio"; _ "bytes"; _ "container/heap"; _ "container/list"; _ "encoding/json"; _ "errors"; _ "fmt"; _ "io"
\t_ "math"; _ "math/big"; _ "math/bits"; _ "math/rand"; _ "os"; _ "reflect"; _ "regexp"; _ "sort"; _ "strconv"
\t_ "strings"; _ "sync"; _ "testing"; _ "time"; _ "unicode"; _ "unicode/utf8"
)

func main() {}
"""
"""What candidates import most: from Go 1.20 on the library comes uncompiled, and to compile it costs seconds."""


@cache
def _go_cache(go: str) -> str:
    """Return a folder with the compiled usual library, which candidates may read; made once for each version.

    '' where no such folder can be written: each candidate then compiles what it imports.
    """
    from platformdirs import user_cache_dir

    version = _said_by(go, "version") or "unknown"
    name = re.sub(r"[^\w.]+", "-", version)
    folder = Path(user_cache_dir("voirdire", appauthor=False)) / "go" / name
    if (folder / "README").exists():
        return str(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            made = _compiled_library(go, Path(work))
            with contextlib.suppress(OSError):  # another run was faster
                os.replace(made, folder)
    except OSError:
        return ""
    return str(folder)


def _compiled_library(go: str, work: Path) -> Path:
    """Have Go compile its usual library into a cache in a folder; UsageError where it cannot."""
    made = work / "cache"
    for name, text in {
        "go.mod": "module usual\n",
        "usual.go": _GO_USUAL,
        "usual_test.go": _GO_ENDING,
    }.items():
        (work / name).write_text(text)
    own = {"GOCACHE": str(made), "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    command = [go, "test", "-vet=off", "-c", "-o", str(work / "usual"), "."]
    settings = {**os.environ, **own}
    done = subprocess.run(command, cwd=work, env=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or "no reason given").splitlines()[-1]
        raise UsageError(
            f"Go cannot compile its own library here: {said}", hint=f"see whether `{go} build` works"
        )
    return made


def _go_language(go: str) -> str:
    """Return the version of the language that the tool speaks, as `go.mod` names it."""
    found = re.search(r"go(\d+\.\d+)", _said_by(go, "version"))
    return found[1] if found else "1.18"


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
    found = re.match(r"v(\d+)\.(\d+)", _said_by(node, "--version"))
    return (int(found[1]), int(found[2])) if found else (0, 0)


@cache
def _said_by(*command: str) -> str:
    """Return what a tool says of itself, one line; '' where it says nothing."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    return done.stdout.strip()
