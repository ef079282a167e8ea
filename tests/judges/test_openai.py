"""The chat backend against a real server: what is sent, what is read, every way it can go wrong."""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.loopback.chat_server import Answering, ChatServer, Hangs, Plain, Says
from voirdire.engine.pace import AdaptivePace
from voirdire.errors import JudgeError, QuotaError, TryAgain, UsageError
from voirdire.judges import open_judge
from voirdire.judges._prompted import PromptedJudge
from voirdire.judges._transport import checked_url, proxy_for, retry_after
from voirdire.judges.openai import ChatBackend, key_from
from voirdire.model import Answer, Asking, Item, JudgeSpec, Message, ReaderSpec, Usage
from voirdire.questions import Checklist, ChecklistItem, Choice, Predicate, Question, Score

ITEM = Item("item-1", {"response": 'with "quotes" and ä and {{response}}'})


def asking(*questions: Question, reader: str = "first_line", **options: object) -> Asking:
    return Asking(
        messages=(Message("system", "You judge."), Message("user", "Judge: {{response}}")),
        questions=questions or (Score("SCORE", "How good?"),),
        reader=ReaderSpec(reader, options),
    )


def judge(
    url: str,
    asked: Asking | None = None,
    *,
    model: str = "m",
    sampling: Mapping[str, object] | None = None,
    options: Mapping[str, object] | None = None,
) -> PromptedJudge:
    spec = JudgeSpec(
        "j", "openai", model, asked or asking(), sampling or {}, {"base_url": url, **(options or {})}
    )
    return open_judge(spec)


def backend_of(opened: PromptedJudge) -> ChatBackend:
    assert isinstance(opened.backend, ChatBackend)
    return opened.backend


def attempt(opened: PromptedJudge, *, repeat: int = 0, timeout: float = 20.0) -> Answer:
    """Make one attempt, unpaced."""

    async def run() -> Answer:
        try:
            async with asyncio.timeout(timeout):
                return await opened.backend.send(opened.render(ITEM), repeat=repeat)
        finally:
            await opened.close()

    return asyncio.run(run())


def answer_to(answering: Answering, opened: Mapping[str, object] | None = None) -> Answer:
    with ChatServer(answering) as server:
        return attempt(judge(server.url, options=opened))


def trouble(answering: Answering) -> TryAgain:
    with pytest.raises(TryAgain) as error:
        answer_to(answering)
    return error.value


# --- what is sent


def test_a_text_question_is_sent_as_it_is_hashed() -> None:
    with ChatServer() as server:
        opened = judge(server.url, sampling={"temperature": 0, "max_tokens": 20, "top_p": 0.5})
        attempt(opened)
        [asked] = server.asked
        assert asked.raw == opened.render(ITEM).body.encode()
        assert asked.body == {
            "model": "m",
            "messages": [
                {"role": "system", "content": "You judge."},
                {"role": "user", "content": f"Judge: {ITEM['response']}"},
            ],
            "temperature": 0,
            "max_tokens": 20,
            "top_p": 0.5,
        }


def test_what_is_not_set_is_not_sent_except_the_output_limit() -> None:
    with ChatServer() as server:
        attempt(judge(server.url))
        assert set(server.asked[0].body) == {"model", "messages", "max_tokens"}


def test_the_output_limit_goes_by_the_servers_name_for_it() -> None:
    with ChatServer() as server:
        attempt(
            judge(
                server.url, sampling={"max_tokens": 9}, options={"token_limit_field": "max_completion_tokens"}
            )
        )
        assert server.asked[0].body["max_completion_tokens"] == 9
        assert "max_tokens" not in server.asked[0].body
    openai = judge("https://api.openai.com/v1", sampling={"max_tokens": 9})
    assert json.loads(openai.render(ITEM).body)["max_completion_tokens"] == 9


