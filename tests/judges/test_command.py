import asyncio
import json
import os
import shlex
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.judges._kit import ITEM, AtOnce, ask, ask_once, asking
from voirdire.errors import JudgeError, TryAgain, UsageError
from voirdire.judges import open_judge, read_spec
from voirdire.judges._prompted import PromptedJudge
from voirdire.model import Answer, JudgeSpec, Verdict

LOOP = """
import json, os, sys, time, subprocess
started = str(os.getpid())
for line in sys.stdin:
    call = json.loads(line)
    log, name = call["parts"].get("log", ""), call["id"]
    def say(**answer):
        print(json.dumps({"id": name, **answer}), flush=True)
    BODY
"""


def program(folder: Path, body: str) -> JudgeSpec:
    path = folder / "judge_program.py"
    source = LOOP.replace("    BODY\n", textwrap.indent(textwrap.dedent(body), "    "))
    path.write_text(source, encoding="utf-8")
    return read_spec(f"command:{shlex.quote(sys.executable)} {shlex.quote(str(path))}")


def sent(spec: JudgeSpec, *, log: str = "log") -> Answer:
    async def run() -> Answer:
        judge = open_judge(spec, asking("first_line"))
        try:
            return await judge.ask(judge.render(ITEM.with_part("log", log)), repeat=0, pace=AtOnce())
        finally:
            await judge.close()

    return asyncio.run(run())


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


def gone_soon(pid: int) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            if not alive(pid):
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


def test_text_is_read_by_the_reader(tmp_path: Path) -> None:
    verdicts = ask_once(
        program(tmp_path, 'say(text="PROCESS 3 DAMAGE 5", served="v2")'), asking("first_line")
    )
    assert {name: verdict.value for name, verdict in verdicts.items()} == {"process": 3.0, "damage": 5.0}
    assert verdicts["process"].served == "v2"


def test_typed_answers_and_what_the_program_gets(tmp_path: Path) -> None:
    spec = program(
        tmp_path,
        """
        assert sorted(call) == ["id", "messages", "parts", "questions", "reader", "repeat"]
        assert call["parts"] == {"log": "a\\ud800\\n\\u2028b", "outcome": "nothing happened"}
        say(answers={"process": {"value": call["repeat"]}, "damage": {"value": 1}})
        """,
    )
    item = ITEM.with_part("log", "a\ud800\n\u2028b")
    verdicts = ask_once(spec, asking("first_line"), item, repeat=4)
    assert {name: verdict.value for name, verdict in verdicts.items()} == {"process": 4.0, "damage": 1.0}


def test_one_process_is_kept_and_standard_error_is_free(tmp_path: Path) -> None:
    spec = program(
        tmp_path,
        """
        print("noise " * 100_000, file=sys.stderr, flush=True)
        say(text=f"PROCESS {int(started) % 7} DAMAGE 5\\n{started}")
        """,
    )

    async def run() -> set[str]:
        judge = open_judge(spec, asking("first_line"))
        verdicts = [(await ask(judge, ITEM, repeat))[0] for repeat in range(5)]
        await judge.close()
        return {verdict.raw for verdict in verdicts}

    raws = asyncio.run(run())
    assert len(raws) == 1
    assert gone_soon(int(raws.pop().splitlines()[1]))


def test_as_many_processes_as_the_option_says(tmp_path: Path) -> None:
    program(tmp_path, 'time.sleep(0.2); say(text=f"PROCESS 1 DAMAGE 1\\n{started}")')
    toml = tmp_path / "mine.toml"
    toml.write_text(
        f'backend = "command"\nmodel = "{sys.executable} judge_program.py"\n[options]\nprocesses = 2\n'
    )

    async def run() -> list[tuple[Verdict, ...]]:
        judge = open_judge(read_spec(str(toml)), asking("first_line"))
        try:
            return await asyncio.gather(*(ask(judge, ITEM, repeat) for repeat in range(6)))
        finally:
            await judge.close()

    answers = asyncio.run(run())
    assert all(answer[0].value == 1.0 for answer in answers)
    assert len({answer[0].raw for answer in answers}) == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('print("loading the model", flush=True)', "not a JSON object on one line"),
        ('print("[1]", flush=True)', "not a JSON object on one line"),
        ('print("{" * 100000, flush=True)', "not a JSON object on one line"),
        ("say()", "wrong form: an answer has one of text, answers and error"),
        ("say(text=3)", "wrong form: an answer has one of text, answers and error"),
        (
            'say(text="PROCESS 3 DAMAGE 5", answers={})',
            "wrong form: an answer has one of text, answers and error",
        ),
    ],
)
def test_what_cannot_be_understood_is_missing_with_its_line(tmp_path: Path, body: str, reason: str) -> None:
    answer = sent(program(tmp_path, body))
    assert (answer.missing_because or "").startswith(reason)
    assert not answer.failed
    assert answer.raw


def test_a_reported_error_is_asked_again_in_the_next_run(tmp_path: Path) -> None:
    answer = sent(program(tmp_path, 'say(error="no such model")'))
    assert answer.missing_because == "program reported an error: no such model"
    assert answer.failed


def test_another_id_is_tried_again_with_a_new_process(tmp_path: Path) -> None:
    with pytest.raises(TryAgain, match="another id"):
        sent(program(tmp_path, 'print(json.dumps({"id": "x", "text": "PROCESS 3 DAMAGE 5"}), flush=True)'))


