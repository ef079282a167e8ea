import os
import shutil
from pathlib import Path

import pytest

from tests.execution.candidates import SHORT, program
from voirdire.errors import UsageError
from voirdire.execution import levels
from voirdire.execution import run as driver
from voirdire.execution.jail import kernel, syscall_filter
from voirdire.execution.jail.settings import Settings
from voirdire.execution.run import execute
from voirdire.execution.tasks import Isolation, Limits, Result, Sample

TASK = program("assert f() == 1\n")
SAMPLES = [Sample("s", "task", "x", "def f(): return 1")]


def one(isolation: Isolation | None, *, unsafe: bool = False) -> Result:
    (result,) = execute([TASK], SAMPLES, limits=SHORT, workers=1, isolation=isolation, unsafe=unsafe)
    return result


def test_limits_alone_want_to_be_called_unsafe() -> None:
    with pytest.raises(UsageError, match="for trusted code only") as raised:
        one(Isolation.PROCESS)
    assert "--unsafe" in raised.value.hint


def test_the_level_used_stands_in_the_result() -> None:
    assert one(None).truth.isolation == "namespace"
    assert one(None, unsafe=True).truth.isolation == "namespace"
    assert one(Isolation.PROCESS, unsafe=True).truth.isolation == "process"


def test_where_namespaces_are_not_allowed_nothing_runs_but_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    settings_of = driver._Pool._settings

    def forbidden(pool: driver._Pool) -> Settings:
        """Settings that fail in a worker as a mount does where namespaces are forbidden."""
        settings = settings_of(pool)
        return settings._replace(scratch="/nowhere") if settings.namespaces else settings

    monkeypatch.setattr(driver._Pool, "_settings", forbidden)
    with pytest.raises(UsageError, match="'namespace' cannot be had: mount /nowhere") as raised:
        one(None)
    assert "--unsafe" in raised.value.hint
    assert levels.TRUSTED_ONLY in raised.value.hint
    assert one(None, unsafe=True).truth.isolation == "process"


def test_bubblewrap_and_containers_say_what_they_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(UsageError, match="`bwrap`, which is not on the PATH"):
        one(Isolation.BUBBLEWRAP)
    with pytest.raises(UsageError, match="needs `docker` or `podman`"):
        one(Isolation.CONTAINER)


def test_elsewhere_than_on_linux_only_a_container_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "is_linux", lambda: False)
    with pytest.raises(UsageError, match="needs Linux") as raised:
        one(None)
    assert "container" in raised.value.hint


def test_a_container_has_no_network_no_rights_to_spare_and_no_way_to_write_but_scratch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    shell = levels.shell_for(Isolation.CONTAINER, limits=Limits(file_mb=7), roots=(), image="python:3.12")
    assert shell.streams
    for option in (
        "--network=none",
        "--read-only",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        "--ipc=none",
    ):
        assert option in shell.command
    assert any("/scratch" in word and "size=7m" in word for word in shell.command)
    assert "python:3.12" in shell.command


def test_an_engine_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tmp_path / "docker"
    engine.write_text("#!/bin/sh\necho 'Cannot connect to the daemon' >&2\nexit 1\n")
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(UsageError, match="Cannot connect to the daemon"):
        one(Isolation.CONTAINER)


def test_a_worker_speaks_over_standard_streams_as_in_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that starts the worker right here, with limits only, in place of a container's init."""
    house = Path(levels.__file__).resolve().parents[1]
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o711)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    monkeypatch.setattr(levels, "SCRATCH", str(scratch))
    engine = tmp_path / "docker"
    engine.write_text(
        "#!/bin/sh\n"
        'while [ "$1" != "-c" ]; do shift; done\n'
        f'code=$(printf "%s" "$2" | sed "s#/voirdire#{house}#g")\n'
        f'exec {shutil.which("python3") or "python3"} -s -P -c "$code" "$3" "$4" "$5"\n'
    )
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    result = one(Isolation.CONTAINER)
    assert (str(result.truth.status), result.truth.isolation) == ("passed", "container")


def test_the_filter_is_a_whole_number_of_instructions_on_every_known_processor() -> None:
    for processor in kernel.MACHINES:
        program_bytes = syscall_filter.program(processor)
        assert len(program_bytes) % 8 == 0
        assert len(program_bytes) // 8 < 4096
    assert syscall_filter.program("pdp11") == b""


def test_candidates_see_the_interpreter_and_little_else() -> None:
    hidden = [
        "/etc/passwd",
        "/home",
        os.path.expanduser("~/.bashrc"),
        "/sys",
        "/var",
        os.path.abspath(__file__),
    ]
    looks = f"import os\ndef f(): return [path for path in {hidden} if os.path.exists(path)]"
    (result,) = execute(
        [program("assert f() == []\n")], [Sample("s", "task", "x", looks)], limits=SHORT, workers=1
    )
    assert str(result.truth.status) == "passed", result.error


def test_candidates_write_in_one_folder_only_and_find_it_empty() -> None:
    code = """
import os, tempfile
def f():
    there = os.listdir('.')
    with tempfile.NamedTemporaryFile(delete=False): pass
    open('left', 'w').close()
    refused = []
    for place in ('/', '/usr', '/dev', '/scratch', os.path.dirname(os.__file__)):
        try: open(place + '/stray', 'w').close()
        except OSError: refused.append(place)
    return len(there), len(refused)
"""
    samples = [Sample(str(n), "task", "x", code) for n in range(3)]
    results = list(execute([program("assert f() == (0, 5)\n")], samples, limits=SHORT, workers=1))
    assert [str(result.truth.status) for result in results] == ["passed"] * 3, results[0].error
