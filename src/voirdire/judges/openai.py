"""Any OpenAI-compatible chat endpoint: hosted, vLLM, SGLang, Ollama, llama.cpp and others.

`openai:MODEL`, or a judge file with `backend = "openai"`. In [sampling]: `max_tokens` (default 1024), `temperature`,
`top_p`, `seed` (repeat k is asked with seed + k) and whatever else the server takes; what is not set is not sent. In
[options]: `base_url` (else OPENAI_BASE_URL, else OpenAI's own); `key_env`, the environment variable that holds the
key (default OPENAI_API_KEY); `price_in`, `price_out` and `price_cached`, US dollars per million tokens; `context`, the
most tokens that a request and its answer may have together; `structured`, false where the server knows no JSON
schemas; `token_limit_field`, what the server calls `max_tokens`; `body`, a table of further fields to send.

The reader `json` asks for structured answers by a strict schema made from the questions; `first_line` and `exact`
are asked in plain text.
"""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from math import isfinite
from urllib.parse import urlsplit

from voirdire.errors import JudgeError, QuotaError, TryAgain, UsageError
from voirdire.judges._prompted import Rendered
from voirdire.judges._schema import response_format
from voirdire.judges._transport import Reply, Transport, checked_url, retry_after
from voirdire.model import Answer, Asking, Cost, JudgeSpec, Request, Usage, canonical_json

OPENAI = "https://api.openai.com/v1"
KEY_ENV = "OPENAI_API_KEY"
URL_ENV = "OPENAI_BASE_URL"
MAX_TOKENS = 1024
BYTES_PER_TOKEN = 4

OPTIONS = (
    "base_url",
    "key_env",
    "price_in",
    "price_out",
    "price_cached",
    "context",
    "structured",
    "token_limit_field",
    "body",
)
_OURS = ("model", "messages", "response_format", "stream", "n", "max_completion_tokens")
_SECRETS = ("api_key", "key", "token", "authorization", "password", "secret")

_NO_QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_TOO_LONG = frozenset({"context_length_exceeded", "string_above_max_length"})
_NUMBERS = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "seed", "presence_penalty", "frequency_penalty"}
)
_FILTERED = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
_HEALS = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS})
_SLOW_DOWN = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, 529})


def open_backend(spec: JudgeSpec) -> "ChatBackend":
    """Open the endpoint that `spec` names. Nothing is sent yet: a plan needs neither key nor network.

    The environment is read here once (the key, the base URL), since neither may stand in a judge file that is hashed
    and stored: the one exception to the rule that only `cli` reads it. Raises UsageError for options it cannot use.
    """
    return ChatBackend.of(spec, os.environ)


def key_from(environment: Mapping[str, str], spec: JudgeSpec) -> str | None:
    """Return the key in the variable that the judge file names, or None where there is none."""
    return environment.get(_text(spec.options, "key_env", KEY_ENV)) or None


