"""Small permissive packages with tests of their own, and benches that run those tests on a changed file.

JavaScript comes from npm (`npm pack`, no script of a package is ever started), Go from the standard library beside the
toolchain, copied into a module of its own. Tests run in a temporary directory, with a time limit and a bare environment.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 20
"""Time that one run of a package's tests may take."""

NPM = (
    *("minimist@1.2.8", "shell-quote@1.8.1", "traverse@0.6.6", "fast-json-stable-stringify@2.1.0"),
    *("json-stable-stringify@1.0.2", "deep-equal@1.0.1", "commondir@1.0.1", "path-browserify@1.0.1"),
    *("tinyqueue@1.2.3", "wordwrap@1.0.0", "concat-map@0.0.2"),
)
RUNNER = "tape@5.10.2"

GO = (
    *(
        "container/list",
        "container/heap",
        "container/ring",
        "encoding/hex",
        "encoding/csv",
        "encoding/base64",
    ),
    *("encoding/base32", "encoding/ascii85", "mime/quotedprintable", "net/url", "text/scanner"),
    *("text/tabwriter", "hash/adler32"),
)

Outcome = tuple[tuple[str, bool], ...]
"""Each test with whether it passed, in the order in which they ran; the last stands for the run as a whole."""


@dataclass(frozen=True)
class Package:
    """A package in its folder, ready for its tests. `files`: the paths of the sources that may get a fault."""

    name: str
    version: str
    language: str
    licence: str
    about: str
    folder: Path
    files: tuple[str, ...]
    command: tuple[str, ...]
    licence_text: str

    def read(self, path: str) -> str:
        """Return a source as it is."""
        return (self.folder / path).read_text(encoding="utf-8")

    def outcome(self, path: str, text: str) -> Outcome | None:
        """Run the tests with another text in one file, which then gets its own again; None: out of time."""
        file = self.folder / path
        original = file.read_bytes()
        file.write_text(text, encoding="utf-8", newline="")
        try:
            done = subprocess.run(
                self.command,
                cwd=self.folder,
                env=_environment(self.folder),
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        finally:
            file.write_bytes(original)
        read = _go_tests if self.language == "go" else _tap_tests
        return (*read(done.stdout.decode("utf-8", "replace")), ("the whole run", done.returncode == 0))


def _environment(folder: Path) -> dict[str, str]:
    home = folder
    while not (home / ".home").is_dir():
        home = home.parent
    kept = {"PATH": os.environ["PATH"], "HOME": str(home / ".home"), "LANG": "C.UTF-8"}
    go = {"GOCACHE": str(home / ".home" / "go-build"), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    return {**kept, **go, "GOTOOLCHAIN": "local", "GOMAXPROCS": "1"}


def _tap_tests(output: str) -> list[tuple[str, bool]]:
    found = re.findall(r"^(not )?ok (\d+)(.*)$", output, re.MULTILINE)
    return [(f"{number}{name}", not failed) for failed, number, name in found]


def _go_tests(output: str) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        if event.get("Test") and event["Action"] in ("pass", "fail", "skip"):
            found.append((event["Test"], event["Action"] != "fail"))
    return sorted(found)


# --- getting them -----------------------------------------------------------------------------------


def packages(folder: Path) -> list[Package]:
    """Return all packages, put into `folder`; raises CalledProcessError where npm or go is missing or fails."""
    (folder / ".home").mkdir(parents=True, exist_ok=True)
    return [*npm_packages(folder / "npm"), *go_packages(folder / "go")]


def npm_packages(folder: Path) -> list[Package]:
    """Return the packages from npm, each unpacked beside the runner of its tests."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"name": "specimen", "version": "1.0.0", "private": true}')
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    if not (folder / "node_modules" / "tape").is_dir():
        _run(["npm", "install", *quiet, RUNNER], folder)
    return [_npm_package(folder, wanted) for wanted in NPM]


def _npm_package(folder: Path, wanted: str) -> Package:
    target = folder / wanted.replace("@", "-")
    if not target.is_dir():
        archive = _run(["npm", "pack", "--ignore-scripts", "--silent", wanted], folder).split()[-1]
        target.mkdir()
        _run(["tar", "xzf", archive, "-C", str(target), "--strip-components=1"], folder)
    about: Mapping[str, Any] = json.loads((target / "package.json").read_text(encoding="utf-8"))
    tests = sorted(str(path.relative_to(target)) for path in target.glob("test/*.js")) or ["test.js"]
    return Package(
        name=about["name"],
        version=about["version"],
        language="javascript",
        licence=about["license"],
        about=about.get("description", ""),
        folder=target,
        files=_sources(target, sorted(target.glob("*.js"))),
        command=("node", "../node_modules/tape/bin/tape", *tests),
        licence_text=_licence_text(target),
    )


def _sources(target: Path, found: Sequence[Path]) -> tuple[str, ...]:
    own = (path for path in found if not path.name.startswith(("test", "bench")))
    return tuple(str(path.relative_to(target)) for path in own)


def _licence_text(folder: Path) -> str:
    named = sorted(path for path in folder.iterdir() if path.name.upper().startswith("LICEN"))
    return named[0].read_text(encoding="utf-8")


def go_packages(folder: Path) -> list[Package]:
    """Return the packages of Go's standard library, copied into a module of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    root = Path(_run(["go", "env", "GOROOT"], folder).strip())
    version = _run(["go", "env", "GOVERSION"], folder).strip()
    (folder / "go.mod").write_text("module specimen\n\ngo 1.19\n")
    for name in GO:
        if not (folder / name).is_dir():
            shutil.copytree(root / "src" / name, folder / name)
    return [_go_package(folder, name, version, _go_licence(root)) for name in GO]


def _go_licence(root: Path) -> str:
    found = root / "LICENSE"
    return found.read_text(encoding="utf-8") if found.is_file() else ""


def _go_package(folder: Path, name: str, version: str, licence: str) -> Package:
    sources = sorted((folder / name).glob("*.go"))
    return Package(
        name=name,
        version=version,
        language="go",
        licence="BSD-3-Clause",
        about=f"package {name} of Go's standard library",
        folder=folder,
        files=tuple(
            str(path.relative_to(folder)) for path in sources if not path.stem.endswith(("_test", "gen"))
        ),
        command=(
            *("go", "test", "-json", "-short", "-vet=off", "-count=1", "-p=1", "-ldflags=-s -w"),
            f"./{name}",
        ),
        licence_text=licence,
    )


def _run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=True)
    return done.stdout
