import asyncio
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.judges._kit import ITEM, PROCESS, RULE_ITEM, ask, ask_once, asking
from voirdire.errors import QuotaError, TryAgain, UsageError
from voirdire.judges import open_judge, read_spec
from voirdire.model import Answer, Message
from voirdire.questions import Checklist, ChecklistItem, Choice, Predicate

BETTER = Choice("better", "Which?", ("first", "second"))
RULE = asking(questions=(Choice("rule", "Answer yes or no.", ("yes", "no")),), prompt="May it move?")


@pytest.fixture
def judge_file(tmp_path: Path) -> Iterator[Path]:
    before, loaded = list(sys.path), set(sys.modules)
    yield tmp_path / "judge.py"
    sys.path[:] = before
    for name in set(sys.modules) - loaded:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def written(path: Path, source: str) -> str:
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    return f"{path}:judge"


def values(address: str, reader: str = "typed", **options: object) -> dict[str, object]:
    verdicts = ask_once(read_spec(address), asking(reader))
    return {name: verdict.value for name, verdict in verdicts.items()}


def test_text_is_read_by_the_reader(judge_file: Path) -> None:
    address = written(judge_file, 'def judge(call):\n    return "PROCESS 3 DAMAGE 5"\n')
    assert values(address, "first_line") == {"process": 3.0, "damage": 5.0}
    assert values(address, "json") == {"process": None, "damage": None}


def test_the_function_gets_messages_parts_questions_reader_and_repeat(judge_file: Path) -> None:
    address = written(
        judge_file,
        """
        import json
        def judge(call):
            assert sorted(call) == ["messages", "parts", "questions", "reader", "repeat"], sorted(call)
            assert call["messages"] == [["user", "the agent skipped the test e-mail nothing happened"]]
            assert call["parts"]["outcome"] == "nothing happened"
            assert [question["id"] for question in call["questions"]] == ["process", "damage"]
            return {"process": call["repeat"], "damage": len(call["reader"])}
        """,
    )
    verdicts = ask_once(read_spec(address), asking("first_line"), repeat=7)
    assert {name: verdict.value for name, verdict in verdicts.items()} == {"process": 7.0, "damage": 2.0}
    assert verdicts["process"].repeat == 7


def test_parts_by_name_sync_and_async(judge_file: Path) -> None:
    address = written(
        judge_file,
        """
        async def judge(outcome, *, log, repeat=0, unused="default"):
            assert unused == "default"
            return {"process": len(log) % 10, "damage": 9 if outcome == "nothing happened" else 0}
        """,
    )
    assert values(address) == {"process": 3.0, "damage": 9.0}


def test_values_and_probabilities_of_every_kind(judge_file: Path) -> None:
    questions = (
        PROCESS,
        Predicate("solved", "Solved?"),
        BETTER,
        Checklist("list", "Rubric", (ChecklistItem("a", "?"), ChecklistItem("b", "?"))),
    )
    address = written(
        judge_file,
        """
        import numpy as np
        def judge(call):
            return {
                "process": np.float64(7.5),
                "solved": {"probabilities": {"yes": np.float32(0.5), "no": np.float32(0.5)}},
                "better": "second",
                "list": {"a": True, "b": np.int64(0)},
            }
        """,
    )
    verdicts = ask_once(read_spec(address), asking("first_line", questions[:3]))
    assert {name: verdict.value for name, verdict in verdicts.items()} == {
        "process": 7.5, "solved": 0.5, "better": "second",
    }  # fmt: skip
    assert ask_once(read_spec(address), asking("typed", questions))["list"].value == 0.5


