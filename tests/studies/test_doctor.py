"""What a backend is asked to show, and what its answers are taken to show."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.loopback.chat_server import Answering, Asked, ChatServer, Says
from tests.studies import _doctor_servers as servers
from voirdire.engine.forms import Form
from voirdire.engine.pace import AdaptivePace
from voirdire.engine.progress import NoProgress
from voirdire.errors import DataError, UsageError
from voirdire.judges import read_spec
from voirdire.model import Asking, JudgeSpec, Message, ReaderSpec
from voirdire.questions import Score
from voirdire.studies._doctor_exercises import HIDDEN_KEY, HIDDEN_OPTIONS
from voirdire.studies.doctor import Diagnosis, Plan, diagnose, plan_trial

CAN, CANNOT, UNKNOWN = "can", "cannot", "unknown"


async def _examined(spec: JudgeSpec) -> tuple[Plan, Diagnosis]:
    plan = await plan_trial(spec)
    try:
        pace = AdaptivePace(concurrency=4, timeout=10, attempts=2, first_wait=0.01)
        return plan, await diagnose(plan, pace, NoProgress())
    finally:
        await plan.backend.close()


def examined(spec: JudgeSpec) -> Diagnosis:
    return asyncio.run(_examined(spec))[1]


def chat(url: str, *, sampling: Mapping[str, object] | None = None, **options: object) -> JudgeSpec:
    return JudgeSpec("openai:m", "openai", "m", sampling=sampling or {}, options={"base_url": url, **options})


def on_server(
    answering: Answering, *, sampling: Mapping[str, object] | None = None, **options: object
) -> Diagnosis:
    with ChatServer(answering) as server:
        return examined(chat(server.url, sampling=sampling, **options))


def states(found: Diagnosis) -> dict[str, str]:
    return {capability.name: capability.state.value for capability in found.capabilities}


def shown(found: Diagnosis, name: str) -> str:
    return next(capability.shown for capability in found.capabilities if capability.name == name)


# --- chat servers -----------------------------------------------------------------------------------


def test_a_server_that_obeys_everything() -> None:
    found = on_server(servers.obedient, context=8000, price_in=1.0, price_out=2.0)
    assert states(found) == {
        "reachable": CAN,
        "text: one word": CAN,
        "text: first line": CAN,
        "JSON": CAN,
        "JSON schema obeyed": CAN,
        "typed decisions": CANNOT,
        "probabilities": CANNOT,
        "label mass": CANNOT,
        "seed respected": CAN,
        "repeats identical": CAN,
        "deterministic promise": UNKNOWN,
        "snapshot reported": CAN,
        "usage counted": CAN,
        "context limit known": CAN,
        "price known": CAN,
    }
    assert (found.readable, found.form, found.made) == (True, Form.JSON, found.planned)
    assert found.closing == ("Use --form json.",)
    assert shown(found, "snapshot reported") == 'It calls itself "loopback-1@fp_1".'
    assert shown(found, "context limit known").startswith("8,000 tokens")
    assert found.unread == ()


def test_a_server_that_ignores_schema_seed_and_temperature_without_a_word() -> None:
    found = on_server(servers.heedless)
    seen = states(found)
    assert (seen["JSON"], seen["JSON schema obeyed"]) == (CAN, CANNOT)
    assert (seen["seed respected"], seen["repeats identical"]) == (CANNOT, CANNOT)
    assert (seen["snapshot reported"], seen["usage counted"]) == (CANNOT, CANNOT)
    assert (seen["context limit known"], seen["price known"]) == (UNKNOWN, UNKNOWN)
    assert found.form is Form.TEXT
    assert [(one.asked_for, one.raw) for one in found.unread] == [("JSON schema", '{"right": true}')]


def test_a_server_that_turns_settings_down() -> None:
    found = on_server(servers.strict)
    seen = states(found)
    assert seen["JSON schema obeyed"] == seen["seed respected"] == seen["repeats identical"] == CANNOT
    assert "Unsupported parameter: 'seed'" in shown(found, "seed respected")
    assert (found.form, seen["text: one word"]) == (Form.TEXT, CAN)


def test_a_judge_that_refuses_is_reached_and_never_read() -> None:
    found = on_server(servers.refusing)
    assert states(found)["reachable"] == CAN
    assert {states(found)[name] for name in ("text: one word", "text: first line", "JSON")} == {CANNOT}
    assert (found.readable, found.form) == (False, None)
    assert "every verdict would be missing" in found.closing[0]
    assert {one.raw for one in found.unread} == {"I'm sorry, but I can't rate this."}


def test_a_server_that_is_down_is_asked_little() -> None:
    with ChatServer() as server:
        gone = server.url
    found = examined(chat(gone))
    assert (states(found)["reachable"], found.readable) == (CANNOT, False)
    assert "No call was answered: no connection to 127.0.0.1:" in shown(found, "reachable")
    assert "connection refused." in shown(found, "reachable")
    assert found.made < found.planned / 2
    assert set(states(found).values()) <= {CANNOT, UNKNOWN}


def test_a_wrong_key_ends_it_after_one_call() -> None:
    with ChatServer(servers.wrong_key) as server:
        found = examined(chat(server.url, key_env="SOME_KEY"))
        assert len(server.asked) == 1
    assert "refuses the key (401)" in shown(found, "reachable")
    assert "Set SOME_KEY" in found.closing[0]
    assert not found.readable


def test_no_schema_is_claimed_where_the_judge_file_switches_it_off() -> None:
    found = on_server(servers.obedient, structured=False)
    assert states(found)["JSON schema obeyed"] == CANNOT
    assert "No schema is sent" in shown(found, "JSON schema obeyed")


def test_what_only_the_schema_names_stands_nowhere_in_the_prompt() -> None:
    with ChatServer(servers.obedient) as server:
        examined(chat(server.url))
    with_key = [asked for asked in server.asked if HIDDEN_KEY in asked.raw.decode()]
    assert len(with_key) == 1
    prompt = json.dumps(with_key[0].body["messages"])
    assert not any(word in prompt for word in (HIDDEN_KEY, *HIDDEN_OPTIONS))


def test_seeds_are_asked_twice_each_at_a_temperature_that_lets_answers_vary() -> None:
    with ChatServer(servers.obedient) as server:
        examined(chat(server.url, sampling={"temperature": 0, "seed": 5}))
    seeded = [asked.body["seed"] for asked in server.asked if asked.body.get("temperature") == 1.0]
    assert sorted(map(int, map(str, seeded))) == [20, 20, 21, 21, 22, 22]


def test_seeds_show_nothing_where_the_answers_never_vary() -> None:
    found = on_server(lambda asked: Says("NUMBER 7"))
    assert states(found)["seed respected"] == UNKNOWN


def test_a_promise_that_is_kept_makes_repeats_meaningless() -> None:
    found = on_server(servers.obedient, sampling={"temperature": 0})
    assert states(found)["deterministic promise"] == CAN
    assert any("Repeats are meaningless" in sentence for sentence in found.closing)


def test_a_promise_that_is_broken_is_seen() -> None:
    found = on_server(servers.wobbly, sampling={"temperature": 0})
    assert states(found)["deterministic promise"] == CANNOT
    assert not any("meaningless" in sentence for sentence in found.closing)
    assert any("do not rely on it" in sentence for sentence in found.closing)


def test_a_limit_that_cuts_every_answer_is_named() -> None:
    found = on_server(lambda asked: Says("PROC", finish="length"))
    assert not found.readable
    assert "max_tokens" in found.closing[0]


def test_two_snapshots_under_one_name_are_a_warning() -> None:
    def alternating(asked: Asked) -> Says:
        return Says("first", model=f"snapshot-{asked.number % 2}")

    found = on_server(alternating)
    assert "2 of them" in shown(found, "snapshot reported")
    assert any("More than one snapshot" in sentence for sentence in found.closing)


def test_what_is_longer_than_the_context_is_not_sent() -> None:
    with ChatServer(servers.obedient) as server:
        found = examined(chat(server.url, context=10))
        assert server.asked == []
    assert not found.readable
    assert "too_long" in shown(found, "text: one word")


# --- other backends ---------------------------------------------------------------------------------

FUNCTIONS = """
import random

