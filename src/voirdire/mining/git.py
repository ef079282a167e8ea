"""The `git` program, run so that a hostile repository can make it do nothing.

Of a repository only its objects are used. A `Mirror` is an empty bare repository of our own, with our own settings,
that borrows the objects of the other (`objects/info/alternates`): its hooks, settings, attributes, replacements,
grafts, filters, text converters and remotes are never read. No shell is started, no network protocol is allowed,
and every argument that comes from outside is an object name that we have checked.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from voirdire.edits.patch import quoted_name
from voirdire.errors import DataError, UsageError

BIG_FILE = 1 << 20
"""Bytes from which git calls a file binary and never loads it whole for a diff."""

SECONDS_TO_OPEN = 60.0
"""Time limit of the two questions that the repository itself is asked: where its objects are, what a name means."""

SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.gitProxy=false",
    "core.quotePath=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.alternateRefsCommand=false",
    f"core.bigFileThreshold={BIG_FILE}",
    "credential.helper=",
    "protocol.allow=never",
    "diff.external=",
    "diff.submodule=short",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "init.defaultBranch=main",
    "safe.directory=*",
)
"""Given on every command line, where they come before what any file says. `safe.directory` stands there because the
question whose repository it is no longer matters once nothing in it is obeyed."""

PLAIN_ATTRIBUTES = "* -text !eol -filter -ident !working-tree-encoding !diff !merge -export-subst\n"
"""Attributes that leave every byte as it is, whatever a `.gitattributes` in the tree says."""

_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of every git process: nothing of the caller's GIT_* and no settings of anybody."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP") if name in os.environ}
    ours = {
        "HOME": os.devnull,
        "XDG_CONFIG_HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_ASKPASS": "false",
        "GIT_EDITOR": "false",
    }
    return {**kept, **ours, **(extra or {})}


def command(*words: str) -> list[str]:
    """Return the command line of `git WORDS` with our settings; UsageError where there is no git program."""
    program = shutil.which("git")
    if program is None:
        raise UsageError("there is no `git` program on the path", hint="install git, 2.32 or later")
    return [program, "--no-pager", *(word for setting in SETTINGS for word in ("-c", setting)), *words]


def is_object(name: str) -> bool:
    """Whether a text is a whole object name: 40 or 64 hexadecimal digits."""
    return bool(_OBJECT.match(name))


class GitFailed(Exception):
    """A git process that ended with an error. `said`: the last line that it wrote about it."""

    def __init__(self, words: Sequence[str], code: int, said: str) -> None:
        super().__init__(f"git {' '.join(words[:2])}: {said or f'exit code {code}'}")
        self.said = said


def run_git(
    words: Sequence[str],
    *,
    folder: Path | None = None,
    given: bytes = b"",
    extra: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> bytes:
    """Run `git WORDS` to its end and return what it printed. Raises GitFailed, subprocess.TimeoutExpired."""
    done = subprocess.run(
        command(*words),
        cwd=folder,
        input=given,
        env=environment(extra),
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:300]
        raise GitFailed(words, done.returncode, said)
    return done.stdout


def _begun(words: Sequence[str], folder: Path, extra: Mapping[str, str] | None, at_most: int) -> bytes:
    """Run git and return what it prints, up to `at_most` bytes; there it is ended. Raises GitFailed."""
    process = subprocess.Popen(
        command(*words),
        cwd=folder,
        env=environment(extra),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        assert process.stdout is not None
        said = process.stdout.read(at_most)
        if len(said) == at_most:
            process.kill()
            return said
    if process.returncode != 0:
        raise GitFailed(words, process.returncode, "")
    return said


@dataclass(frozen=True)
class Mirror:
    """A bare repository of our own that borrows another's objects. `folder`: its git directory.

    `source`: the other repository, as it was named; `objects`: the folder of its objects.
    """

    folder: Path
    source: Path
    objects: Path
    object_format: str

    def git(
        self,
        *words: str,
        given: bytes = b"",
        extra: Mapping[str, str] | None = None,
        at_most: int | None = None,
    ) -> bytes:
        """Run git in this repository and return what it printed, at most so many bytes. Raises GitFailed."""
        words = (f"--git-dir={self.folder}", *words)
        if at_most is not None:
            return _begun(words, self.folder, extra, at_most)
        return run_git(words, folder=self.folder, given=given, extra=extra)

    def pipe(self, *words: str) -> "Pipe":
        """Start git in this repository, to be asked through a pipe."""
        return Pipe(command(f"--git-dir={self.folder}", *words), self.folder)

    def has(self, name: str) -> bool:
        """Whether there is a commit of this (whole) name."""
        try:
            return is_object(name) and self.git("cat-file", "-t", name).strip() == b"commit"
        except GitFailed:
            return False

    def commit(self, revision: str) -> str:
        """Return the commit that a branch, tag or other name in the source means; UsageError where there is none."""
        if not revision or revision.startswith("-") or any(not letter.isprintable() for letter in revision):
            raise UsageError(f"'{revision}' is no name of a commit", hint="name a branch, a tag or a commit")
        try:
            found = _asked(self.source, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        except GitFailed:
            raise UsageError(
                f"{self.source}: there is no commit '{revision}'",
                hint="`git log` there shows what there is; a new repository has none yet",
            ) from None
        name = found.decode("ascii", "replace").strip()
        if not is_object(name):
            raise DataError(f"{self.source}: '{revision}' is not one commit", hint="name one commit")
        return name


@contextmanager
def mirror_of(source: Path) -> Iterator[Mirror]:
    """Make a mirror of a repository (a work tree or a bare one) in a temporary folder, which goes in the end.

    Raises UsageError where `source` is no git repository.
    """
    objects = _place(source, "objects")
    form = _asked(source, "rev-parse", "--show-object-format").decode("ascii").strip()
    with tempfile.TemporaryDirectory(prefix="voirdire-mine-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve() / "mirror.git"
        run_git(["init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(folder)])
        (folder / "objects" / "info").mkdir(exist_ok=True)
        borrowed = os.fsencode(quoted_name(os.fsdecode(objects)))
        (folder / "objects" / "info" / "alternates").write_bytes(borrowed + b"\n")
        (folder / "info").mkdir(exist_ok=True)
        (folder / "info" / "attributes").write_text(PLAIN_ATTRIBUTES, encoding="ascii")
        if ends := _shallow_ends(source):
            (folder / "shallow").write_text("".join(f"{one}\n" for one in ends), encoding="ascii")
        yield Mirror(folder, source, objects, form)


def _asked(source: Path, *words: str) -> bytes:
    """Ask the source repository itself: the only commands that run in it, and none of them runs anything."""
    if not source.is_dir():
        raise UsageError(f"there is no folder '{source}'", hint="name the folder of a git repository")
    try:
        return run_git(words, folder=source, timeout=SECONDS_TO_OPEN)
    except subprocess.TimeoutExpired:
        raise DataError(
            f"{source}: git gave no answer in {SECONDS_TO_OPEN:.0f} s", hint="look at its .git/config"
        ) from None


def _place(source: Path, what: str) -> Path:
    try:
        found = _asked(source, "rev-parse", "--path-format=absolute", "--git-path", what)
    except GitFailed as error:
        raise UsageError(
            f"'{source}' is not a git repository that can be read: {error.said}",
            hint="name the folder of a git repository; `git clone` brings one here",
        ) from None
    return Path(os.fsdecode(found.removesuffix(b"\n")))


def _shallow_ends(source: Path) -> list[str]:
    """Return the commits at which a shallow clone was cut off; [] where it is whole."""
    try:
        text = _place(source, "shallow").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if is_object(line)]


# --- a git process that answers ------------------------------------------------------------------------

_CHUNK = 1 << 16


class PipeClosed(Exception):
    """The git process has ended, mostly because an object is damaged or missing."""


class Pipe:
    """A git process that is asked line by line and answers; holds no more of an answer than is asked for."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self._process = subprocess.Popen(
            words,
            cwd=folder,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._buffer = bytearray()

    def __enter__(self) -> "Pipe":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._process.kill()
        self._process.wait()

    def send(self, text: str) -> None:
        """Write to the process. Raises PipeClosed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode("ascii"))
        except OSError:
            raise PipeClosed from None

    def first_byte(self) -> bytes:
        """Return the next byte, which stays there."""
        self._fill(1)
        return bytes(self._buffer[:1])

    def exactly(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        self._fill(count)
        return self._taken(count)

    def skip(self, count: int) -> None:
        """Pass over `count` bytes without holding them."""
        while count:
            self._fill(1)
            part = min(count, len(self._buffer))
            del self._buffer[:part]
            count -= part

    def until(self, end: bytes, *, at_most: int | None = None) -> bytes:
        """Return what comes up to and with `end` (one byte); beyond `at_most` bytes the rest is passed over."""
        kept = bytearray()
        while True:
            self._fill(1)
            found = self._buffer.find(end)
            part = self._taken(found + 1 if found >= 0 else len(self._buffer))
            if at_most is None or len(kept) < at_most:
                kept += part if at_most is None else part[: at_most - len(kept)]
            if found >= 0:
                return bytes(kept)

    def at_end(self) -> bool:
        """Whether the process has said all that it had to say. Raises PipeClosed where it ended with an error."""
        try:
            self._fill(1)
        except PipeClosed:
            if self._process.wait() != 0:
                raise
            return True
        return False

    def _fill(self, count: int) -> None:
        assert self._process.stdout is not None
        while len(self._buffer) < count:
            part = os.read(self._process.stdout.fileno(), _CHUNK)
            if not part:
                raise PipeClosed
            self._buffer += part

    def _taken(self, count: int) -> bytes:
        part = bytes(self._buffer[:count])
        del self._buffer[:count]
        return part