def test_the_seed_counts_up_with_the_repeats() -> None:
    with ChatServer() as server:
        for repeat in (0, 3):
            attempt(judge(server.url, sampling={"seed": 7}), repeat=repeat)
        assert [asked.body["seed"] for asked in server.asked] == [7, 10]


def test_further_fields_are_sent() -> None:
    with ChatServer() as server:
        attempt(judge(server.url, options={"body": {"chat_template_kwargs": {"enable_thinking": False}}}))
        assert server.asked[0].body["chat_template_kwargs"] == {"enable_thinking": False}


def test_half_a_character_is_sent_as_json_spells_it() -> None:
    with ChatServer() as server:
        opened = judge(server.url)

        async def run() -> Answer:
            request = opened.render(Item("odd", {"response": "\ud800!"}))
            try:
                return await opened.backend.send(request, repeat=0)
            finally:
                await opened.close()

        assert asyncio.run(run()).raw == "SCORE: 7"
        assert server.asked[0].text == "Judge: \ud800!"


def test_a_structured_question_asks_by_a_strict_schema_made_from_the_questions() -> None:
    asked = asking(
        Score("quality", "How good?", low=0, high=2, levels=("bad", "fair", "good")),
        Predicate("safe", "Is it safe?"),
        Choice("winner", "Which?", ("a", "b"), {"a": "the first"}),
        Checklist("list", "All done?", (ChecklistItem("x", "X done?"), ChecklistItem("y", "Y done?"))),
        Score("wide", "How many?", low=0, high=1000),
        reader="json",
        pointer={"quality": "/scores/quality"},
    )
    with ChatServer(lambda _: Says("{}")) as server:
        attempt(judge(server.url, asked))
        sent = server.asked[0].body["response_format"]
    assert isinstance(sent, dict)
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["strict"] is True
    schema = sent["json_schema"]["schema"]
    assert schema["required"] == ["scores", "safe", "winner", "list", "wide"]
    properties = schema["properties"]
    assert properties["scores"]["properties"]["quality"] == {
        "type": "integer",
        "enum": [0, 1, 2],
        "description": "How good?\n0: bad\n1: fair\n2: good",
    }
    assert properties["safe"] == {"type": "boolean", "description": "Is it safe?"}
    assert properties["winner"] == {
        "type": "string",
        "enum": ["a", "b"],
        "description": "Which?\na: the first",
    }
    assert set(properties["list"]["properties"]) == {"x", "y"}
    assert (properties["wide"]["minimum"], properties["wide"]["maximum"]) == (0, 1000)
    assert_strict(schema)


def assert_strict(schema: dict[str, object]) -> None:
    """Every object requires all of its fields and allows no other, as a strict schema must."""
    if schema.get("type") != "object":
        return
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert schema["additionalProperties"] is False
    required = schema["required"]
    assert isinstance(required, list)
    assert sorted(required) == sorted(properties)
    for inner in properties.values():
        assert_strict(inner)


def test_a_structured_answer_is_read_through_the_same_pointers() -> None:
    asked = asking(
        Score("quality", "How good?"),
        Predicate("safe", "Safe?"),
        reader="json",
        pointer={"quality": "/scores/quality"},
        pass_at=5,
    )
    said = json.dumps({"scores": {"quality": 6}, "safe": True, "pass": True})
    with ChatServer(lambda _: Says(said)) as server:
        opened = judge(server.url, asked)
        answer = attempt(opened)
        verdicts = opened.read(opened.render(ITEM), answer, repeat=0)
        assert [verdict.value for verdict in verdicts] == [6.0, 1.0]
        sent = server.asked[0].body["response_format"]
        assert isinstance(sent, dict)
        assert sent["json_schema"]["schema"]["properties"]["pass"] == {"type": "boolean"}


def test_a_server_without_schemas_is_asked_for_json_in_plain_text() -> None:
    with ChatServer() as server:
        attempt(judge(server.url, asking(reader="json"), options={"structured": False}))
        assert "response_format" not in server.asked[0].body


