"""Makes git repositories out of nothing, commit by commit, through `git fast-import`: also such as no client would make."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from voirdire.mining.choice import Choice, Reason
from voirdire.mining.git import mirror_of
from voirdire.mining.history import LeftOut, mine
from voirdire.mining.tasks import MinedTask

File = bytes | tuple[str, bytes] | None
"""A file's contents; with a mode where it is no plain file (a link's target, a submodule's commit); None: deleted."""


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ours = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    return {**kept, **ours}


def git(folder: Path, *words: str, given: bytes = b"") -> bytes:
    """Run git in a folder."""
    done = subprocess.run(
        ["git", *words], cwd=folder, input=given, env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@dataclass
class History:
    """A repository being made. Commits are numbered from 1 and stand on `main` unless a branch is named."""

    folder: Path
    pieces: list[bytes] = field(default_factory=list)
    commits: int = 0

    def commit(
        self,
        message: str | bytes,
        files: Mapping[str | bytes, File],
        *,
        parents: Sequence[int] | None = None,
        branch: str = "main",
        author: str = "Ann <ann@company.com>",
        encoding: str = "",
    ) -> int:
        """Add a commit on the last one, or on those given, and return its number."""
        self.commits += 1
        said = message.encode() if isinstance(message, str) else message
        head = (
            f"commit refs/heads/{branch}\nmark :{self.commits}\nauthor {author} {self.commits * 60} +0000\n"
        )
        head += f"committer {author} {self.commits * 60} +0000\n" + (
            f"encoding {encoding}\n" if encoding else ""
        )
        before = parents if parents is not None else ([self.commits - 1] if self.commits > 1 else [])
        words = ["from", *["merge"] * len(before)]
        links = "".join(f"{word} :{one}\n" for word, one in zip(words, before, strict=False))
        body = b"".join(_change(name, file) for name, file in files.items())
        self.pieces.append(
            head.encode() + b"data %d\n" % len(said) + said + b"\n" + links.encode() + body + b"\n"
        )
        return self.commits

    def made(self, *, bare: bool = False) -> Path:
        """Write the repository and return its folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        git(self.folder, "init", "-q", "-b", "main", *(["--bare"] if bare else []))
        marks = self.folder / "marks"
        git(self.folder, "fast-import", "--quiet", f"--export-marks={marks}", given=b"".join(self.pieces))
        self.names = dict(line.split()[::1] for line in marks.read_text().splitlines())
        marks.unlink()
        return self.folder

    def name(self, number: int) -> str:
        """Return a commit's name."""
        return self.names[f":{number}"]


def _change(name: str | bytes, file: File) -> bytes:
    raw = name.encode() if isinstance(name, str) else name
    path = b'"' + b"".join(b"\\%03o" % byte for byte in raw) + b'"'
    if file is None:
        return b"D " + path + b"\n"
    mode, data = file if isinstance(file, tuple) else ("100644", file)
    if mode == "160000":
        return b"M 160000 " + data + b" " + path + b"\n"
    return b"M " + mode.encode() + b" inline " + path + b"\ndata %d\n" % len(data) + data + b"\n"


def lines(count: int, word: str = "line") -> bytes:
    """Return a file of numbered lines."""
    return "".join(f"{word} {number}\n" for number in range(count)).encode()


@dataclass
class Mined:
    """What was mined, in order."""

    tasks: list[MinedTask] = field(default_factory=list)
    left_out: dict[str, Reason] = field(default_factory=dict)


def mined(folder: Path, choice: Choice | None = None, *, after: str | None = None) -> Mined:
    """Mine a repository to the end."""
    found = Mined()
    with mirror_of(folder) as mirror:
        for one in mine(mirror, mirror.commit("HEAD"), choice or Choice(), after=after):
            if isinstance(one, LeftOut):
                found.left_out[one.commit] = one.reason
            else:
                found.tasks.append(one)
    return found


def files_at(folder: Path, commit: str) -> Iterator[tuple[str, str]]:
    """Yield the text files of a commit."""
    for name in git(folder, "ls-tree", "-r", "-z", "--name-only", commit).split(b"\0"):
        if name:
            blob = git(folder, "cat-file", "blob", f"{commit}:{name.decode()}")
            yield name.decode(), blob.decode()