@dataclass(frozen=True)
class Prices:
    """US dollars per million tokens; None: not known. `cached`: for input that the server had seen before."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None

    def of(self, usage: Usage) -> float | None:
        """Return what this usage costs, or None where a price or a count is not known."""
        if self.input is None or self.output is None:
            return None
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = usage.cached_tokens or 0 if self.cached is not None else 0
        fresh = usage.input_tokens - cached
        return (fresh * self.input + cached * (self.cached or 0.0) + usage.output_tokens * self.output) / 1e6


@dataclass(frozen=True)
class ChatBackend:
    """One model behind one endpoint. `extra`: what is sent with every request beside messages and format."""

    name: str
    model: str
    base_url: str
    key_env: str
    transport: Transport = field(compare=False)
    has_key: bool = False
    needs_key: bool = False
    extra: Mapping[str, object] = field(default_factory=dict)
    limit_field: str = "max_tokens"
    structured: bool = True
    context: int | None = None
    prices: Prices = Prices()

    @classmethod
    def of(cls, spec: JudgeSpec, environment: Mapping[str, str]) -> "ChatBackend":
        """Check what the judge file says and put it together."""
        options = _checked(spec)
        if not spec.model:
            raise UsageError(f"judge '{spec.name}' names no model", hint="write openai:MODEL")
        address = _text(options, "base_url", environment.get(URL_ENV) or OPENAI)
        base_url = checked_url(address, where=f"judge '{spec.name}'")
        key = key_from(environment, spec)
        limit_field = _text(
            options, "token_limit_field", "max_completion_tokens" if _is_openai(base_url) else "max_tokens"
        )
        return cls(
            name=spec.name,
            model=spec.model,
            base_url=base_url,
            key_env=_text(options, "key_env", KEY_ENV),
            transport=Transport(
                f"{base_url}/chat/completions",
                headers={"Authorization": f"Bearer {key}"} if key else {},
                secret=key,
            ),
            has_key=key is not None,
            needs_key=_is_openai(base_url),
            extra=_extra(spec, limit_field),
            limit_field=limit_field,
            structured=options.get("structured", True) is not False,
            context=_whole_number(options, "context"),
            prices=Prices(
                _price(options, "price_in"), _price(options, "price_out"), _price(options, "price_cached")
            ),
        )

    @property
    def settings(self) -> Mapping[str, object]:
        """Model, endpoint and everything that is sent beside the prompt; neither key nor prices."""
        return {
            "backend": "openai",
            "model": self.model,
            "endpoint": self.base_url,
            "structured": self.structured,
            "sampling": dict(self.extra),
        }

    @property
    def deterministic(self) -> bool:
        """Whether temperature is 0."""
        return self.extra.get("temperature") == 0

    def prepare(self, item_id: str, messages: Rendered, parts: Mapping[str, str], asking: Asking) -> Request:  # noqa: ARG002 - the messages hold all that is sent
        """Return the chat request. Raises UsageError for the reader `typed`, which no chat server answers."""
        if asking.reader.name == "typed":
            raise UsageError(
                f"judge '{self.name}': a chat server does not give typed decisions",
                hint='use the reader "json": it asks for a structured answer to the same questions',
            )
        sent: dict[str, object] = {
            **self.extra,
            "model": self.model,
            "messages": [{"role": role, "content": text} for role, text in messages],
        }
        if asking.reader.name == "json" and self.structured:
            sent["response_format"] = response_format(asking.questions, asking.reader.options)
        body = canonical_json(sent)
        size = len(body) if body.isascii() else len(body.encode("utf-8", "surrogatepass"))
        expected = self._cost(size // BYTES_PER_TOKEN, self._limit // 4)
        too_long = self.context is not None and size // BYTES_PER_TOKEN + self._limit > self.context
        return Request(
            item_id=item_id,
            body=body,
            expected=expected,
            worst=self._cost(size, self._limit),
            too_long="too_long" if too_long else None,
        )

    async def send(self, request: Request, *, repeat: int) -> Answer:
        """Make one attempt; see `Backend`."""
        if not self.has_key and self.needs_key:
            raise JudgeError(f"judge '{self.name}': no key for {self.base_url}", hint=f"set {self.key_env}")
        loop = asyncio.get_running_loop()
        began = loop.time()
        reply = await self.transport.post(self._bytes(request, repeat))
        seconds = loop.time() - began
        if reply.status == HTTPStatus.OK:
            return self._answer(reply, seconds)
        return self._trouble(reply, reply.status, _Complaint.read(reply.body))

    async def close(self) -> None:
        """Close the connections."""
        await self.transport.close()

    # --- what is sent

    @property
    def _limit(self) -> int:
        limit = self.extra[self.limit_field]
        assert isinstance(limit, int)
        return limit

    def _cost(self, given: int, made: int) -> Cost:
        known = self.prices.input is not None
        return Cost(given, made, self.prices.of(Usage(given, made)) if known else None)

    def _bytes(self, request: Request, repeat: int) -> bytes:
        body = request.body
        seed = self.extra.get("seed")
        if isinstance(seed, int) and repeat:
            body = canonical_json({**json.loads(body), "seed": seed + repeat})
        try:
            return body.encode()
        except UnicodeEncodeError:  # half a character has no bytes, but JSON can spell it
            return json.dumps(json.loads(body)).encode()

    # --- what came back

    def _answer(self, reply: Reply, seconds: float) -> Answer:
        """Return what a reply of status 200 says."""
        if reply.cut:
            reason = f"too long to be read: more than {len(reply.body):,} bytes"
            return Answer(raw=reply.body.decode("utf-8", "replace"), missing_because=reason, seconds=seconds)
        try:
            data = json.loads(reply.body.decode())
        except (ValueError, RecursionError):
            raise TryAgain(f"not a chat completion: {_kind(reply.body)}", maybe_paid=True) from None
        choice = _first_choice(data)
        if choice is None:
            complaint = _Complaint.of(data)
            if complaint.given:
                return self._trouble(reply, complaint.status, complaint)
            raise TryAgain("not a chat completion: JSON without choices", maybe_paid=True)
        usage = _usage(data.get("usage"))
        raw, missing = _content(choice, one_token=self._limit == 1)
        return Answer(
            raw=raw,
            missing_because=missing,
            usage=usage,
            money=self.prices.of(usage),
            served=_served(data),
            seconds=seconds,
            extra=_worth_keeping(data, choice, reply),
        )

    def _trouble(self, reply: Reply, status: int, complaint: "_Complaint") -> Answer:
        """Return a missing answer for what concerns this request alone; raise for all else."""
        if status == HTTPStatus.PAYMENT_REQUIRED or complaint.any_of(_NO_QUOTA):
            raise QuotaError(
                f"judge '{self.name}': {complaint.message or 'the account is exhausted'}",
                hint="top up the account, then run the same command again: what was answered is kept",
            )
        should_retry = reply.headers.get("x-should-retry")
        heals = status in _HEALS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        if should_retry == "true" or (heals and should_retry != "false"):
            raise TryAgain(_reason(status), after=retry_after(reply.headers), slow_down=status in _SLOW_DOWN)
        if complaint.any_of(_TOO_LONG) or status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return Answer(missing_because="too_long", money=0.0, extra=complaint.as_extra())
        if complaint.any_of(_FILTERED):
            return Answer(missing_because="content_filter", money=0.0, extra=complaint.as_extra())
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            key = f"correct {self.key_env}" if self.has_key else f"set {self.key_env}"
            raise JudgeError(
                f"judge '{self.name}': {self.base_url} refuses the key ({status}){complaint.said}",
                hint=f"{key}, or name another variable with `key_env` in the judge file",
            )
        if status == HTTPStatus.NOT_FOUND or HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            raise JudgeError(
                f"judge '{self.name}': no chat model '{self.model}' at {self.base_url} ({status}){complaint.said}",
                hint=f"correct the model's name, `base_url` or {URL_ENV}",
            )
        return Answer(missing_because=_reason(status), failed=True, money=0.0, extra=complaint.as_extra())


@dataclass(frozen=True)
class _Complaint:
    """What an error body says, in whichever of its shapes; empty where it says nothing."""

    message: str = ""
    codes: tuple[str, ...] = ()
    status: int = HTTPStatus.BAD_REQUEST
    given: bool = False

    @classmethod
    def read(cls, body: bytes) -> "_Complaint":
        """Read the body of a reply that is no answer."""
        try:
            return cls.of(json.loads(body))
        except (ValueError, RecursionError):
            return cls(message=_kind(body))

    @classmethod
    def of(cls, data: object) -> "_Complaint":
        """Read a parsed body: {"error": {...}}, {"error": "text"}, or the error itself."""
        error = data.get("error") if isinstance(data, dict) and data.get("error") else data
        if isinstance(error, str):
            return cls(message=error[:300], given=True)
        if not isinstance(error, dict):
            return cls()
        message = error.get("message") or error.get("detail") or ""
        code = error.get("code")
        codes = tuple(value for value in (code, error.get("type")) if isinstance(value, str))
        return cls(
            message=str(message)[:300],
            codes=codes,
            status=code if isinstance(code, int) and 400 <= code < 600 else HTTPStatus.BAD_REQUEST,
            given=bool(message or codes),
        )

    def any_of(self, codes: frozenset[str]) -> bool:
        """Whether one of the codes is given."""
        return not codes.isdisjoint(self.codes)

    @property
    def said(self) -> str:
        """The message as the end of a sentence."""
        return f": {self.message}" if self.message else ""

    def as_extra(self) -> Mapping[str, object]:
        """What is kept of it with an answer."""
        return {"message": self.message, "codes": list(self.codes)}


def _first_choice(data: object) -> Mapping[str, object] | None:
    choices = data.get("choices") if isinstance(data, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) and isinstance(first.get("message"), dict) else None


def _content(choice: Mapping[str, object], *, one_token: bool) -> tuple[str, str | None]:
    """Return the answer's text, and why it must not be read, if so.

    `one_token`: just one token was asked for; that the limit was reached is then no sign of a cut.
    """
    message = choice["message"]
    assert isinstance(message, dict)
    refusal, content, finish = message.get("refusal"), message.get("content"), choice.get("finish_reason")
    text = content if isinstance(content, str) else ""
    if isinstance(refusal, str) and refusal:
        return text or refusal, "refusal"
    if finish == "content_filter":
        return text, "content_filter"
    if finish == "length" and not (one_token and text):
        return text, "truncated"
    if content is not None and not isinstance(content, str):
        return text, f"the content is no text but of type {type(content).__name__}"
    return text, None if text.strip() else "empty"


def _usage(data: object) -> Usage:
    if not isinstance(data, dict):
        return Usage()
    details = data.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(_count(data.get("prompt_tokens")), _count(data.get("completion_tokens")), _count(cached))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _served(data: Mapping[str, object]) -> str | None:
    model, fingerprint = data.get("model"), data.get("system_fingerprint")
    named = [value for value in (model, fingerprint) if isinstance(value, str) and value]
    return "@".join(named) or None


def _worth_keeping(
    data: Mapping[str, object], choice: Mapping[str, object], reply: Reply
) -> Mapping[str, object]:
    kept = {
        "request_id": reply.headers.get("x-request-id") or data.get("id"),
        "finish_reason": choice.get("finish_reason"),
    }
    return {name: value for name, value in kept.items() if isinstance(value, str) and value != "stop"}


def _reason(status: int) -> str:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "rate limit (429)"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return f"server error ({status})"
    return f"rejected by the server ({status})"


def _kind(body: bytes) -> str:
    start = body[:200].lstrip().lower()
    if not start:
        return "nothing at all"
    return (
        "an HTML page"
        if start.startswith((b"<!doctype", b"<html", b"<head", b"<body"))
        else "text that is no JSON"
    )


def _is_openai(base_url: str) -> bool:
    return urlsplit(base_url).hostname == urlsplit(OPENAI).hostname


# --- what a judge file may say


def _checked(spec: JudgeSpec) -> Mapping[str, object]:
    for name in spec.options:
        if name.lower() in _SECRETS:
            raise UsageError(
                f"judge '{spec.name}': '{name}' does not belong into a judge file",
                hint="put the key into an environment variable and name it with `key_env`",
            )
        if name not in OPTIONS:
            raise UsageError(
                f"judge '{spec.name}': backend 'openai' has no option '{name}'",
                hint=f"options: {', '.join(OPTIONS)}",
            )
    return spec.options


def _extra(spec: JudgeSpec, limit_field: str) -> Mapping[str, object]:
    """Return what is sent with every request, the output limit under the name the server knows."""
    further = spec.options.get("body", {})
    if not isinstance(further, Mapping):
        raise UsageError(f"judge '{spec.name}': `body` is no table", hint="write [options.body]")
    fields = {**further, **spec.sampling}
    limit = fields.pop("max_tokens", MAX_TOKENS)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise UsageError(
            f"judge '{spec.name}': max_tokens is {limit!r}", hint="give a whole number above zero"
        )
    _refuse_ours(spec.name, fields)
    for name in _NUMBERS & fields.keys():
        _check_number(spec.name, name, fields[name])
    return {**fields, limit_field: limit}


def _check_number(judge: str, name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise UsageError(f"judge '{judge}': {name} is {value!r}", hint="give a number")


def _refuse_ours(name: str, fields: Sequence[str] | Mapping[str, object]) -> None:
    for taken in _OURS:
        if taken in fields:
            raise UsageError(
                f"judge '{name}': '{taken}' is set by voirdire itself",
                hint="leave it out; the output limit is `max_tokens`",
            )


def _text(options: Mapping[str, object], name: str, default: str) -> str:
    value = options.get(name, default)
    if not isinstance(value, str) or not value:
        raise UsageError(f"option '{name}' is {value!r}, not a text", hint=f'write {name} = "..."')
    return value


def _price(options: Mapping[str, object], name: str) -> float | None:
    value = options.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise UsageError(f"option '{name}' is {value!r}", hint="give US dollars per million tokens")
    return float(value)


def _whole_number(options: Mapping[str, object], name: str) -> int | None:
    value = options.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"option '{name}' is {value!r}", hint="give a whole number of tokens above zero")
    return value
