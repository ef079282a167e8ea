import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.execution.candidates import run_all
from voirdire.errors import UsageError
from voirdire.execution import toolchains
from voirdire.execution.run import execute
from voirdire.execution.tasks import Isolation, Limits, Proof, Sample, StreamCase, Task, TestKind, Tests

node = pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")

ASSERTS = "const assert = require('assert');\nassert.deepStrictEqual(add(1, 2), 3);\nconsole.assert(add(0, 0) === 0);\n"


def javascript(tests: Tests) -> Task:
    return Task("task", "add", tests, language="javascript")


@node
def test_a_file_of_asserts_runs_beside_a_javascript_candidate() -> None:
    codes = {
        "function add(a, b) { return a + b }": "passed",
        "function add(a, b) { return a - b }": "failed",
        "const add = (a, b) => a === 0 ? 1 : a + b": "failed",
        "const add = () => { throw new Error('no') }": "error",
        "process.exit(0)": "failed",
        "console.log('passed'); process.exitCode = 0; throw 1": "error",
        "function add(": "unparsable",
        "while (true) {}": "timeout",
    }
    results = run_all(javascript(Tests(TestKind.PROGRAM, code=ASSERTS)), list(codes))
    assert [str(result.truth.status) for result in results] == list(codes.values())
    assert {result.proof for result in results} == {Proof.SHARED}


@node
def test_a_javascript_program_reads_and_writes() -> None:
    task = javascript(Tests(TestKind.STREAMS, cases=(StreamCase("3 4", "7\n"),)))
    right = "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number); console.log(a + b)"
    results = run_all(task, [right, "console.log(8)", "process.exit(0)"])
    assert [str(result.truth.status) for result in results] == ["passed", "failed", "failed"]
    assert {result.proof for result in results} == {Proof.SEPARATE}


TSC = shutil.which("tsc")
NODE_STRIPS = bool(shutil.which("node")) and toolchains._node_version(shutil.which("node") or "") >= (22, 6)


@pytest.mark.skipif(not (TSC or NODE_STRIPS), reason="neither Node.js 22.6 nor the package typescript")
def test_a_typescript_candidate_runs_without_its_types() -> None:
    codes = {
        "function add(a: number, b: number): number { return a + b }": "passed",
        "interface P { x: number }\nconst add = (a: number, b: number) => { const p: P = { x: a }; return p.x + b }": (
            "passed"
        ),
        "function add(a: number, b: number): number { return a - b }": "failed",
        "function add(a: number {": "unparsable",
    }
    task = Task("task", "add", Tests(TestKind.PROGRAM, code=ASSERTS), language="typescript")
    samples = [Sample(str(place), "task", "system", code) for place, code in enumerate(codes)]
    found = {result.sample_id: result for result in execute([task], samples, workers=1)}
    assert [str(found[sample.sample_id].truth.status) for sample in samples] == list(codes.values())