def test_typed_decisions_are_refused_with_the_way_out() -> None:
    with pytest.raises(UsageError, match="typed") as error:
        judge("http://127.0.0.1:1/v1", asking(reader="typed")).render(ITEM)
    assert '"json"' in error.value.hint


def test_the_worst_case_covers_every_byte_and_the_whole_output() -> None:
    opened = judge(
        "http://127.0.0.1:1/v1", sampling={"max_tokens": 50}, options={"price_in": 2.0, "price_out": 8.0}
    )
    request = opened.render(ITEM)
    size = len(request.body.encode())
    assert (request.worst.input_tokens, request.worst.output_tokens) == (size, 50)
    assert request.worst.money == pytest.approx((size * 2.0 + 50 * 8.0) / 1e6)
    assert request.expected.input_tokens == size // 4
    assert judge("http://127.0.0.1:1/v1").render(ITEM).worst.money is None


def test_what_does_not_fit_the_context_is_not_sent() -> None:
    opened = judge("http://127.0.0.1:1/v1", sampling={"max_tokens": 100}, options={"context": 200})
    assert opened.render(Item("short", {"response": "x"})).too_long is None
    assert opened.render(Item("long", {"response": "x" * 1000})).too_long == "too_long"


# --- what is read


def test_an_answer_keeps_text_usage_money_snapshot_and_request_id() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}}
    answer = answer_to(
        lambda _: Says(
            "SCORE: 3\n", model="m-2026-01-01", fingerprint="fp_1", usage=usage, headers={"x-request-id": "r"}
        ),
        {"price_in": 1.0, "price_out": 10.0, "price_cached": 0.5},
    )
    assert answer.raw == "SCORE: 3\n"
    assert answer.usage == Usage(100, 5, 60)
    assert answer.money == pytest.approx((40 * 1.0 + 60 * 0.5 + 5 * 10.0) / 1e6)
    assert answer.served == "m-2026-01-01@fp_1"
    assert answer.extra == {"request_id": "r"}
    assert answer.seconds is not None
    assert answer.missing_because is None


def test_without_usage_there_is_no_money() -> None:
    answer = answer_to(lambda _: Says(usage=None), {"price_in": 1.0, "price_out": 1.0})
    assert (answer.usage, answer.money) == (Usage(), None)


@pytest.mark.parametrize(
    ("said", "raw", "reason"),
    [
        (Says("I will not.", refusal="I will not."), "I will not.", "refusal"),
        (Says(None, refusal="I can't help with that."), "I can't help with that.", "refusal"),
        (Says('{"SCORE": 1', finish="length"), '{"SCORE": 1', "truncated"),
        (Says("SCORE: 1", finish="content_filter"), "SCORE: 1", "content_filter"),
        (Says(""), "", "empty"),
        (Says(None), "", "empty"),
        (Says(" \n"), " \n", "empty"),
        (Says(None, finish="tool_calls"), "", "empty"),
        (Says(5), "", "the content is no text but of type int"),
    ],
)
def test_an_answer_that_must_not_be_read_is_missing_with_its_reason(
    said: Says, raw: str, reason: str
) -> None:
    answer = answer_to(lambda _: said)
    assert (answer.raw, answer.missing_because, answer.failed) == (raw, reason, False)
    assert answer.usage.output_tokens == 2


def test_a_single_token_that_was_asked_for_is_not_cut() -> None:
    with ChatServer(lambda _: Says("1", finish="length")) as server:
        assert attempt(judge(server.url, sampling={"max_tokens": 1})).missing_because is None
        assert attempt(judge(server.url, sampling={"max_tokens": 2})).missing_because == "truncated"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<!DOCTYPE html><html>Sign in to the network</html>", "an HTML page"),
        (b"", "nothing at all"),
        (b"upstream says hello", "text that is no JSON"),
        (b'{"choices": [{"message": {"content": "SCORE: 7"', "text that is no JSON"),
        (b"[" * 100_000, "text that is no JSON"),
        (b"[1, 2]", "JSON without choices"),
        (b'{"choices": []}', "JSON without choices"),
        (b'{"choices": [{"text": "SCORE: 7"}]}', "JSON without choices"),
    ],
)
def test_what_is_no_chat_completion_may_heal_but_may_have_cost(body: bytes, reason: str) -> None:
    error = trouble(lambda _: Plain(body=body))
    assert error.reason == f"not a chat completion: {reason}"
    assert error.maybe_paid


