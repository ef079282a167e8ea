"""A GGUF model on this machine, no key and no network: `local:smollm2-135m` or `local:path/to/model.gguf`.

Typed questions (reader `typed`) are answered from next-token probabilities: one read-out a question, the prefix that
the questions share evaluated once. The same request gives the same answer, bit for bit, whatever ran before it.
With another reader the model writes text: greedily, or sampled where the judge file sets `temperature`.

In [sampling], for text: `temperature` (default 0), `seed` (repeat k is sampled with seed + k), `top_p`, `top_k`,
`max_tokens` (default 256). In [options]: `context`, tokens that a request and its answer may have together (default
8192); `threads` (default 2, or 1 on a machine with one core); `template`, "model" (the model's own chat template, the
default) or "chatml"; `window`, a note on how whoever made the items cut them, kept in the identity. The models folder
is the option `cache`, which the command line sets.

What a candidate wrote is turned into tokens as plain text, so that it cannot end a turn or begin one. A request
longer than the context is missing as `too_long` and never cut.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from voirdire.errors import JudgeError, MissingExtraError, UsageError
from voirdire.judges._decisions import WORDING, Decision, decisions, shared_scale
from voirdire.judges._llama import BLOCK, Generated, Llama, Stop, StoppedError, Tokens, TooLongError
from voirdire.judges._models import default_folder, file_hash, verified_path
from voirdire.judges._plain import check_options, folder_of, whole_number
from voirdire.judges._prompted import Backend, Rendered
from voirdire.judges._worker import EndedError, Worker
from voirdire.model import Answer, Asking, Cost, JudgeSpec, Request, Usage, canonical_json

RUNTIME = "xllamacpp"
CONTEXT = 8192
THREADS = 2
MAX_TOKENS = 256
OPTIONS = frozenset({"context", "threads", "template", "window", "cache"})
SAMPLING = frozenset({"temperature", "seed", "top_p", "top_k", "max_tokens"})
TEMPLATES = ("model", "chatml")

BYTES_PER_TOKEN = 4
OVERHEAD = 64
"""Tokens of a template around one message, at most: checked against the real number before a request is sent."""

SOURCE = "next-token probabilities"
MAGIC = b"GGUF"

_ROLES = ("system", "user", "assistant")


def open_backend(spec: JudgeSpec) -> Backend:
    """Find the model and the runtime; the model is loaded at the first request.

    Raises MissingExtraError where the runtime is not installed, JudgeError where the model is not in the models folder
    or damaged, UsageError for options that cannot be used.
    """
    check_options(spec, OPTIONS)
    runtime = _runtime_version()
    folder = Path(str(spec.options.get("cache") or default_folder()))
    path, digest = _model_file(spec, folder)
    return LocalBackend(
        name=spec.name,
        path=path,
        sha256=digest,
        runtime=runtime,
        context=whole_number(spec, "context", default=CONTEXT, least=256),
        threads=whole_number(spec, "threads", default=min(THREADS, os.cpu_count() or 1), least=1),
        template=_template(spec),
        window=str(spec.options.get("window", "none")),
        sampling=_Sampling.of(spec),
    )


def _runtime_version() -> str:
    try:
        return f"{RUNTIME} {version(RUNTIME)}"
    except PackageNotFoundError:
        raise MissingExtraError(
            "local models need a runtime that is not installed", hint="pip install 'voirdire[local]'"
        ) from None


def _model_file(spec: JudgeSpec, folder: Path) -> tuple[Path, str]:
    if not spec.model.endswith(".gguf"):
        return verified_path(spec.model, folder)
    path = (folder_of(spec) / Path(spec.model).expanduser()).resolve()
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except OSError as error:
        raise JudgeError(
            f"cannot read the model {path}: {(error.strerror or str(error)).lower()}", hint="correct the path"
        ) from None
    if magic != MAGIC:
        raise JudgeError(f"{path} is not a GGUF file", hint="give a model in the GGUF format of llama.cpp")
    return path, file_hash(path, folder)


def _template(spec: JudgeSpec) -> str:
    template = spec.options.get("template", TEMPLATES[0])
    if template not in TEMPLATES:
        raise UsageError(
            f"judge '{spec.name}': there is no template '{template}'",
            hint=f"choose one of: {', '.join(TEMPLATES)}",
        )
    return str(template)


@dataclass(frozen=True)
class _Sampling:
    """How text is drawn. `temperature` 0: greedily, and `seed`, `top_p`, `top_k` mean nothing."""

    temperature: float = 0.0
    seed: int = 0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int = MAX_TOKENS

    @classmethod
    def of(cls, spec: JudgeSpec) -> _Sampling:
        unknown = sorted(spec.sampling.keys() - SAMPLING)
        if unknown:
            raise UsageError(
                f"judge '{spec.name}': a local model has no sampling parameter '{unknown[0]}'",
                hint=f"its parameters: {', '.join(sorted(SAMPLING))}",
            )
        given = spec.sampling
        return cls(
            temperature=_number(spec, "temperature", given.get("temperature", 0.0), 0.0, 5.0),
            seed=int(_number(spec, "seed", given.get("seed", 0), 0, 2**31, whole=True)),
            top_p=_number(spec, "top_p", given.get("top_p", 1.0), 0.0, 1.0),
            top_k=int(_number(spec, "top_k", given.get("top_k", 0), 0, 10**6, whole=True)),
            max_tokens=int(
                _number(spec, "max_tokens", given.get("max_tokens", MAX_TOKENS), 1, 10**6, whole=True)
            ),
        )

    @property
    def as_data(self) -> Mapping[str, object]:
        return {
            "temperature": self.temperature,
            "seed": self.seed,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "max_tokens": self.max_tokens,
        }

    def for_server(self, repeat: int) -> Mapping[str, object]:
        """Return what the runtime is told; every sampler that it has beside these is off."""
        if self.temperature == 0:
            return {"temperature": 0, "samplers": ["temperature"], "seed": 0}
        return {
            "temperature": self.temperature,
            "samplers": ["top_k", "top_p", "temperature"],
            "top_k": self.top_k,
            "top_p": self.top_p,
            "seed": self.seed + repeat,
        }


def _number(
    spec: JudgeSpec, name: str, value: object, low: float, high: float, *, whole: bool = False
) -> float:
    kind = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        what = "a whole number" if whole else "a number"
        raise UsageError(
            f"judge '{spec.name}': {name} is {value!r}", hint=f"give {what} from {low:g} to {high:g}"
        )
    assert isinstance(value, int | float)
    return value


# --- the backend ------------------------------------------------------------------------------------


class LocalBackend:
    """One model. It is loaded at the first request, or when a long one must be counted; `close` frees it."""

    def __init__(
        self,
        *,
        name: str,
        path: Path,
        sha256: str,
        runtime: str,
        context: int,
        threads: int,
        template: str,
        window: str,
        sampling: _Sampling,
    ) -> None:
        self._name = name
        self._path = path
        self._served = f"{path.stem}@{sha256[:12]}"
        self._context = context
        self._threads = threads
        self._template = template
        self._sampling = sampling
        self.settings: Mapping[str, object] = {
            "backend": "local",
            "model": path.stem,
            "sha256": sha256,
            "runtime": runtime,
            "context": context,
            "threads": threads,
            "batch": BLOCK,
            "template": template,
            "window": window,
            "too_long": "not sent",
            "sampling": sampling.as_data,
            "decisions": WORDING,
            "label_form": LABEL_FORM,
        }
        self._worker: Worker | None = None
        self._loaded: _Loaded | None = None
        self._turn: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    @property
    def deterministic(self) -> bool:
        """Whether nothing is drawn: always in typed answers, at temperature 0 in text."""
        return self._sampling.temperature == 0

    def prepare(self, item_id: str, messages: Rendered, parts: Mapping[str, str], asking: Asking) -> Request:  # noqa: ARG002 - the messages hold all that is sent
        """Return the request. Counts its tokens only where its bytes are more than the context has tokens."""
        _check_messages(self._name, messages)
        typed = asking.reader.name == "typed"
        asked = decisions(asking.questions) if typed else []
        body: dict[str, object] = {"messages": [list(message) for message in messages]}
        if typed:
            body["decisions"] = [each.as_data() for each in asked]
        written = len(asked) if typed else self._sampling.max_tokens
        shared = _bytes(messages)
        extra = sum(_size(each.shown) + OVERHEAD for each in asked)
        expected = Cost((shared + extra) // BYTES_PER_TOKEN, len(asked) if typed else written // 4, 0.0)
        return Request(
            item_id=item_id,
            body=canonical_json(body),
            expected=expected,
            worst=Cost(shared + extra, written, 0.0),
            too_long="too_long" if self._too_long(messages, asked, shared) else None,
        )

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the model to be free: requests that wait here do not use up their time limit."""
        loop = asyncio.get_running_loop()
        if self._turn is None or self._turn[0] is not loop:
            self._turn = (loop, asyncio.Lock())
        async with self._turn[1]:
            yield

    async def send(self, request: Request, *, repeat: int) -> Answer:
        """Ask the model. Where the caller gives up, evaluation ends, and what was evaluated helps the next attempt."""
        try:
            return await self._working().run(lambda stop: self._answer(request, repeat, stop))
        except (StoppedError, EndedError):
            raise JudgeError(
                f"judge '{self._name}' was closed while it answered", hint="open it again"
            ) from None

    async def close(self) -> None:
        """Stop what runs, free the model."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await asyncio.get_running_loop().run_in_executor(None, worker.end)

    # --- in the worker's thread ---

    def _working(self) -> Worker:
        if self._worker is None:
            self._worker = Worker("voirdire-local", last=self._unload)
        return self._worker

    def _model(self) -> _Loaded:
        if self._loaded is None:
            llama = Llama(self._path, context=self._context, threads=self._threads)
            self._loaded = _Loaded(llama, self._name, self._template)
        return self._loaded

    def _unload(self) -> None:
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            loaded.llama.close()

    def _answer(self, request: Request, repeat: int, stop: Stop) -> Answer:
        began = time.perf_counter()
        body = json.loads(request.body)
        messages = [(role, text) for role, text in body["messages"]]
        try:
            if "decisions" in body:
                answer = self._decide(
                    messages, [Decision.from_data(each) for each in body["decisions"]], stop
                )
            else:
                answer = self._write(messages, repeat, stop)
        except TooLongError:
            return Answer(missing_because="too_long", money=0.0, served=self._served)
        return Answer(
            raw=answer.raw,
            missing_because=answer.missing_because,
            usage=answer.usage,
            money=0.0,
            served=self._served,
            seconds=time.perf_counter() - began,
        )

    def _decide(self, messages: Rendered, asked: Sequence[Decision], stop: Stop) -> Answer:
        model = self._model()
        bare = model.prefers_bare_labels(stop)
        prefix, closing = model.split_prompt(messages)
        shared = shared_scale(asked)
        if shared:
            prefix += model.llama.tokens(f"\n\n{shared}")
        reused = model.llama.prefill(prefix, stop=stop)
        answers: dict[str, dict[str, object]] = {}
        evaluated = len(prefix)
        for each in asked:
            labels = model.label_tokens(each, bare=bare)
            tail = [*model.llama.tokens(f"\n\n{each.text if shared else each.shown}"), *closing]
            evaluated += len(tail)
            entry = _entry(each, model.llama.log_probabilities(tail, labels, stop=stop))
            if each.item is None:
                answers[each.question] = entry
            else:
                items = answers.setdefault(each.question, {"items": {}})["items"]
                assert isinstance(items, dict)
                items[each.item] = entry
        usage = Usage(input_tokens=evaluated, output_tokens=len(asked), cached_tokens=reused)
        return Answer(raw=canonical_json({"answers": answers}), usage=usage)

    def _write(self, messages: Rendered, repeat: int, stop: Stop) -> Answer:
        model = self._model()
        prefix, closing = model.split_prompt(messages)
        reused = model.llama.prefill(prefix, stop=stop)
        if len(prefix) + len(closing) + self._sampling.max_tokens > self._context:
            raise TooLongError
        written: Generated = model.llama.generate(
            closing, limit=self._sampling.max_tokens, sampling=self._sampling.for_server(repeat), stop=stop
        )
        return Answer(
            raw=written.text,
            missing_because=None if written.finished else "truncated",
            usage=Usage(
                input_tokens=len(prefix) + len(closing), output_tokens=written.tokens, cached_tokens=reused
            ),
        )

    def _too_long(self, messages: Rendered, asked: Sequence[Decision], shared: int) -> bool:
        """Whether the request cannot fit; no token has less than one byte, so that short ones need no counting."""
        longest = max((_size(each.shown) + OVERHEAD for each in asked), default=self._sampling.max_tokens)
        if shared + longest <= self._context:
            return False
        return self._working().run_now(lambda _: self._counted(messages, asked)) > self._context

    def _counted(self, messages: Rendered, asked: Sequence[Decision]) -> int:
        model = self._model()
        prefix, closing = model.split_prompt(messages)
        after = [len(model.llama.tokens(f"\n\n{each.shown}")) + 1 for each in asked] or [
            self._sampling.max_tokens
        ]
        return len(prefix) + len(closing) + max(after)


def _check_messages(name: str, messages: Rendered) -> None:
    roles = [role for role, _ in messages]
    unknown = [role for role in roles if role not in _ROLES]
    if unknown or not roles or roles[-1] != "user":
        raise UsageError(
            f"judge '{name}': a prompt of a local model has the roles {', '.join(_ROLES)} and ends with user, "
            f"not {roles}",
            hint="correct [prompt] in the judge file",
        )


def _bytes(messages: Rendered) -> int:
    return sum(_size(text) + OVERHEAD for _, text in messages)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _entry(asked: Decision, logs: Sequence[float]) -> dict[str, object]:
    """Return one answer in the typed form: the shares of the labels among themselves, and their mass before that."""
    highest = max(logs)
    shares = [math.exp(each - highest) for each in logs]
    total = math.fsum(shares)
    return {
        "probabilities": {name: share / total for name, share in zip(asked.labels, shares, strict=True)},
        "label_mass": min(1.0, math.fsum(math.exp(each) for each in logs)),
        "probability_source": SOURCE,
    }


# --- prompts as tokens ------------------------------------------------------------------------------

LABEL_FORM = "bare or after a space: whichever holds more of the model's probability on a fixed question"
_FIXED_QUESTION = (
    ("user", "Which of these comes first in the alphabet?\nA: B\nB: A\nAnswer with one letter."),
)
_MARK = "\ue000{}\ue001"
"""Stands for the text of one message while the template is applied: two characters of private use."""


class _Loaded:
    """A loaded model with its template: makes the tokens of prompts."""

    def __init__(self, llama: Llama, name: str, template: str) -> None:
        self.llama = llama
        self._name = name
        self._template = template
        self._frames: dict[tuple[str, ...], list[Tokens]] = {}
        self._bare: bool | None = None

    def split_prompt(self, messages: Rendered) -> tuple[Tokens, Tokens]:
        """Return the tokens up to the end of the last message's text, and those that open the model's turn.

        Only the template's own pieces are read for special tokens: what a message says is text and nothing else.
        """
        frame = self._frame(tuple(role for role, _ in messages))
        prefix = list(frame[0])
        for place, (_, text) in enumerate(messages):
            prefix += self.llama.tokens(text)
            if place + 1 < len(messages):
                prefix += frame[place + 1]
        return prefix, frame[-1]

    def prefers_bare_labels(self, stop: Stop) -> bool:
        """Whether 'A' holds more probability than ' A' as the first token of an answer; asked once."""
        if self._bare is None:
            forms = [[self.llama.tokens(space + letter) for letter in "AB"] for space in ("", " ")]
            if any(len(tokens) != 1 for tokens in forms[1]):
                self._bare = True
            elif any(len(tokens) != 1 for tokens in forms[0]):
                self._bare = False
            else:
                prefix, closing = self.split_prompt(_FIXED_QUESTION)
                self.llama.prefill(prefix, stop=stop)
                labels = [tokens[0] for form in forms for tokens in form]
                logs = self.llama.log_probabilities(closing, labels, stop=stop)
                a, b, spaced_a, spaced_b = (math.exp(each) for each in logs)
                self._bare = a + b >= spaced_a + spaced_b
        return self._bare

    def label_tokens(self, asked: Decision, *, bare: bool) -> list[int]:
        """Return the one token of each label; JudgeError where this model has none, or one for two."""
        found = [self.llama.tokens(label if bare else f" {label}") for label in asked.labels.values()]
        ids = [tokens[0] for tokens in found if len(tokens) == 1]
        if len(set(ids)) < len(asked.labels):
            raise JudgeError(
                f"judge '{self._name}': this model has no single token for each of {list(asked.labels.values())}",
                hint="ask it in text: use the reader `first_line`, `exact` or `json`",
            )
        return ids

    def _frame(self, roles: tuple[str, ...]) -> list[Tokens]:
        """Return the tokens before, between and after the texts of messages with these roles."""
        if roles not in self._frames:
            pieces = _chatml(roles) if self._template == "chatml" else self._own_pieces(roles)
            self._frames[roles] = [
                self.llama.tokens(piece, special=True, first=place == 0) for place, piece in enumerate(pieces)
            ]
        return self._frames[roles]

    def _own_pieces(self, roles: tuple[str, ...]) -> list[str]:
        marks = [_MARK.format(place) for place in range(len(roles))]
        rest = self.llama.apply_template(list(zip(roles, marks, strict=True)))
        pieces = []
        for mark in marks:
            piece, found, rest = rest.partition(mark)
            if not found or mark in rest:
                raise JudgeError(
                    f"judge '{self._name}': the model's chat template does not show every message once, in order",
                    hint='leave out the system message, or set the option `template = "chatml"`',
                )
            pieces.append(piece)
        return [*pieces, rest]


def _chatml(roles: Sequence[str]) -> list[str]:
    first, *others = roles
    between = [f"<|im_end|>\n<|im_start|>{role}\n" for role in others]
    return [f"<|im_start|>{first}\n", *between, "<|im_end|>\n<|im_start|>assistant\n"]
