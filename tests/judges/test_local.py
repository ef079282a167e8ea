"""The local backend without a model: what it is asked to open, how questions become decisions, what is too long."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import ClassVar

import pytest

from tests.judges._kit import ITEM, ask_once, asking
from voirdire.engine.pace import AdaptivePace
from voirdire.errors import JudgeError, MissingExtraError, UsageError
from voirdire.judges import _models, open_judge
from voirdire.judges._decisions import Decision, decisions, shared_scale
from voirdire.judges._models import Model, UrlSource
from voirdire.judges._prompted import PromptedJudge, Rendered
from voirdire.judges._worker import EndedError, Stop, Worker
from voirdire.model import Answer, Asking, JudgeSpec, Request
from voirdire.questions import Checklist, ChecklistItem, Choice, Predicate, Score

TYPED = asking("typed")


def local(model: str, sampling: dict[str, object] | None = None, **options: object) -> JudgeSpec:
    return JudgeSpec(f"local:{model}", "local", model, sampling=sampling or {}, options=options)


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    """A file that begins as a model does, and is none."""
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(1000))
    return path


# --- opening ----------------------------------------------------------------------------------------


def test_without_the_runtime_the_hint_is_the_command(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("voirdire.judges.local.version", absent)
    with pytest.raises(MissingExtraError) as caught:
        open_judge(local(str(gguf)), TYPED)
    assert caught.value.hint == "pip install 'voirdire[local]'"


def test_a_model_that_was_not_fetched_is_said_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="the model 'smollm2-135m' is not in") as caught:
        open_judge(local("smollm2-135m", cache=str(tmp_path)), TYPED)
    assert "voirdire models get smollm2-135m" in caught.value.hint


def test_a_damaged_model_is_never_used(tmp_path: Path) -> None:
    (tmp_path / "smollm2-135m.gguf").write_bytes(b"GGUF and then nothing")
    with pytest.raises(JudgeError, match="is damaged: its SHA-256 is") as caught:
        open_judge(local("smollm2-135m", cache=str(tmp_path)), TYPED)
    assert "voirdire models get smollm2-135m" in caught.value.hint


def test_a_name_that_is_none_is_said_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no model 'gpt'"):
        open_judge(local("gpt", cache=str(tmp_path)), TYPED)


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "not a GGUF"), (b"PK\3\4", "not a GGUF"), (None, "no such")]
)
def test_a_file_that_is_no_model_is_said(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(JudgeError, match=message):
        open_judge(local(str(path), cache=str(tmp_path)), TYPED)


@pytest.mark.parametrize("size", [4, 24, 1000])
def test_a_cut_off_model_is_an_error_and_no_crash(size: int, tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes((b"GGUF\x03\0\0\0" + bytes(1000))[:size])
    with pytest.raises(JudgeError, match="cannot be loaded as a model") as caught:
        ask_once(local(str(path), cache=str(tmp_path)), TYPED)
    assert "damaged" in caught.value.hint


def test_a_path_is_relative_to_the_judge_file(gguf: Path, tmp_path: Path) -> None:
    spec = JudgeSpec("mine", "local", "broken.gguf", path=str(tmp_path / "judge.toml"))
    with pytest.raises(JudgeError, match=re.escape(str(gguf))):
        ask_once(spec, TYPED)


@pytest.mark.parametrize(
    ("sampling", "options", "message"),
    [
        ({}, {"contxt": 5}, "no option 'contxt'"),
        ({}, {"context": "big"}, "'context' is not a whole number"),
        ({}, {"threads": 0}, "'threads' is not a whole number"),
        ({}, {"template": "alpaca"}, "no template 'alpaca'"),
        ({"min_p": 0.1}, {}, "no sampling parameter 'min_p'"),
        ({"temperature": "hot"}, {}, "temperature is 'hot'"),
        ({"temperature": -1}, {}, "temperature is -1"),
        ({"temperature": True}, {}, "temperature is True"),
        ({"max_tokens": 0}, {}, "max_tokens is 0"),
        ({"seed": 1.5}, {}, "seed is 1.5"),
    ],
)
def test_options_that_cannot_be_used(
    sampling: dict[str, object], options: dict[str, object], message: str, gguf: Path
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        open_judge(local(str(gguf), sampling, cache=str(gguf.parent), **options), TYPED)


# --- identity ---------------------------------------------------------------------------------------


def test_whatever_could_change_an_answer_is_part_of_the_identity(gguf: Path, tmp_path: Path) -> None:
    def fingerprint(sampling: dict[str, object] | None = None, **options: object) -> str:
        spec = local(str(gguf), sampling, cache=str(tmp_path), **options)
        return open_judge(spec, TYPED).identity.fingerprint

    plain = fingerprint()
    others = [
        fingerprint(context=4096),
        fingerprint(threads=1),
        fingerprint(template="chatml"),
        fingerprint(window="first user turn and the last three steps"),
        fingerprint({"temperature": 0.5}),
        fingerprint({"seed": 3}),
        fingerprint({"max_tokens": 9}),
    ]
    gguf.write_bytes(b"GGUF" + bytes(999))
    others.append(fingerprint())
    assert len({plain, *others}) == len(others) + 1


def test_runtime_and_wording_stand_in_the_identity_and_the_folder_does_not(
    gguf: Path, tmp_path: Path
) -> None:
    fields = open_judge(local(str(gguf), cache=str(tmp_path)), TYPED).identity.fields
    backend = fields["backend"]
    assert isinstance(backend, dict)
    assert backend["sha256"] == _models.file_hash(gguf, tmp_path)
    assert str(backend["runtime"]).startswith("xllamacpp 20")
    assert {"context", "batch", "decisions", "label_form", "too_long", "template"} <= backend.keys()
    assert str(tmp_path) not in str(fields)


def test_only_sampled_text_is_not_promised_to_be_the_same(gguf: Path) -> None:
    assert open_judge(local(str(gguf)), TYPED).deterministic
    assert not open_judge(local(str(gguf), {"temperature": 0.7}), TYPED).deterministic


# --- decisions --------------------------------------------------------------------------------------


def test_every_question_becomes_a_decision_between_single_letters_or_words() -> None:
    checklist = Checklist(
        "list", "All of it?", (ChecklistItem("a", "Is it safe?"), ChecklistItem("b", "Short?"))
    )
    choice = Choice("which", "Which is better?", ("first", "second"), {"first": "the one above"})
    asked = decisions((Predicate("ok", "Is it fine?"), choice, Score("s", "How good?", 0, 10), checklist))
    assert [(each.question, each.item) for each in asked] == [
        ("ok", None), ("which", None), ("s", None), ("list", "a"), ("list", "b"),
    ]  # fmt: skip
    assert asked[0].text == "Is it fine?\nAnswer Yes or No."
    assert asked[0].shown == asked[0].text
    assert asked[1].shown == "A: first: the one above\nB: second\n\nWhich is better?\nAnswer with one letter."
    assert asked[2].scale.startswith("A: 0\nB: 1\n")
    assert asked[2].scale.endswith("\nK: 10")
    assert asked[2].text == "How good?\nAnswer with one letter."
    assert list(asked[2].labels.items())[-1] == ("10", "K")
    assert asked[3].labels == {"yes": "Yes", "no": "No"}


def test_named_levels_are_shown_beside_their_numbers() -> None:
    [asked] = decisions((Score("s", "How good?", 1, 2, ("poor", "fine")),))
    assert asked.shown == "A: 1: poor\nB: 2: fine\n\nHow good?\nAnswer with one letter."
    assert asked.labels == {"1": "A", "2": "B"}


def test_braces_in_a_question_stay_what_they_are() -> None:
    [asked] = decisions((Choice("c", "Is {text} or {0}?", ("{options}", "b")),))
    assert asked.shown == "A: {options}\nB: b\n\nIs {text} or {0}?\nAnswer with one letter."


def test_questions_share_a_scale_only_where_it_is_the_same_for_all() -> None:
    scores = (Score("s", "How good?", 0, 4), Score("t", "How fast?", 0, 4))
    assert shared_scale(decisions(scores)) == "A: 0\nB: 1\nC: 2\nD: 3\nE: 4"
    assert shared_scale(decisions((*scores, Score("u", "How dear?", 0, 2)))) == ""
    assert shared_scale(decisions((*scores, Predicate("p", "Is it safe?")))) == ""
    assert shared_scale(decisions((Predicate("p", "Is it safe?"),))) == ""


def test_twenty_six_answers_are_the_most(gguf: Path) -> None:
    assert len(decisions((Score("s", "?", 1, 26),))[0].labels) == 26
    judge = open_judge(local(str(gguf)), asking("typed", (Score("percent", "?", 0, 100),)))
    with pytest.raises(UsageError, match="'percent' has 101 answers"):
        judge.render(ITEM)


def test_a_decision_survives_the_body_in_its_order() -> None:
    [asked] = decisions((Score("s", "?", 0, 10),))
    again = Decision.from_data(asked.as_data())
    assert again == asked
    assert list(again.labels) == [str(level) for level in range(11)]


# --- requests ---------------------------------------------------------------------------------------


def test_a_short_request_is_prepared_without_loading_the_model(gguf: Path) -> None:
    judge = open_judge(local(str(gguf)), TYPED)
    request = judge.render(ITEM)
    assert request.too_long is None
    assert request.worst.money == 0
    assert 0 < request.expected.input_tokens < request.worst.input_tokens
    assert request.worst.output_tokens == 2


def test_text_and_typed_requests_are_not_the_same(gguf: Path) -> None:
    judge = open_judge(local(str(gguf)), TYPED)
    text = judge.reasking(asking("first_line"))
    assert "decisions" in judge.render(ITEM).body
    assert "decisions" not in text.render(ITEM).body


def test_a_prompt_must_end_with_the_user(gguf: Path) -> None:
    judge = open_judge(local(str(gguf)), TYPED)
    with pytest.raises(UsageError, match="ends with user"):
        judge.backend.prepare("x", [("user", "a"), ("assistant", "b")], {}, TYPED)
    with pytest.raises(UsageError, match="has the roles"):
        judge.backend.prepare("x", [("tool", "a"), ("user", "b")], {}, TYPED)


def test_a_model_of_the_table_is_opened_by_its_name(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = Model("broken", _models.file_hash(gguf, tmp_path), UrlSource("https://example.org/broken.gguf"))
    monkeypatch.setattr(_models, "KNOWN", (mine,))
    by_name = open_judge(local("broken", cache=str(tmp_path)), TYPED)
    by_path = open_judge(local(str(gguf), cache=str(tmp_path)), TYPED)
    assert by_name.identity.fingerprint == by_path.identity.fingerprint


# --- turns ------------------------------------------------------------------------------------------


class SlowOne:
    """A backend that takes one request at a time, 30 ms each, and notes how many it is asked at once."""

    settings: ClassVar[Mapping[str, object]] = {"backend": "slow"}
    deterministic = True

    def __init__(self) -> None:
        self.at_once = 0
        self._lock = asyncio.Lock()

    def prepare(self, item_id: str, messages: Rendered, parts: Mapping[str, str], asking: Asking) -> Request:
        return Request(item_id, "{}")

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        async with self._lock:
            yield

    async def send(self, request: Request, *, repeat: int) -> Answer:
        self.at_once += 1
        assert self.at_once == 1
        await asyncio.sleep(0.03)
        self.at_once -= 1
        return Answer(raw="done")

    async def close(self) -> None:
        """Hold nothing."""


def test_waiting_for_ones_turn_does_not_use_up_the_time_limit() -> None:
    async def main() -> list[Answer]:
        judge = PromptedJudge("slow", SlowOne(), TYPED)
        pace = AdaptivePace(concurrency=32, timeout=0.1, attempts=1)
        request = judge.render(ITEM)
        return list(await asyncio.gather(*(judge.ask(request, repeat=n, pace=pace) for n in range(8))))

    assert [answer.raw for answer in asyncio.run(main())] == ["done"] * 8


# --- the worker -------------------------------------------------------------------------------------


def test_jobs_run_one_at_a_time_in_order_and_errors_come_back() -> None:
    done: list[object] = []
    worker = Worker("test", last=lambda: done.append("last"))

    def job(number: int) -> Callable[[Stop], int]:
        def work(stop: Stop) -> int:
            done.append(number)
            if number == 2:
                raise ValueError("two")
            return number

        return work

    async def main() -> list[int | BaseException]:
        return await asyncio.gather(*(worker.run(job(number)) for number in range(4)), return_exceptions=True)

    results = asyncio.run(main())
    worker.end()
    worker.end()
    assert done == [0, 1, 2, 3, "last"]
    assert results[:2] == [0, 1]
    assert isinstance(results[2], ValueError)


def test_a_job_that_nobody_waits_for_is_told_to_stop() -> None:
    begun, stopped = threading.Event(), threading.Event()

    def work(stop: Stop) -> None:
        begun.set()
        while not stop():
            stopped.wait(0.001)
        stopped.set()

    async def main(worker: Worker) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await worker.run(work)

    worker = Worker("test", last=lambda: None)
    asyncio.run(main(worker))
    assert begun.is_set()
    assert stopped.wait(5)
    worker.end()


def test_an_ending_stops_the_running_job_and_drops_the_rest() -> None:
    begun = threading.Event()

    def work(stop: Stop) -> str:
        begun.set()
        while not stop():
            threading.Event().wait(0.001)
        return "stopped"

    async def main() -> list[object]:
        worker = Worker("test", last=lambda: None)
        jobs = [asyncio.ensure_future(worker.run(work)) for _ in range(2)]
        await asyncio.get_running_loop().run_in_executor(None, begun.wait, 5)
        await asyncio.get_running_loop().run_in_executor(None, worker.end)
        late = worker.run(work)
        return list(await asyncio.gather(*jobs, late, return_exceptions=True))

    running, waiting, late = asyncio.run(main())
    assert running == "stopped"
    assert isinstance(waiting, EndedError)
    assert isinstance(late, EndedError)
