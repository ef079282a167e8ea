import json
from importlib.resources import files
from pathlib import Path

import pytest

from tests.judges._kit import ITEM, ask_once, asking
from voirdire import plugins
from voirdire.errors import DataError, UsageError, VoirdireError
from voirdire.judges import open_judge, read_spec
from voirdire.judges._file import json_schema_text
from voirdire.model import Message, ReaderSpec
from voirdire.questions import Checklist, ChecklistItem, Choice, Predicate, Score

WHOLE = """
backend = "planted"
model = "fair"
name = "the fair one"

[prompt]
system = "You review the work of agents."
user = "Log:\\n{{log}}\\n\\nLater:\\n{{ outcome }}"

[[question]]
id = "process"
kind = "score"
text = "How good were the decisions?"

[[question]]
id = "damage"
kind = "score"
text = "How much harm?"
range = [1, 5]

[reader]
name = "first_line"
labels = { process = "QUALITY", damage = "HARM" }

[sampling]
temperature = 0.2

[options]
seed = 7

[rule.outcome]
text = "May the score depend on what happened later?"
negated = "Must the score be the same whatever happened later?"
"""


def spec_of(folder: Path, text: str) -> object:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return read_spec(str(path))


def changed(old: str, new: str) -> str:
    assert WHOLE.count(old) >= 1, old
    return WHOLE.replace(old, new, 1)


def test_a_whole_judge_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(WHOLE)
    spec = read_spec(str(path))
    assert (spec.name, spec.backend, spec.model, spec.path) == ("the fair one", "planted", "fair", str(path))
    assert spec.asking is not None
    assert spec.asking.messages == (
        Message("system", "You review the work of agents."),
        Message("user", "Log:\n{{log}}\n\nLater:\n{{ outcome }}"),
    )
    assert spec.asking.questions == (
        Score("process", "How good were the decisions?", 0, 10),
        Score("damage", "How much harm?", 1, 5),
    )
    assert spec.asking.reader == ReaderSpec(
        "first_line", {"labels": {"process": "QUALITY", "damage": "HARM"}}
    )
    assert spec.sampling == {"temperature": 0.2}
    assert spec.options == {"seed": 7}
    assert spec.rules["outcome"][1].startswith("Must the score")
    verdicts = ask_once(spec, asking("json"), ITEM)
    assert verdicts["process"].raw == "QUALITY 5 HARM 1"
    assert verdicts["process"].value == 5.0


def test_all_kinds_of_question(tmp_path: Path) -> None:
    text = """
    backend = "planted"
    model = "fair"
    [prompt]
    user = "{{task}} {{first}} {{second}}"
    [[question]]
    id = "solved"
    kind = "predicate"
    text = "Solved?"
    [[question]]
    id = "better"
    kind = "choice"
    text = "Which?"
    options = { first = "the first", second = "the second" }
    [[question]]
    id = "grade"
    kind = "score"
    text = "How?"
    levels = ["bad", "fair", "good"]
    [[question]]
    id = "rubric"
    kind = "checklist"
    text = "Points"
    items = [{ id = "a", text = "A?", weight = 2.0 }, { id = "b", text = "B?", scope = true }]
    """
    path = tmp_path / "mine.toml"
    path.write_text(text)
    what = read_spec(str(path)).asking
    assert what is not None
    assert what.reader == ReaderSpec("typed")
    assert what.questions == (
        Predicate("solved", "Solved?"),
        Choice("better", "Which?", ("first", "second"), {"first": "the first", "second": "the second"}),
        Score("grade", "How?", 0, 2, ("bad", "fair", "good")),
        Checklist("rubric", "Points", (ChecklistItem("a", "A?", 2.0), ChecklistItem("b", "B?", 1.0, True))),
    )


def test_a_file_may_leave_the_asking_to_a_study(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'backend = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\nkey_env = "MY_KEY"\nprice_in = 1\n'
        "price_out = 2.5\ncontext = 8192\nmax_tokens = 300\n"
    )
    spec = read_spec(str(path))
    assert spec.asking is None
    assert spec.sampling == {"max_tokens": 300}
    assert spec.name == "mine"
    assert spec.options == {
        "base_url": "http://127.0.0.1:1/v1", "key_env": "MY_KEY", "price_in": 1.0, "price_out": 2.5,
        "context": 8192,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("address", "backend", "model"),
    [
        ("openai:some/model:v2", "openai", "some/model:v2"),
        ("python:package.module:function", "python", "package.module:function"),
        ("path/to/file.py:function", "python", "path/to/file.py:function"),
        ("./judge.py:Judge.score", "python", "./judge.py:Judge.score"),
        ("command:python judge.py --strict", "command", "python judge.py --strict"),
        ("recorded:verdicts.jsonl", "recorded", "verdicts.jsonl"),
        ("planted:leaks", "planted", "leaks"),
        (" planted: leaks ", "planted", "leaks"),
    ],
)
def test_addresses(address: str, backend: str, model: str) -> None:
    spec = read_spec(address)
    assert (spec.backend, spec.model, spec.asking, spec.path) == (backend, model, None, None)
    assert spec.name == address.strip()


