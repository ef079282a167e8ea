"""One GGUF model in this process, run by llama.cpp: tokens in, log-probabilities or text out.

The same input gives the same bits, whatever ran before it. Three habits bring this about, all of them about which
tokens are evaluated together, since llama.cpp takes other kernels for a batch of another size:

- A prefix is evaluated in blocks of `BLOCK` tokens that start at multiples of `BLOCK`. What an earlier prefix has in
  common with it is reused in whole blocks only: these were evaluated in the same batches that a cold start makes.
- A prefix ends with an anchor token that belongs to nothing and is thrown away, so that no token of the prefix is ever
  evaluated alone. Evaluating the anchor anew cuts the state back to the prefix before each question.
- What follows a prefix is evaluated in one go from there, and read out once.

So answers do not depend on the order of questions, on other requests, or, unless text is generated, on threads.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from itertools import takewhile
from pathlib import Path
from typing import Any

from voirdire.errors import JudgeError, UsageError

BLOCK = 128
"""Tokens evaluated together: a tenth faster than 64, and small enough to reuse most of a prefix, which 256 is not."""

READ_OUT = 1000
"""Most likely tokens read out at first; all of the vocabulary where a label is not among them (a second, slow try)."""

GUIDE = 1000.0
"""Bias in logits that decides which token is sampled, so that an answer is never cut by an end token; what is read
out are the model's own probabilities, before any bias."""

Tokens = list[int]
Stop = Callable[[], bool]


class StoppedError(Exception):
    """The caller's `stop` said so; what was evaluated so far is kept for the next attempt."""


class TooLongError(Exception):
    """The tokens do not fit into the context."""


@dataclass(frozen=True)
class Generated:
    """Text that the model wrote. `finished`: it ended by itself; False: it reached the limit of tokens."""

    text: str
    tokens: int
    finished: bool


