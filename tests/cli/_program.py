"""Runs the `voirdire` program as a user does: a process of its own, in a folder of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    """What a run gave. `folder`: where it ran."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def findings(self) -> dict[str, Any]:
        """What stands in findings.json."""
        data: dict[str, Any] = json.loads((self.folder / "voirdire-out/findings.json").read_text("utf-8"))
        return data

    @property
    def page(self) -> str:
        """The page."""
        return (self.folder / "voirdire-out/report.html").read_text("utf-8")

    def finding(self, name: str, subject: str) -> dict[str, Any]:
        """Return one finding."""
        found: dict[str, Any] = next(
            one for one in self.findings["findings"] if (one["name"], one["subject"]) == (name, subject)
        )
        return found

    def named(self, name: str) -> list[dict[str, Any]]:
        """Return all findings of one name."""
        return [one for one in self.findings["findings"] if one["name"] == name]


def environment(url: str = "") -> Mapping[str, str]:
    """Return the environment of a user with a dummy key, whose server stands at `url`."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "VOIRDIRE_"))
    }
    ours = {"PYTHONPATH": str(ROOT / "src"), "OPENAI_API_KEY": "dummy"}
    return {**kept, **ours, **({"OPENAI_BASE_URL": url} if url else {})}


def program(words: Sequence[str]) -> list[str]:
    """Return the command line of `voirdire WORDS`."""
    installed = Path(sys.executable).with_name("voirdire")
    return [*([str(installed)] if installed.exists() else [sys.executable, "-m", "voirdire"]), *words]


def voirdire(*words: str, folder: Path, url: str = "") -> Done:
    """Run `voirdire WORDS` to its end."""
    done = subprocess.run(
        program(words),
        cwd=folder,
        env=environment(url),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr, folder)


def started(*words: str, folder: Path, url: str) -> subprocess.Popen[str]:
    """Start `voirdire WORDS`."""
    return subprocess.Popen(
        program(words),
        cwd=folder,
        env=environment(url),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str], folder: Path) -> Done:
    """Wait for the end of a started program."""
    out, err = process.communicate(timeout=200)
    return Done(process.returncode, out, err, folder)