def test_every_backend_has_an_address() -> None:
    for backend in plugins.names("judges"):
        assert read_spec(f"{backend}:x").backend == backend


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("opanai:m", "there is no judge backend 'opanai'", "did you mean 'openai:'?"),
        ("gpt", "'gpt' names no judge", "BACKEND:MODEL"),
        ("", "'' names no judge", "BACKEND:MODEL"),
        ("openai:", "'openai:' names no judge", "BACKEND:MODEL"),
        ("nowhere/mine.toml", "there is no judge file nowhere/mine.toml", "voirdire init"),
        (__file__, "is not a judge file", "FILE.py:NAME"),
    ],
)
def test_what_names_no_judge_is_a_usage_error(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_spec(text)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            changed('model = "fair"', 'modle = "fair"'),
            "unknown key 'modle' at the top",
            "did you mean 'model'?",
        ),
        (changed('model = "fair"\n', ""), "no key 'model' at the top", "add `model"),
        (changed("[prompt]", "[promt]"), "unknown key 'promt' at the top", "did you mean 'prompt'?"),
        (changed("system =", "sytem ="), r"unknown key 'sytem' in \[prompt\]", "did you mean 'system'?"),
        (
            changed("range = [1, 5]", "rang = [1, 5]"),
            r"unknown key 'rang' in \[\[question\]\] 2 \('damage'\)",
            "did you mean 'range'?",
        ),
        (changed("range = [1, 5]", "zzz = 3"), "unknown key 'zzz'", "keys there: id, kind, text"),
        (changed("negated =", "negate ="), r"unknown key 'negate' in \[rule\]", "did you mean 'negated'?"),
        (changed("[rule.outcome]", "[rule.outcom]"), "there is no probe 'outcom'", "did you mean 'outcome'?"),
        (
            changed("range = [1, 5]", "range = [1, 5.5]"),
            r"'range' in \[\[question\]\] 2|entry 2 of 'range'",
            "",
        ),
        (
            changed("range = [1, 5]", "range = [5, 1]"),
            r"\[\[question\]\] 2 \('damage'\).*5 to 1 is empty",
            "low",
        ),
        (
            changed("range = [1, 5]", 'options = ["a", "b"]'),
            "a score has no 'options'",
            "make the question a choice",
        ),
        (changed('kind = "score"', 'kind = "scale"'), r"'kind' in \[\[question\]\] 1 \('process'\)", ""),
        (changed('kind = "score"', 'kind = "choice"'), "a choice needs 'options'", "options = "),
        (changed('kind = "score"', 'kind = "checklist"'), "a checklist needs 'items'", "items = "),
        (
            changed('id = "damage"', 'id = "process"'),
            r"\[\[question\]\] 2 .*question 1 has the same id",
            "of its own",
        ),
        (changed("{{log}}", "log").replace("{{ outcome }}", "o"), "names no part", "{{task}}"),
        (changed("{{ outcome }}", "{{ outcome }"), "line 5: '{{ outcome }' lacks a brace", "{{outcome}}"),
        (changed("{{log}}", "{log}}"), "'{log}}' lacks a brace", "{{log}}"),
        (changed("{{ outcome }}", "{{outcome"), "'{{outcome' lacks a brace", "{{outcome}}"),
        (changed("{{log}}", "{{the log}}"), r"'\{\{the log\}\}' is not a part's name", "underscores"),
        (
            changed('name = "first_line"', 'name = "firstline"'),
            "there is no reader 'firstline'",
            "'first_line'?",
        ),
        (
            changed("labels = {", "label = {"),
            r"\[reader\]: reader 'first_line' has no option 'label'",
            "'labels'?",
        ),
        (changed('process = "QUALITY"', 'proces = "Q"'), "question 'proces' that is not asked", "'process'?"),
        (changed('backend = "planted"', 'backend = "plantd"'), "there is no backend 'plantd'", "'planted'?"),
        (WHOLE + '\n[[remedy]]\nname = "no_such_remedy"\n', "there is no remedy 'no_such_remedy'", ""),
        (changed("[prompt]", "[prompt"), "not TOML", "at that place"),
        (
            changed('name = "the fair one"', "name = 3"),
            "'name' at the top: input should be a valid string",
            "correct",
        ),
        (
            'backend = "planted"\nmodel = "fair"\n[reader]\nname = "json"\n',
            r"a \[reader\] without questions",
            "add",
        ),
        ('backend = "planted"\nmodel = "fair"\n[prompt]\nuser = "{{log}}"\n', "without a question", "add"),
        (
            'backend = "planted"\nmodel = "fair"\n[[question]]\nid = "x"\nkind = "score"\ntext = "t"\n',
            r"questions without a \[prompt\]",
            "add",
        ),
        (
            'backend = "openai"\nmodel = "m"\ncontext = 1\n[options]\ncontext = 2\n',
            "'context' stands at the top",
            "one",
        ),
        ('backend = "openai"\nmodel = "m"\nprice_in = -1\n', "'price_in' at the top", "correct"),
        ('backend = "openai"\nmodel = "m"\nprice_in = inf\n', "'price_in' at the top", "correct"),
    ],
)
def test_a_mistake_is_said_with_file_place_and_next_step(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        spec_of(tmp_path, text)
    assert str(tmp_path / "mine.toml") in str(caught.value)
    assert hint in caught.value.hint
    assert caught.value.hint


SECRET = "sk-abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.parametrize(
    "line",
    [
        f'api_key = "{SECRET}"',
        'api_key = "short"',
        'key = "x"',
        'token = "x"',
        f'[options]\nAPI_KEY = "{SECRET}"',
        f'[options.headers]\nAuthorization = "Bearer {SECRET}"',
        f'[options]\nheader = ["{SECRET}"]',
        f'key_env = "{SECRET}"',
        'base_url = "https://me:hunter2@example.org/v1"',
    ],
)
def test_a_secret_is_refused_and_never_repeated(tmp_path: Path, line: str) -> None:
    with pytest.raises(VoirdireError) as caught:
        spec_of(tmp_path, f'backend = "openai"\nmodel = "m"\n{line}\n')
    assert isinstance(caught.value, DataError)
    assert "holds a secret" in str(caught.value)
    assert "key_env" in caught.value.hint
    for secret in (SECRET, "short", "hunter2"):
        assert secret not in str(caught.value) + caught.value.hint