@pytest.mark.parametrize("cut", [0, 20])
def test_a_connection_that_drops_may_heal_but_may_have_cost(cut: int) -> None:
    error = trouble(lambda _: Plain(body=Says().as_plain().body, cut=cut))
    assert error.reason.startswith("connection lost")
    assert error.maybe_paid


def test_nobody_there_may_heal_and_cost_nothing() -> None:
    with ChatServer() as server:
        url = server.url
    with pytest.raises(TryAgain, match="no connection") as error:
        attempt(judge(url))
    assert not error.value.maybe_paid


def test_an_endless_answer_is_not_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voirdire.judges._transport.LONGEST_ANSWER", 1000)
    answer = answer_to(lambda _: Says("x" * 5000))
    assert answer.missing_because == "too long to be read: more than 1,000 bytes"
    assert answer.raw.startswith('{"id"')
    assert len(answer.raw) == 1000
    assert not answer.failed


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_statuses_that_may_heal(status: int) -> None:
    error = trouble(lambda _: Plain(status, b"<html>busy</html>", content_type="text/html"))
    assert f"({status})" in error.reason
    assert error.slow_down is (status in (429, 503, 529))
    assert not error.maybe_paid


def test_a_server_may_say_whether_to_try_again() -> None:
    given_up = answer_to(lambda _: Plain(500, headers={"x-should-retry": "false"}))
    assert given_up.failed
    assert given_up.missing_because == "server error (500)"
    assert trouble(lambda _: Plain(400, headers={"x-should-retry": "true"})).reason.endswith("(400)")


def test_the_wait_that_a_server_asks_for_is_passed_on() -> None:
    headers = {"retry_after": "2", "retry_after_ms": "1200"}
    assert trouble(lambda _: Plain.error(429, "rate_limit_exceeded", **headers)).after == 1.2
    assert trouble(lambda _: Plain.error(503, retry_after="0.5")).after == 0.5
    assert trouble(lambda _: Plain.error(429)).after is None


def test_retry_after_as_seconds_milliseconds_or_date() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    date = format_datetime(now + timedelta(seconds=90), usegmt=True)
    assert retry_after({"Retry-After": date}, now) == 90
    assert retry_after({"Retry-After": format_datetime(now - timedelta(seconds=9))}, now) == 0
    assert retry_after({"Retry-After": "3"}) == 3
    assert retry_after({"Retry-After-Ms": "250", "Retry-After": "9"}) == 0.25
    for nonsense in ("soon", "-1", "nan", "inf", ""):
        assert retry_after({"Retry-After": nonsense}) is None
    assert retry_after({}) is None