@pytest.mark.parametrize(
    ("language", "program"), [("javascript", "node"), ("typescript", "node"), ("go", "go")]
)
def test_a_missing_tool_is_named(language: str, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    task = Task("task", "", Tests(TestKind.STREAMS), language=language)
    with pytest.raises(UsageError, match=f"`{program}`, which is not on the PATH") as raised:
        toolchains.command_of(task)
    assert "install" in raised.value.hint


def test_a_language_without_a_way_to_run_it_is_named() -> None:
    with pytest.raises(UsageError, match="no way to run the language 'cobol'"):
        toolchains.command_of(Task("task", "", Tests(TestKind.STREAMS), language="cobol"))


def test_check_functions_exist_for_python_only() -> None:
    with pytest.raises(UsageError, match="exist for Python only"):
        toolchains.command_of(javascript(Tests(TestKind.CHECK)))


def a_tool(folder: Path, version: str) -> Callable[[str], str | None]:
    for name in ("node", "go", "tsc"):
        path = folder / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {version}\n")
        path.chmod(0o755)
    return lambda name: str(folder / "bin" / name)


def test_typescript_is_stripped_by_a_new_node_and_compiled_before_an_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task("task", "", Tests(TestKind.STREAMS), language="typescript")
    monkeypatch.setattr(shutil, "which", a_tool(tmp_path / "new", "v23.1.0"))
    new = toolchains.command_of(task)
    monkeypatch.setattr(shutil, "which", a_tool(tmp_path / "old", "v20.1.0"))
    old = toolchains.command_of(task)
    assert new is not None
    assert old is not None
    assert "--experimental-strip-types" in new.command
    assert "build.cjs" in old.command[-1]
    assert "transpileModule" in old.files["build.cjs"]


go = pytest.mark.skipif(not shutil.which("go"), reason="Go is not installed")
ROOM = Limits(cpu_seconds=5, wall_seconds=60)
"""To compile and link costs Go half a second and more."""

GO_TEST = """package main

import "testing"

func TestAdd(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Fatal("no")
	}
}
"""
GO_CODES = {
    "func Add(a, b int) int { return a + b }": "passed",
    "func Add(a, b int) int { return a - b }": "failed",
    "func Add(a, b int) int { return a + c }": "error",
    "func Add(a, b int int { return a + b }": "unparsable",
    "func Add(a, b int) int { panic(1) }": "error",
    'import "os"\nfunc Add(a, b int) int { os.Exit(0); return 3 }': "failed",
    'import "fmt"\nfunc init() { fmt.Println("PASS") }\nfunc Add(a, b int) int { return 0 }': "failed",
    "func Add(a, b int) int { for {} }": "timeout",
}


def statuses(task: Task, codes: Iterable[str]) -> list[str]:
    samples = [Sample(str(place), "task", "system", code) for place, code in enumerate(codes)]
    found = {result.sample_id: result for result in execute([task], samples, limits=ROOM, workers=1)}
    return [str(found[sample.sample_id].truth.status) for sample in samples]


@go
def test_go_tests_run_beside_a_candidate() -> None:
    task = Task("task", "", Tests(TestKind.PROGRAM, code=GO_TEST), language="go")
    assert statuses(task, [f"package main\n{code}\n" for code in GO_CODES]) == list(GO_CODES.values())


@go
def test_a_go_program_reads_and_writes() -> None:
    task = Task("task", "", Tests(TestKind.STREAMS, cases=(StreamCase("3 4", "7\n"),)), language="go")
    right = 'package main\nimport "fmt"\nfunc main() { var a, b int; fmt.Scan(&a, &b); fmt.Println(a + b) }\n'
    wrong = "package main\nfunc main() { println(7) }\n"
    assert statuses(task, [right, wrong, "package main\nfunc main() { x }\n"]) == [
        "passed",
        "failed",
        "error",
    ]


@node
def test_a_container_has_none_of_the_tools_of_this_machine() -> None:
    with pytest.raises(UsageError, match="a container runs Python only, and this is javascript"):
        execute([javascript(Tests(TestKind.STREAMS))], [], isolation=Isolation.CONTAINER)


def test_go_tests_are_built_first_and_credit_needs_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", a_tool(tmp_path, "go version go1.22.3 linux/amd64"))
    monkeypatch.setattr(toolchains, "_go_cache", lambda _go: str(tmp_path / "cache"))
    command = toolchains.command_of(Task("task", "", Tests(TestKind.PROGRAM, code="TESTS"), language="go"))
    assert command is not None
    assert command.files["main_test.go"] == "TESTS"
    assert "m.Run()" in command.files["credit_test.go"]
    assert command.files["go.mod"].endswith("\ngo 1.22\n")
    assert command.roots == (str(tmp_path), str(tmp_path / "cache"))


@go
def test_go_compiles_its_library_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tool = shutil.which("go") or ""
    made = toolchains._go_cache.__wrapped__(tool)
    before = sorted(Path(made).rglob("*-d"))
    assert before
    assert toolchains._go_cache.__wrapped__(tool) == made
    assert sorted(Path(made).rglob("*-d")) == before


def test_a_go_that_cannot_compile_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tool = tmp_path / "go"
    tool.write_text("#!/bin/sh\necho 'no space left' >&2\nexit 1\n")
    tool.chmod(0o755)
    with pytest.raises(UsageError, match="cannot compile its own library here: no space left"):
        toolchains._go_cache.__wrapped__(str(tool))


def test_where_no_cache_can_be_written_go_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(shutil, "which", a_tool(tmp_path, "go version go1.22.3 linux/amd64"))
    monkeypatch.setattr(toolchains, "_go_cache", toolchains._go_cache.__wrapped__)
    command = toolchains.command_of(Task("task", "", Tests(TestKind.STREAMS), language="go"))
    assert command is not None
    assert command.roots == (str(tmp_path),)