def test_a_key_env_that_is_no_name_is_not_repeated_either(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'key_env' at the top") as caught:
        spec_of(tmp_path, 'backend = "openai"\nmodel = "m"\nkey_env = "my secret pass"\n')
    assert "my secret pass" not in str(caught.value)


def test_an_unreadable_file_is_said_clearly(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(DataError, match="not UTF-8 at byte 0"):
        read_spec(str(path))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(UsageError, match="cannot read"):
        read_spec(str(tmp_path / "folder.toml"))


@pytest.mark.parametrize(
    "text",
    [
        changed("{{log}}", "{{log}} "),
        changed("You review", "You rate"),
        changed("How good", "How bad"),
        changed("[1, 5]", "[1, 6]"),
        changed('"QUALITY"', '"Q"'),
        changed("temperature = 0.2", "temperature = 0.3"),
        changed("temperature = 0.2", "temperature = 0.2\ntop_p = 1.0"),
        changed("seed = 7", "seed = 8"),
        changed('model = "fair"', 'model = "leaks"'),
        changed('name = "first_line"\nlabels = { process = "QUALITY", damage = "HARM" }', 'name = "json"'),
    ],
)
def test_any_change_of_the_file_is_another_judge(tmp_path: Path, text: str) -> None:
    def fingerprint(content: str) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(content)
        return open_judge(read_spec(str(path))).identity.fingerprint

    assert fingerprint(text) != fingerprint(WHOLE)
    assert fingerprint(changed("the fair one", "another name")) == fingerprint(WHOLE)


def test_the_published_json_schema_is_up_to_date() -> None:
    published = files("voirdire").joinpath("data/schemas/judge.schema.json").read_text(encoding="utf-8")
    assert published == json_schema_text(), "write voirdire.judges._file.json_schema_text() to it"
    schema = json.loads(published)
    assert schema["required"] == ["backend", "model"]
    assert schema["additionalProperties"] is False


def test_a_judge_file_with_every_key_at_the_top_opens(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'backend = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\nkey_env = "MY_KEY"\nprice_in = 1\n'
        "price_out = 2.5\ncontext = 8192\nmax_tokens = 300\n"
    )
    judge = open_judge(read_spec(str(path)), asking("json"))
    assert "300" in judge.render(ITEM).body