@pytest.mark.parametrize(
    "reply",
    [
        Plain.error(429, "insufficient_quota", "You exceeded your current quota."),
        Plain.error(402, message="You exceeded your current quota."),
        Plain(200, b'{"error": {"code": 402, "message": "You exceeded your current quota."}}'),
    ],
)
def test_an_exhausted_account_ends_the_run(reply: Plain) -> None:
    with pytest.raises(QuotaError, match="You exceeded your current quota") as error:
        answer_to(lambda _: reply)
    assert "what was answered is kept" in error.value.hint


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_the_variable(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_JUDGE_API_KEY", "sk-secret")
    with ChatServer(
        lambda asked: Plain.error(status, message=f"bad {asked.headers.get('Authorization')}")
    ) as server:
        with pytest.raises(JudgeError, match="refuses the key") as error:
            attempt(judge(server.url, options={"key_env": "MY_JUDGE_API_KEY"}))
        assert "correct MY_JUDGE_API_KEY" in error.value.hint
        assert "sk-secret" not in str(error.value)
        with pytest.raises(JudgeError) as missing:
            attempt(judge(server.url, options={"key_env": "NOT_SET_API_KEY"}, model="m"))
        assert "NOT_SET_API_KEY" in missing.value.hint


@pytest.mark.parametrize(
    "reply", [Plain.error(404, message="no such model"), Plain(301, headers={"Location": "/x"})]
)
def test_a_wrong_address_names_what_to_correct(reply: Plain) -> None:
    with pytest.raises(JudgeError, match="no chat model 'm'") as error:
        answer_to(lambda _: reply)
    assert "OPENAI_BASE_URL" in error.value.hint


@pytest.mark.parametrize(
    ("reply", "reason", "failed"),
    [
        (Plain.error(400, "context_length_exceeded"), "too_long", False),
        (Plain(413, b"too large"), "too_long", False),
        (Plain.error(400, "content_policy_violation"), "content_filter", False),
        (Plain.error(400, message="temperature is not supported"), "rejected by the server (400)", True),
        (Plain(422, b'{"detail": [{"msg": "no"}]}'), "rejected by the server (422)", True),
        (Plain(400, b'{"error": "plain words"}'), "rejected by the server (400)", True),
        (Plain(200, b'{"error": "Unexpected endpoint"}'), "rejected by the server (400)", True),
    ],
)
def test_what_concerns_one_request_is_one_missing_answer(reply: Plain, reason: str, failed: bool) -> None:
    answer = answer_to(lambda _: reply)
    assert (answer.missing_because, answer.failed, answer.money) == (reason, failed, 0.0)


def test_a_timeout_is_a_verdict_with_a_reason() -> None:
    with ChatServer(lambda _: Hangs()) as server:
        opened = judge(server.url)

        async def run() -> Answer:
            pace = AdaptivePace(timeout=0.1, attempts=2, first_wait=0.001)
            try:
                return await opened.ask(opened.render(ITEM), repeat=0, pace=pace)
            finally:
                await opened.close()

        answer = asyncio.run(run())
        [verdict] = opened.read(opened.render(ITEM), answer, repeat=0)
        assert (verdict.value, verdict.missing_because) == (None, "timeout")
        assert len(server.asked) == 2


# --- what a judge file may say


@pytest.mark.parametrize(
    "sampling", [{"temperature": "hot"}, {"top_p": True}, {"seed": "1"}, {"temperature": float("inf")}]
)
def test_a_sampling_number_that_is_none_is_refused(sampling: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(sampling))} is "):
        judge("http://127.0.0.1:1/v1", sampling=sampling)


def test_the_key_is_sent_and_stands_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with ChatServer() as server:
        opened = judge(server.url)
        attempt(opened)
        assert server.asked[0].headers["Authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in repr(opened)
    assert "sk-secret" not in json.dumps(opened.identity.fields)


def test_without_a_key_none_is_sent_and_openai_is_not_asked() -> None:
    with ChatServer() as server:
        attempt(judge(server.url))
        assert "Authorization" not in server.asked[0].headers
    with pytest.raises(JudgeError, match="no key") as error:
        attempt(judge("https://api.openai.com/v1"))
    assert error.value.hint == "set OPENAI_API_KEY"


def test_the_base_url_may_come_from_the_environment() -> None:
    spec = JudgeSpec("j", "openai", "m", asking())
    opened = ChatBackend.of(spec, {"OPENAI_BASE_URL": "http://localhost:8000/v1/", "OPENAI_API_KEY": "k"})
    assert opened.base_url == "http://localhost:8000/v1"
    assert ChatBackend.of(spec, {}).base_url == "https://api.openai.com/v1"
    assert key_from({"OPENAI_API_KEY": ""}, spec) is None


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://me:pw@host/v1", "password"),
        ("https://token@host/v1", "password"),
        ("ftp://host/v1", "http"),
        ("host/v1", "http"),
        ("https://host/v1?key=secret", "after '?'"),
        ("http://[::1/v1", "not a URL"),
        ("http://host:port/v1", "not a URL"),
    ],
)
def test_urls_that_cannot_be_kept_are_refused_without_repeating_a_secret(url: str, said: str) -> None:
    with pytest.raises(UsageError, match="j") as error:
        judge(url)
    assert said in str(error.value)
    assert not any(secret in str(error.value) for secret in ("pw", "token", "secret"))