def rates(task, response):
    return 7

def sees_everything(call):
    shares = {"choice": lambda q: {o: 1 / len(q["options"]) + (0.01 if k == 0 else -0.01 if k == 1 else 0)
                                   for k, o in enumerate(q["options"])},
              "score": lambda q: {str(n): 1 / (q["high"] - q["low"] + 1) for n in range(q["low"], q["high"] + 1)}}
    return {q["id"]: 5 if q.get("high", 0) > 10 else {"probabilities": shares[q["kind"]](q), "label_mass": 0.3}
            for q in call["questions"]}

def draws(call):
    return f"PROCESS {random.randrange(10)} DAMAGE {random.random()}"

def scores_runs(log, outcome):
    return {"process": 4, "damage": 8}

def one_number(log, outcome):
    return 7

def crashes(call):
    raise KeyError("log")
"""


@pytest.fixture
def function(tmp_path: Path) -> Callable[[str], JudgeSpec]:
    (tmp_path / "judge.py").write_text(FUNCTIONS, encoding="utf-8")
    return lambda name: read_spec(f"{tmp_path}/judge.py:{name}")


def test_a_function_that_takes_parts_by_name(function: Callable[[str], JudgeSpec]) -> None:
    found = examined(function("rates"))
    assert (states(found)["typed decisions"], found.form, found.readable) == (CAN, Form.TYPED, True)
    assert "Read as quality 7." in shown(found, "typed decisions")
    assert found.closing[0] == "Use --form typed; it answers only some questions so."
    assert any("never varied" in sentence for sentence in found.closing)


def test_what_a_function_is_not_called_for_is_unknown_and_no_reason_against_a_form(
    function: Callable[[str], JudgeSpec],
) -> None:
    found = examined(function("scores_runs"))
    rows = ("text: one word", "text: first line", "JSON", "JSON schema obeyed", "typed decisions")
    assert [states(found)[row] for row in rows] == [UNKNOWN, CAN, CAN, UNKNOWN, CAN]
    assert (
        shown(found, "text: one word")
        == "Not called: it needs a part 'log' that this question does not show."
    )
    assert found.form is Form.TYPED


def test_one_number_for_two_questions_is_not_read_and_ends_nothing(
    function: Callable[[str], JudgeSpec],
) -> None:
    found = examined(function("one_number"))
    assert states(found)["JSON"] == CANNOT
    assert 'return {"process": ..., "damage": ...}' in shown(found, "JSON")
    assert (states(found)["typed decisions"], found.made) == (CAN, found.planned)


def test_probabilities_and_a_low_label_mass(function: Callable[[str], JudgeSpec]) -> None:
    found = examined(function("sees_everything"))
    assert states(found)["probabilities"] == states(found)["label mass"] == CAN
    assert "0.30" in shown(found, "label mass")
    assert "it wanted to say something else" in shown(found, "label mass")
    assert found.closing[0] == "Use --form typed."


def test_a_function_that_draws_anew_each_time(function: Callable[[str], JudgeSpec]) -> None:
    found = examined(function("draws"))
    assert states(found)["seed respected"] == states(found)["repeats identical"] == CANNOT


def test_a_function_that_crashes_is_not_read(function: Callable[[str], JudgeSpec]) -> None:
    found = examined(function("crashes"))
    assert (states(found)["reachable"], found.readable) == (CANNOT, False)
    assert "judge raised KeyError" in shown(found, "reachable")
    assert found.made < found.planned


PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "text": "second", "served": "program-2"}), flush=True)
"""