@pytest.mark.parametrize(("returned", "value"), [("'first'", "first"), ("'third'", None), ("1", None)])
def test_one_value_for_one_question(judge_file: Path, returned: str, value: object) -> None:
    address = written(judge_file, f"def judge(call):\n    return {returned}\n")
    assert ask_once(read_spec(address), asking("typed", (BETTER,)))["better"].value == value


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return None", "judge returned None"),
        ("return [3, 5]", "judge returned a list"),
        ("return {'process': [3], 'damage': 1}", "wrong type: list, not a number"),
        ("return {'process': float('nan'), 'damage': 1}", "not a finite number: NaN"),
        ("return {'process': object(), 'damage': 1}", "judge returned what is not plain data"),
        ("return {'answers': 3}", "judge returned answers that are not a table"),
        ("return {'damage': 3}", "no answer: 'process'"),
        ("return {'process': 85, 'damage': 3}", "out of range: 85 is not 0 to 10"),
        ("return {'process': None, 'damage': 3}", "judge returned None"),
        ("raise ValueError('no such model\\nat all')", "judge raised ValueError: no such model"),
        ("raise SystemExit(3)", "judge raised SystemExit: 3"),
        ("raise KeyboardInterrupt", "judge raised RuntimeError: KeyboardInterrupt"),
        ("next(iter(()))", "judge raised RuntimeError: StopIteration"),
        ("return ''", "empty answer"),
    ],
)
def test_missing_with_a_reason(judge_file: Path, body: str, reason: str) -> None:
    address = written(judge_file, f"def judge(call):\n    {body}\n")
    reader = "first_line" if body == "return ''" else "typed"
    verdict = ask_once(read_spec(address), asking(reader))["process"]
    assert verdict.value is None
    assert (verdict.missing_because or "").startswith(reason)


def test_one_number_for_two_questions_is_an_error_at_the_first_answer(judge_file: Path) -> None:
    address = written(judge_file, "def judge(call):\n    return 7\n")
    with pytest.raises(
        UsageError, match="returned one value, but is asked 2 questions: process, damage"
    ) as error:
        ask_once(read_spec(address), asking())
    assert error.value.hint == 'return {"process": ..., "damage": ...}'


def test_a_later_one_is_missing_and_ends_nothing(judge_file: Path) -> None:
    source = "def judge(repeat):\n    return 7 if repeat else {'process': 3, 'damage': 4}\n"
    address = written(judge_file, source)

    async def run() -> list[str | None]:
        judge = open_judge(read_spec(address), asking())
        return [(await ask(judge, ITEM, repeat))[0].missing_because for repeat in (0, 1)]

    assert asyncio.run(run()) == [None, "judge returned one value for 2 questions"]


def sent(address: str) -> Answer:
    async def run() -> Answer:
        judge = open_judge(read_spec(address), asking())
        return await judge.backend.send(judge.render(ITEM), repeat=0)

    return asyncio.run(run())


def test_an_exception_is_asked_again_in_the_next_run_but_none_is_an_answer(judge_file: Path) -> None:
    assert sent(written(judge_file, "def judge(call):\n    raise OSError\n")).failed
    assert not sent(written(judge_file, "def judge(call):\n    return None\n")).failed


@pytest.mark.parametrize("error", ["TryAgain", "QuotaError"])
def test_our_own_errors_are_obeyed(judge_file: Path, error: str) -> None:
    source = f"from voirdire.errors import {error}\ndef judge(call):\n    raise {error}('later')\n"
    with pytest.raises({"TryAgain": TryAgain, "QuotaError": QuotaError}[error]):
        sent(written(judge_file, source))


@pytest.mark.parametrize(
    "signature", ["log", "log, outcome", "text: str", "*, log", "response", "log, /, outcome", "case, log"]
)
def test_a_question_about_the_rule_never_crashes_a_function_of_parts(
    judge_file: Path, signature: str
) -> None:
    address = written(judge_file, f"def judge({signature}):\n    return len(log) % 10\n")
    verdict = ask_once(read_spec(address), RULE, RULE_ITEM)["rule"]
    assert verdict.value is None
    assert "that this question does not show" in (verdict.missing_because or "")


def test_a_function_of_the_call_answers_the_rule_or_is_missing(judge_file: Path) -> None:
    address = written(judge_file, "def judge(call):\n    return {'process': 3, 'damage': 3}\n")
    assert ask_once(read_spec(address), RULE, RULE_ITEM)["rule"].missing_because == "no answer: 'rule'"
    address = written(judge_file, "def judge(call):\n    return 'no'\n")
    assert ask_once(read_spec(address), RULE, RULE_ITEM)["rule"].value == "no"