class Llama:
    """A loaded model. Not for several threads at once; `close` frees it."""

    def __init__(self, path: Path, *, context: int, threads: int) -> None:
        self._key = secrets.token_hex(16)
        self._server: Any = _start(path, context=context, threads=threads, key=self._key)
        self._host, _, port = self._server.listening_address.removeprefix("http://").partition(":")
        self._port = int(port)
        self.context = context
        self._held: Tokens = []
        self._known: Tokens = []
        meta = self._http("GET", "/v1/models")["data"][0]["meta"]
        self._vocabulary = int(meta["n_vocab"])
        self._check_context(path, trained=int(meta["n_ctx_train"]))
        self._anchors = [self.tokens(letter)[-1] for letter in "ABC"]

    def close(self) -> None:
        """Stop the model's threads and free its memory."""
        self._server = None

    def tokens(self, text: str, *, special: bool = False, first: bool = False) -> Tokens:
        """Return the text's tokens. `special`: names of special tokens count as such; `first`: the text starts the prompt."""
        text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        body = {"content": text, "parse_special": special, "add_special": first}
        tokens: Tokens = self._http("POST", "/tokenize", body)["tokens"]
        return tokens

    def apply_template(self, messages: Sequence[tuple[str, str]]) -> str:
        """Return the prompt that the model's own chat template makes; JudgeError where it cannot."""
        body = {"messages": [{"role": role, "content": text} for role, text in messages]}
        prompt: str = self._http("POST", "/apply-template", body)["prompt"]
        return prompt

    def prefill(self, prefix: Tokens, *, stop: Stop) -> int:
        """Evaluate a prefix that questions will follow; return how many of its tokens were evaluated before."""
        if prefix == self._known:
            return len(prefix)
        reused = _in_common(prefix, self._known) // BLOCK * BLOCK
        self._cut_back(prefix, reused)

        def note(processed: int) -> None:
            self._known = prefix[: processed // BLOCK * BLOCK]

        self._run([*prefix, self._anchors[0]], stop=stop, reuse=reused > 0, note=note)
        self._known = prefix
        return reused

    def log_probabilities(self, tail: Tokens, labels: Sequence[int], *, stop: Stop) -> list[float]:
        """Return the model's log-probability of each label as the token after prefix and tail, before any bias."""
        for width in (min(READ_OUT, self._vocabulary), self._vocabulary):
            answer = self._after_prefix(
                tail, stop, {"n_probs": width, "temperature": 0, "logit_bias": [[labels[0], GUIDE]]}
            )
            entries = answer.probabilities["top_logprobs"]
            found = {entry["id"]: float(entry["logprob"]) for entry in entries}
            if all(label in found for label in labels):
                return [found[label] for label in labels]
        raise JudgeError(
            "the runtime did not read out every label", hint="update it: pip install -U xllamacpp"
        )

    def generate(self, tail: Tokens, *, limit: int, sampling: Mapping[str, object], stop: Stop) -> Generated:
        """Return what the model writes after prefix and tail, at most `limit` tokens."""
        answer = self._after_prefix(tail, stop, {"n_predict": limit, **sampling})
        return Generated(answer.text, answer.tokens, finished=answer.finish == "stop")

    # --- the one slot of the server ---

    def _after_prefix(self, tail: Tokens, stop: Stop, asked: Mapping[str, object]) -> _Completion:
        """Evaluate `tail` after the known prefix alone."""
        if self._held != [*self._known, self._anchors[0]]:
            self._run([*self._known, self._anchors[0]], stop=stop)
        if tail[0] == self._anchors[0]:
            self._run([*self._known, self._anchors[1]], stop=stop)
        return self._run([*self._known, *tail], stop=stop, asked=asked)

    def _cut_back(self, prefix: Tokens, length: int) -> None:
        """Leave the first `length` tokens in the slot and nothing that `prefix` goes on with."""
        self._known = prefix[:length]
        following = {*self._held[length : length + 1], *prefix[length : length + 1]}
        other = next(anchor for anchor in self._anchors if anchor not in following)
        if length:
            self._run([*prefix[:length], other], stop=lambda: False)

    def _run(
        self,
        prompt: Tokens,
        *,
        stop: Stop,
        reuse: bool = True,
        note: Callable[[int], None] = lambda _: None,
        asked: Mapping[str, object] | None = None,
    ) -> _Completion:
        if self._server is None:
            raise JudgeError("the model was closed", hint="open the judge again")
        completion = _Completion(stop, note)
        request = {
            "prompt": prompt,
            "cache_prompt": reuse,
            "n_predict": 1,
            "stream": True,
            "return_progress": True,
            **(asked or {}),
        }
        self._held = []
        try:
            self._server.handle_completions(request, completion.take)
            completion.check()
        except StoppedError:
            self._held = prompt
            raise
        except BaseException:
            self._known = []
            raise
        self._held = prompt
        return completion

    # --- the server's other routes ---

    def _http(self, method: str, route: str, body: Mapping[str, object] | None = None) -> Any:
        connection = HTTPConnection(self._host, self._port, timeout=60)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        try:
            connection.request(method, route, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            data = json.loads(response.read())
        except (OSError, HTTPException, ValueError) as error:
            raise JudgeError(
                f"the local model does not answer at {route}: {error}", hint="run it again"
            ) from None
        finally:
            connection.close()
        if response.status != 200:
            raise JudgeError(
                f"the local model refused {route}: {_said(data)}", hint="choose another model or template"
            )
        return data

    def _check_context(self, path: Path, *, trained: int) -> None:
        if self.context > trained:
            self.close()
            raise UsageError(
                f"{path.name} was trained on {trained} tokens, fewer than the context of {self.context}",
                hint=f"set the option `context = {trained}`",
            )


class _Completion:
    """Collects what the server streams; tells it to stop where the caller wants it to."""

    def __init__(self, stop: Stop, note: Callable[[int], None]) -> None:
        self._stop = stop
        self._note = note
        self._error: Mapping[str, Any] | None = None
        self._stopped = False
        self._texts: list[str] = []
        self.probabilities: Mapping[str, Any] = {}
        self.finish: str | None = None
        self.tokens = 0

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def take(self, piece: Mapping[str, Any]) -> bool:
        """Take one streamed piece; True asks the server to stop."""
        if "error" in piece:
            self._error = piece["error"]
            return True
        if "prompt_progress" in piece:
            self._note(int(piece["prompt_progress"]["processed"]))
        choice = piece["choices"][0]
        self._texts.append(choice["text"])
        self.finish = choice["finish_reason"] or self.finish
        self.tokens = piece.get("usage", {}).get("completion_tokens", self.tokens)
        if choice.get("logprobs"):
            self.probabilities = choice["logprobs"]["content"][0]
        self._stopped = self.finish is None and self._stop()
        return self._stopped

    def check(self) -> None:
        """Raise where it did not end well."""
        if self._stopped:
            raise StoppedError
        if self._error is not None and self._error.get("type") == "exceed_context_size_error":
            raise TooLongError(str(self._error.get("message")))
        if self._error is not None or self.finish is None:
            said = self._error.get("message") if self._error else "no end of the answer"
            raise JudgeError(f"the local model failed: {said}", hint="run it again, or choose another model")


def _start(path: Path, *, context: int, threads: int, key: str) -> Any:
    os.environ.setdefault(
        "OMP_WAIT_POLICY", "passive"
    )  # threads that spin starve each other on a busy machine
    try:
        import xllamacpp
    except ImportError as error:
        raise JudgeError(
            f"the runtime of local models cannot be loaded: {error}",
            hint="pip install --force-reinstall 'voirdire[local]'",
        ) from None
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = context, 1
    params.n_batch = params.n_ubatch = BLOCK
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_gpu_layers = 0
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.fit_params = False
    params.cache_ram_mib, params.verbosity, params.ui = 0, -1, False
    params.api_keys = [key]
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise JudgeError(
            f"{path} cannot be loaded as a model: {error}",
            hint="the file may be damaged or too new for the runtime: get it again, or pip install -U xllamacpp",
        ) from None


def _in_common(one: Tokens, other: Tokens) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _said(data: object) -> str:
    error = data.get("error") if isinstance(data, dict) else None
    return str(error.get("message")) if isinstance(error, dict) else "no reason given"