def test_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("judge.py").write_text(PROGRAM, encoding="utf-8")
    found = examined(read_spec("command:python3 judge.py"))
    seen = states(found)
    assert (seen["text: one word"], seen["text: first line"]) == (CAN, CANNOT)
    assert found.form is Form.TEXT
    assert shown(found, "snapshot reported") == 'It calls itself "program-2".'


@pytest.mark.parametrize(
    ("name", "seed", "repeats"),
    [("fair", UNKNOWN, CAN), ("random", CAN, CANNOT), ("coin", CAN, CANNOT), ("deterministic", UNKNOWN, CAN)],
)
def test_planted_judges(name: str, seed: str, repeats: str) -> None:
    found = examined(read_spec(f"planted:{name}"))
    assert (states(found)["seed respected"], states(found)["repeats identical"]) == (seed, repeats)
    assert found.form is Form.TYPED


def test_the_deterministic_planted_judge_gives_probabilities_and_keeps_its_promise() -> None:
    found = examined(read_spec("planted:deterministic"))
    assert states(found)["probabilities"] == states(found)["deterministic promise"] == CAN
    assert any("Repeats are meaningless" in sentence for sentence in found.closing)


HEADER = '{"schema": "voirdire.verdicts/1"}\n'


def recorded(tmp_path: Path, *rows: Mapping[str, object]) -> JudgeSpec:
    path = tmp_path / "verdicts.jsonl"
    path.write_text(HEADER + "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_spec(f"recorded:{path}")


def test_a_file_of_verdicts_is_asked_what_it_holds(tmp_path: Path) -> None:
    parts = {"task": "t", "response": "r"}
    rows = [
        {"item": "a", "parts": parts, "question": "quality", "value": 3, "repeat": 2},
        {"item": "b", "parts": {**parts, "task": "u"}, "question": "quality", "value": 97.5},
    ]
    found = examined(recorded(tmp_path, *rows))
    assert (found.made, found.readable) == (1, True)
    assert shown(found, "typed decisions") == "Read as quality 3."
    assert states(found)["seed respected"] == UNKNOWN


def test_recorded_words_and_the_file_s_own_prompt(tmp_path: Path) -> None:
    pair = {"task": "t", "response_a": "x", "response_b": "y", "order": "ba"}
    spec = recorded(tmp_path, {"item": "a", "parts": pair, "question": "better", "value": "first"})
    asking = Asking(
        (Message("user", "{{first}} {{second}}"),), (Score("better", "?", 0, 10),), ReaderSpec("typed")
    )
    found = examined(JudgeSpec(spec.name, spec.backend, spec.model, asking=asking))
    assert states(found)["typed decisions"] == CAN
    assert states(found)["own prompt"] == CANNOT


def test_a_file_without_texts_shows_nothing(tmp_path: Path) -> None:
    found = examined(
        recorded(tmp_path, {"item": "a", "parts_sha256": {"task": "9f"}, "question": "q", "value": 1})
    )
    assert (found.made, found.readable) == (0, False)
    assert states(found)["reachable"] == UNKNOWN


# --- the judge file's own prompt --------------------------------------------------------------------

OWN = """
backend = "planted"
model = "fair"

[prompt]
user = "{{log}} and {{note_of_the_night}}"

[[question]]
id = "process"
kind = "score"
text = "How good?"

[reader]
name = "first_line"
"""


def test_an_own_prompt_is_tried_on_placeholders_with_its_own_reader(tmp_path: Path) -> None:
    (tmp_path / "judge.toml").write_text(OWN, encoding="utf-8")
    plan, found = asyncio.run(_examined(read_spec(str(tmp_path / "judge.toml"))))
    own = next(exercise for exercise in plan.exercises if exercise.name.value == "own prompt")
    assert own.item["note_of_the_night"] == "(a text that stands for note_of_the_night)"
    assert (states(found)["own prompt"], shown(found, "own prompt")) == (CAN, "Read as process 5.")
    assert found.closing[0] == "The judge file's own prompt is used as it stands, and its answer was read."


def test_an_own_prompt_that_is_not_read_keeps_the_raw_answer(tmp_path: Path) -> None:
    own = OWN.replace('"first_line"', '"first_line"\nlabels = { process = "QUALITY" }')
    hostile = "process 3\x1b[31m\nexit 0 "
    (tmp_path / "judge.py").write_text(f"def judge(call):\n    return {hostile!r}\n", encoding="utf-8")
    own = own.replace('"planted"', '"python"').replace('"fair"', '"judge.py:judge"')
    (tmp_path / "judge.toml").write_text(own, encoding="utf-8")
    found = examined(read_spec(str(tmp_path / "judge.toml")))
    assert states(found)["own prompt"] == CANNOT
    assert hostile in [one.raw for one in found.unread if one.asked_for == "own prompt"]


# --- wrong use --------------------------------------------------------------------------------------


def test_the_plan_asks_nothing() -> None:
    async def planned(spec: JudgeSpec) -> Plan:
        plan = await plan_trial(spec)
        await plan.backend.close()
        return plan

    with ChatServer() as server:
        plan = asyncio.run(planned(chat(server.url, price_in=1.0, price_out=1.0)))
        assert server.asked == []
    assert plan.calls == plan.forecast.to_ask == 13
    assert plan.forecast.worst.money is not None


@pytest.mark.parametrize("judge", ["planted:nobody", "judge.py:function", "recorded:nothing.jsonl"])
def test_a_judge_that_does_not_exist_is_a_usage_error(
    judge: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        examined(read_spec(judge))


def test_a_broken_file_of_verdicts_is_a_data_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(HEADER + "{", encoding="utf-8")
    with pytest.raises(DataError):
        examined(read_spec(f"recorded:{path}"))