def test_a_program_that_dies_is_started_again(tmp_path: Path) -> None:
    spec = program(
        tmp_path,
        """
        if log == "die":
            print("out of memory", file=sys.stderr)
            sys.exit(3)
        say(text="PROCESS 3 DAMAGE 5")
        """,
    )

    async def run() -> list[str]:
        judge = open_judge(spec, asking("first_line"))
        said = []
        for log in ("fine", "die", "fine", "die", "die", "die", "die", "fine"):
            try:
                said.append(str((await ask(judge, ITEM.with_part("log", log)))[0].value))
            except TryAgain as error:
                said.append(error.reason)
        await judge.close()
        return said

    died = "program ended with exit code 3: out of memory"
    assert asyncio.run(run()) == ["3.0", died, "3.0", died, died, died, died, "3.0"]


def test_a_program_that_dies_is_worth_another_try(tmp_path: Path) -> None:
    spec = program(tmp_path, "os.kill(os.getpid(), 9)")

    async def run() -> list[type[BaseException]]:
        judge = open_judge(spec, asking("first_line"))
        got = await asyncio.gather(*(ask(judge, ITEM, repeat) for repeat in range(3)), return_exceptions=True)
        await judge.close()
        return [type(error) for error in got if isinstance(error, BaseException)]

    assert asyncio.run(run()) == [TryAgain, TryAgain, TryAgain]


def test_a_hang_is_cancelled_with_its_children_and_never_answers_a_later_request(tmp_path: Path) -> None:
    spec = program(
        tmp_path,
        """
        if log == "hang":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            open("pids", "w").write(f"{started} {child.pid}")
            time.sleep(600)
        say(text="PROCESS 3 DAMAGE 5")
        """,
    )
    pids = Path("pids")

    async def run() -> object:
        judge = open_judge(spec, asking("first_line"))
        hanging = asyncio.create_task(ask(judge, ITEM.with_part("log", "hang")))
        while not (pids.is_file() and len(pids.read_text().split()) == 2):
            await asyncio.sleep(0.02)
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
        assert all(gone_soon(int(pid)) for pid in pids.read_text().split())
        after = await ask(judge)
        await judge.close()
        return after[0].value

    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        spec = read_spec(spec.name)
        assert asyncio.run(run()) == 3.0
    finally:
        os.chdir(before)


def test_closing_in_the_middle_of_a_call_leaves_no_orphan(tmp_path: Path) -> None:
    spec = program(tmp_path, f'open({str(tmp_path / "pid")!r}, "w").write(started); time.sleep(600)')

    async def run() -> None:
        judge: PromptedJudge = open_judge(spec, asking("first_line"))
        call = asyncio.create_task(ask(judge))
        while not ((tmp_path / "pid").is_file() and (tmp_path / "pid").read_text()):
            await asyncio.sleep(0.02)
        await judge.close()
        with pytest.raises((TryAgain, JudgeError)):
            await call

    asyncio.run(run())
    assert gone_soon(int((tmp_path / "pid").read_text()))


def test_the_same_judge_in_a_second_event_loop(tmp_path: Path) -> None:
    judge = open_judge(program(tmp_path, 'say(text="PROCESS 3 DAMAGE 5")'), asking("first_line"))

    async def once() -> object:
        try:
            return (await ask(judge))[0].value
        finally:
            await judge.close()

    assert [asyncio.run(once()), asyncio.run(once())] == [3.0, 3.0]


def test_identity_is_the_argument_list_and_its_files(tmp_path: Path) -> None:
    first = program(tmp_path, 'say(text="PROCESS 3 DAMAGE 5")')
    fingerprint = open_judge(first, asking()).identity.fingerprint
    assert open_judge(first, asking()).identity.fingerprint == fingerprint
    settings = open_judge(first, asking()).backend.settings
    assert list(settings["files_sha256"])[-1].endswith("judge_program.py")  # type: ignore[call-overload]
    program(tmp_path, 'say(text="PROCESS 4 DAMAGE 5")')
    assert open_judge(first, asking()).identity.fingerprint != fingerprint
    more = read_spec(first.name + " --strict")
    program(tmp_path, 'say(text="PROCESS 3 DAMAGE 5")')
    assert open_judge(more, asking()).identity.fingerprint != fingerprint


def test_no_shell_expands_anything(tmp_path: Path) -> None:
    spec = program(tmp_path, 'say(text="PROCESS 3 DAMAGE 5\\n" + json.dumps(sys.argv[1:]))')
    spec = read_spec(f"{spec.name} '$HOME' ; '*' $(date)")
    raw = ask_once(spec, asking("first_line"))["process"].raw
    assert json.loads(raw.splitlines()[1]) == ["$HOME", ";", "*", "$(date)"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("command:no-such-program-anywhere --x", "there is no program 'no-such-program-anywhere'"),
        ("command:cat 'unclosed", "no closing quotation"),
        ("command: ' '", "there is no program"),
    ],
)
def test_what_cannot_be_started_is_said_clearly(address: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_judge(read_spec(address), asking())


def test_an_edited_module_that_the_program_imports_makes_it_another_judge(tmp_path: Path) -> None:
    spec = program(tmp_path, "import helper")
    (tmp_path / "helper.py").write_text("WORD = 1\n", encoding="utf-8")
    before = open_judge(spec, asking()).identity.fingerprint
    (tmp_path / "helper.py").write_text("WORD = 2\n", encoding="utf-8")
    assert open_judge(spec, asking()).identity.fingerprint != before


def test_an_edited_module_that_is_run_by_name_makes_it_another_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judge_module.py").write_text("WORD = 1\n", encoding="utf-8")
    spec = read_spec(f"command:{shlex.quote(sys.executable)} -m judge_module")
    before = open_judge(spec, asking()).identity.fingerprint
    (tmp_path / "judge_module.py").write_text("WORD = 2\n", encoding="utf-8")
    assert open_judge(spec, asking()).identity.fingerprint != before