def test_a_url_is_one_text_however_it_is_written() -> None:
    assert checked_url(" HTTPS://Host/v1/ ", where="x") == "https://host/v1"


@pytest.mark.parametrize(
    ("sampling", "options", "said"),
    [
        ({}, {"api_key": "sk-secret"}, "does not belong"),
        ({}, {"base": "x"}, "no option 'base'"),
        ({"stream": True}, {}, "'stream' is set by voirdire"),
        ({"messages": []}, {}, "'messages' is set by voirdire"),
        ({"max_tokens": 0}, {}, "max_tokens is 0"),
        ({"max_tokens": "many"}, {}, "max_tokens is 'many'"),
        ({}, {"price_in": -1}, "price_in"),
        ({}, {"context": 0.5}, "context"),
        ({}, {"key_env": ""}, "key_env"),
        ({}, {"body": 3}, "no table"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    sampling: dict[str, object], options: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as error:
        judge("http://127.0.0.1:1/v1", sampling=sampling, options=options)
    assert error.value.hint
    assert "sk-secret" not in str(error.value)


def test_a_judge_needs_a_model() -> None:
    with pytest.raises(UsageError, match="names no model"):
        judge("http://127.0.0.1:1/v1", model="")


@pytest.mark.parametrize(("temperature", "promised"), [(0, True), (0.0, True), (0.7, False), (None, False)])
def test_only_temperature_zero_promises_the_same_answer(temperature: float | None, promised: bool) -> None:
    sampling = {} if temperature is None else {"temperature": temperature}
    assert judge("http://127.0.0.1:1/v1", sampling=sampling).deterministic is promised


def test_proxies_are_those_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert proxy_for("https://api.openai.com/v1") == "http://proxy:3128"
    assert proxy_for("https://inside.example/v1") is None
    assert proxy_for("https://localhost/v1") is None
    monkeypatch.delenv("https_proxy")
    assert proxy_for("http://127.0.0.1/v1") is None


def test_a_rebuilt_published_answer_is_read(sample: Mapping[str, object]) -> None:
    answer = answer_to(lambda _: Plain(body=json.dumps(sample).encode()))
    assert answer.raw == '{"reason":"Operands are swapped.","score":0}'
    assert answer.served == "loopback-4.1@fp_sample"
    assert answer.usage == Usage(90, 12, 0)


@pytest.fixture
def sample() -> Mapping[str, object]:
    """A completion with the further fields that real servers send: log-probabilities, annotations, tiers."""
    token = {"token": '{"', "logprob": -0.0, "bytes": [123, 34], "top_logprobs": []}
    message: Mapping[str, object] = {
        "role": "assistant",
        "content": '{"reason":"Operands are swapped.","score":0}',
        "refusal": None,
        "annotations": [],
    }
    return {
        "id": "chatcmpl-sample",
        "object": "chat.completion",
        "model": "loopback-4.1",
        "choices": [
            {"index": 0, "message": message, "logprobs": {"content": [token]}, "finish_reason": "stop"}
        ],
        "usage": {
            "prompt_tokens": 90,
            "completion_tokens": 12,
            "total_tokens": 102,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": "fp_sample",
    }