def test_keywords_of_any_name_get_every_part(judge_file: Path) -> None:
    address = written(judge_file, "def judge(**parts):\n    return {'process': len(parts), 'damage': 0}\n")
    assert values(address)["process"] == 2.0


def test_sync_functions_run_at_the_same_time_and_a_hanging_one_holds_up_nothing(judge_file: Path) -> None:
    address = written(
        judge_file,
        """
        import threading
        both = threading.Barrier(2, timeout=20)
        never = threading.Event()
        def judge(log, outcome):
            if log == "hang":
                never.wait()
            both.wait()
            return {"process": 3, "damage": 5}
        """,
    )

    async def run() -> tuple[list[object], float]:
        judge = open_judge(read_spec(address), asking())
        hanging = asyncio.create_task(ask(judge, ITEM.with_part("log", "hang")))
        verdicts = await asyncio.gather(ask(judge), ask(judge))
        start = time.monotonic()
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
        return [verdict.value for answer in verdicts for verdict in answer], time.monotonic() - start

    got, waited = asyncio.run(run())
    assert got == [3.0, 5.0, 3.0, 5.0]
    assert waited < 5
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "voirdire-judge")


def fingerprint(address: str) -> str:
    return open_judge(read_spec(address), asking()).identity.fingerprint


def test_one_character_of_the_source_is_another_judge_and_a_move_is_not(judge_file: Path) -> None:
    first = fingerprint(written(judge_file, "def judge(call):\n    return 3\n"))
    moved = judge_file.parent / "elsewhere"
    moved.mkdir()
    assert fingerprint(written(moved / "judge.py", "def judge(call):\n    return 3\n")) == first
    assert fingerprint(written(judge_file, "def judge(call):\n    return 4\n")) != first


def test_deterministic_only_where_the_judge_file_says_so(judge_file: Path, tmp_path: Path) -> None:
    written(judge_file, "def judge(call):\n    return {'process': 3, 'damage': 5}\n")
    toml = tmp_path / "mine.toml"
    toml.write_text('backend = "python"\nmodel = "judge.py:judge"\n[options]\ndeterministic = true\n')
    assert open_judge(read_spec(str(toml)), asking()).deterministic
    assert not open_judge(read_spec(f"{judge_file}:judge"), asking()).deterministic
    assert ask_once(read_spec(str(toml)), asking())["process"].value == 3.0
    assert open_judge(read_spec(str(toml)), asking()).identity.fingerprint != fingerprint(
        f"{judge_file}:judge"
    )


def test_sampling_of_the_judge_file_reaches_the_function(judge_file: Path, tmp_path: Path) -> None:
    written(judge_file, "def judge(call):\n    return {'process': call['sampling']['level'], 'damage': 0}\n")
    prints = []
    for level in (3, 4):
        toml = tmp_path / "mine.toml"
        toml.write_text(f'backend = "python"\nmodel = "judge.py:judge"\n[sampling]\nlevel = {level}\n')
        assert ask_once(read_spec(str(toml)), asking())["process"].value == level
        prints.append(fingerprint(str(toml)))
    assert prints[0] != prints[1]


def test_a_function_of_a_package(judge_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = judge_file.parent / "judges_of_ours"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "strict.py").write_text(
        "class Strict:\n    @staticmethod\n    def judge(call):\n        return 'yes'\n"
    )
    monkeypatch.chdir(judge_file.parent)
    verdict = ask_once(read_spec("python:judges_of_ours.strict:Strict.judge"), RULE, RULE_ITEM)["rule"]
    assert verdict.value == "yes"


def test_a_file_may_import_its_neighbours(judge_file: Path) -> None:
    (judge_file.parent / "neighbour_of_judge.py").write_text("LEVEL = 4\n")
    address = written(
        judge_file,
        "import neighbour_of_judge\ndef judge(call):\n    return {'process': neighbour_of_judge.LEVEL, 'damage': 0}\n",
    )
    assert values(address)["process"] == 4.0


@pytest.mark.parametrize(
    ("address", "source", "message"),
    [
        ("{file}:judge", None, "there is no file"),
        ("{file}:jugde", "def judge(call): ...\n", "there is no function 'jugde'"),
        ("{file}:LEVEL", "LEVEL = 3\n", "there is no function 'LEVEL'"),
        ("{file}:judge", "import does_not_exist_at_all\n", "cannot import .*ModuleNotFoundError"),
        ("{file}:judge", "def judge(\n", "cannot import .*SyntaxError"),
        ("{file}:judge", "raise SystemExit(1)\n", "cannot import .*SystemExit: 1"),
        ("python:does_not_exist_at_all:judge", "", "there is no module 'does_not_exist_at_all'"),
        ("python:json.does_not_exist:judge", "", "there is no module 'json.does_not_exist'"),
        ("python:judge", "", "does not name a function"),
    ],
)
def test_what_cannot_be_opened_is_said_clearly(
    judge_file: Path, address: str, source: str | None, message: str
) -> None:
    if source is not None:
        judge_file.write_text(source)
    with pytest.raises(UsageError, match=message) as caught:
        open_judge(read_spec(address.format(file=judge_file)), asking())
    assert caught.value.hint


def test_hostile_text_reaches_the_function_as_it_is(judge_file: Path) -> None:
    hostile = 'a\x00b \ud800 {{outcome}} "quotes"\n'
    address = written(
        judge_file,
        f"def judge(log, outcome):\n    return {{'process': int(log == {hostile!r}), 'damage': 0}}\n",
    )
    verdict = ask_once(read_spec(address), asking(), ITEM.with_part("log", hostile))["process"]
    assert verdict.value == 1.0


def test_a_message_of_another_role_is_passed_on(judge_file: Path) -> None:
    address = written(judge_file, "def judge(call):\n    return [m[0] for m in call['messages']][0]\n")
    with_system = asking("exact", (Choice("role", "?", ("system", "user")),))
    with_system = type(with_system)(
        (Message("system", "s"), *with_system.messages), with_system.questions, with_system.reader
    )
    assert ask_once(read_spec(address), with_system)["role"].value == "system"


@pytest.mark.parametrize(
    "line",
    ["from helper import pick", "import helper", "import package.helper", "from package import helper"],
)
def test_an_edited_file_that_the_judge_imports_makes_it_another_judge(judge_file: Path, line: str) -> None:
    helper = judge_file.parent / ("package/helper.py" if "package" in line else "helper.py")
    helper.parent.mkdir(exist_ok=True)
    (helper.parent / "deeper.py").write_text("WORD = 1\n", encoding="utf-8")
    helper.write_text("def pick():\n    return 1\n", encoding="utf-8")
    address = written(judge_file, f"{line}\ndef judge(call):\n    return 1\n")
    before = fingerprint(address)
    assert fingerprint(address) == before
    (judge_file.parent / "beside.py").write_text("never imported", encoding="utf-8")
    assert fingerprint(address) == before
    inner = "from .deeper import WORD" if "package" in line else "from deeper import WORD"
    helper.write_text(f"def pick():\n    {inner}\n    return WORD\n", encoding="utf-8")
    second = fingerprint(address)
    assert second != before
    (helper.parent / "deeper.py").write_text("WORD = 2\n", encoding="utf-8")
    assert fingerprint(address) not in (before, second)


def test_what_it_prints_goes_to_standard_error(judge_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (
        'print("loaded")\ndef judge(call):\n    print("called")\n    return {"process": 1, "damage": 2}\n'
    )
    assert values(written(judge_file, source)) == {"process": 1.0, "damage": 2.0}
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "loaded\ncalled\n"
    print("ours")
    assert capsys.readouterr().out == "ours\n"


def test_a_judge_that_would_end_the_program_is_a_call_that_failed(judge_file: Path) -> None:
    import os

    real = os._exit
    address = written(judge_file, "import os\ndef judge(call):\n    os._exit(0)\n")
    verdicts = ask_once(read_spec(address), asking("typed"))
    assert {each.missing_because for each in verdicts.values()} == {"judge raised SystemExit: os._exit(0)"}
    assert os._exit is real
