import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engine.judges import ASKING, asker, calls, chat_judge, items, quick_pace
from tests.loopback.chat_server import Asked, ChatServer, Hangs, Plain, Says
from voirdire.engine.ask import FAILURES_TO_STOP, Asker
from voirdire.engine.budget import Budget
from voirdire.engine.ledger import Entry, Key, Ledger
from voirdire.engine.pace import AdaptivePace
from voirdire.engine.plan import Call, calls_for
from voirdire.engine.progress import NoProgress
from voirdire.errors import DataError, JudgeError, UsageError
from voirdire.judges import open_judge
from voirdire.judges._prompted import PromptedJudge
from voirdire.model import Account, Answer, Cost, Item, JudgeSpec, Request, Verdict
from voirdire.questions import Score


def ask(
    path: Path,
    wanted: Sequence[Call],
    *,
    budget: Budget | None = None,
    pace: AdaptivePace | None = None,
    progress: NoProgress | None = None,
) -> tuple[list[tuple[Verdict, ...]], Asker]:
    """Ask in a loop of its own with a fresh asker."""

    async def run() -> tuple[list[tuple[Verdict, ...]], Asker]:
        with Ledger(path) as ledger:
            asking = asker(ledger, budget=budget, pace=pace)
            if progress is not None:
                asking._progress = progress
            try:
                return await asking.ask(wanted), asking
            finally:
                for judge in {id(call.judge): call.judge for call in wanted}.values():
                    await judge.close()

    return asyncio.run(run())


def reasons(answers: Sequence[tuple[Verdict, ...]]) -> list[str | None]:
    return [verdicts[0].missing_because for verdicts in answers]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def test_verdicts_come_in_the_order_of_the_calls(path: Path) -> None:
    def level_of(asked: Asked) -> Says:
        return Says(f"SCORE: {int(asked.text.rpartition(' ')[2]) % 11}")

    with ChatServer(level_of) as server:
        judge = chat_judge(server.url)
        answers, _ = ask(path, calls(judge, 50))
        assert [verdicts[0].value for verdicts in answers] == [k % 11 for k in range(50)]
        assert [verdicts[0].item_id for verdicts in answers] == [f"item-{k}" for k in range(50)]
        again, _ = ask(path, calls(judge, 50))
        assert again == answers


def test_the_account_tells_asked_cached_tokens_money_and_what_served(path: Path) -> None:
    with ChatServer(lambda asked: Says(model=f"m-{asked.number // 4}")) as server:
        judge = chat_judge(server.url, price_in=1.0, price_out=10.0)
        _, first = ask(path, calls(judge, 6))
        account = first.account
        assert account == Account(
            planned=6,
            asked=6,
            input_tokens=120,
            output_tokens=12,
            money=account.money,
            seconds=account.seconds,
            served={"m-0": 4, "m-1": 2},
            read=6,
        )
        assert account.money == pytest.approx(6 * (20 * 1.0 + 2 * 10.0) / 1e6)
        assert account.seconds > 0
        _, second = ask(path, calls(judge, 7))
        assert (second.account.asked, second.account.cached, second.account.planned) == (1, 6, 7)
        assert second.account.input_tokens == 20


def test_what_has_no_price_has_no_money(path: Path) -> None:
    with ChatServer() as server:
        _, asking = ask(path, calls(chat_judge(server.url), 2))
        assert asking.account.money is None
        _, replayed = ask(path, calls(chat_judge(server.url), 2))
        assert replayed.account.money == 0.0


def test_equal_calls_are_asked_once_and_each_gets_its_own_verdict(path: Path) -> None:
    with ChatServer() as server:
        judge = chat_judge(server.url)
        twins = [Item("one", {"response": "same"}), Item("two", {"response": "same"})]
        answers, asking = ask(
            path, [*calls_for(judge, twins, repeats=2), *calls_for(judge, twins, repeats=1)]
        )
        assert len(server.asked) == asking.account.planned == 2
        assert [verdicts[0].item_id for verdicts in answers] == ["one", "one", "two", "two", "one", "two"]
        assert [verdicts[0].repeat for verdicts in answers] == [0, 1, 0, 1, 0, 0]


def test_repeats_are_asked_each(path: Path) -> None:
    with ChatServer() as server:
        ask(path, calls(chat_judge(server.url), 3, repeats=4))
        assert sorted(server.counts.values()) == [4, 4, 4]


def test_too_long_is_missing_before_it_is_sent(path: Path) -> None:
    with ChatServer() as server:
        judge = chat_judge(server.url, sampling={"max_tokens": 10}, context=200)
        wanted = calls_for(
            judge, [Item("short", {"response": "x"}), Item("long", {"response": "x" * 2000})], repeats=1
        )
        answers, asking = ask(path, wanted)
        assert reasons(answers) == [None, "too_long"]
        assert len(server.asked) == 1
        assert asking.account.unreadable == {"too_long": 1}
        assert asking.account.partial is None


def test_unreadable_answers_are_counted_by_reason_kept_and_never_asked_again(path: Path) -> None:
    said = [Says(""), Says("SCORE: 99"), Says(None, refusal="I would rather not."), Says("SCORE: 3")]
    with ChatServer(lambda asked: said[asked.number]) as server:
        judge = chat_judge(server.url)
        answers, asking = ask(path, calls(judge, 4), pace=quick_pace(1))
        assert sum(asking.account.unreadable.values()) == 3
        assert {"empty", "refusal"} <= set(asking.account.unreadable)
        assert asking.account.failed == 0
        again, replayed = ask(path, calls(judge, 4))
        assert again == answers
        assert len(server.asked) == 4
        assert replayed.account.unreadable == asking.account.unreadable


def test_a_failed_call_is_a_verdict_with_a_reason_asked_again_only_by_the_next_run(path: Path) -> None:
    healthy = False

    def answering(asked: Asked) -> Says | Plain:
        return Says() if healthy else Plain(status=503)

    with ChatServer(answering) as server:
        judge = chat_judge(server.url)

        async def run() -> None:
            with Ledger(path) as ledger:
                asking = asker(ledger)
                assert reasons(await asking.ask(calls(judge, 2))) == ["server error (503)"] * 2
                seen = len(server.asked)
                assert seen == 2 * 3
                assert reasons(await asking.ask(calls(judge, 2))) == ["server error (503)"] * 2
                assert len(server.asked) == seen
                assert asking.account.unreadable == {}
                await judge.close()

        asyncio.run(run())
        healthy = True
        answers, asking = ask(path, calls(judge, 2))
        assert reasons(answers) == [None, None]
        assert asking.account.asked == 2


def test_a_judge_that_only_fails_ends_the_run(path: Path) -> None:
    with ChatServer(lambda _: Plain.error(400, message="temperature is not supported")) as server:
        answers, asking = ask(path, calls(chat_judge(server.url), 200))
        assert asking.stopped == f"{FAILURES_TO_STOP} calls in a row failed: temperature is not supported"
        assert len(server.asked) < FAILURES_TO_STOP + 2 * 8
        assert reasons(answers)[-1] == f"not asked: {asking.stopped}"


@pytest.mark.parametrize(
    ("answering", "why"),
    [
        (lambda _: Plain(status=500), "server error (500)"),
        (lambda _: Plain(body=b"<html>hello</html>"), "not a chat completion: an HTML page"),
        (lambda _: Plain(body=b'{"choices": [{'), "not a chat completion: text that is no JSON"),
        (lambda _: Plain.error(429), "rate limit (429)"),
    ],
    ids=["500", "html", "half JSON", "429"],
)
def test_a_judge_that_never_answered_is_given_up_after_three_calls(
    path: Path, answering: Callable[[Asked], Plain], why: str
) -> None:
    with ChatServer(answering) as server:
        pace = quick_pace(1, attempts=8)
        answers, asking = ask(path, calls(chat_judge(server.url), 30), pace=pace)
        assert len(server.asked) == 3 * 3
        assert asking.account.partial == f"no call was answered: {why} (3 tried)"
        assert (asking.account.money, asking.account.read) == (None, 0)
        assert reasons(answers)[:3] == [why] * 3
        assert reasons(answers)[-1] == f"not asked: no call was answered: {why} (3 tried)"


def test_fewer_calls_than_that_are_partial_too(path: Path) -> None:
    with ChatServer(lambda _: Plain(status=500)) as server:
        _, asking = ask(path, calls(chat_judge(server.url), 2))
        assert asking.stopped is None
        assert asking.account.partial == "no call was answered: server error (500) (2 tried)"


def test_a_program_that_only_ever_dies_is_given_up_with_its_last_words(path: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("raise SystemExit('no such weights')\n", encoding="utf-8")
    judge = open_judge(JudgeSpec("mine", "command", f"{sys.executable} {program}", ASKING))
    _, asking = ask(path, calls_for(judge, items(20), repeats=1), pace=quick_pace(1))
    assert asking.account.partial == (
        "no call was answered: program ended with exit code 1: no such weights (3 tried)"
    )


def test_a_server_that_was_there_is_waited_for(path: Path) -> None:
    def with_a_gap(asked: Asked) -> Says | Plain:
        return Plain(status=503) if 4 <= asked.number < 10 else Says()

    with ChatServer(with_a_gap) as server:
        answers, asking = ask(path, calls(chat_judge(server.url), 12), pace=quick_pace(1, attempts=8))
        assert reasons(answers) == [None] * 12
        assert asking.account.partial is None


def test_a_server_that_says_how_long_to_wait_is_waited_for(path: Path) -> None:
    def at_last(asked: Asked) -> Says | Plain:
        return Plain.error(503, retry_after="0.001") if asked.number < 6 else Says()

    with ChatServer(at_last) as server:
        answers, _ = ask(path, calls(chat_judge(server.url), 4), pace=quick_pace(1, attempts=8))
        assert reasons(answers) == [None] * 4


def test_where_no_answer_about_an_item_can_be_read_the_run_is_partial_and_says_why(path: Path) -> None:
    said = ["good", "", "good"]
    with ChatServer(lambda asked: Says(said[asked.number % 3])) as server:
        judge = chat_judge(server.url)
        _, asking = ask(path, calls(judge, 9), pace=quick_pace(1))
        account = asking.account
        assert account.partial is not None
        assert account.partial.startswith("9 of 9 answers could not be read: ")
        assert account.partial.endswith("(6), empty (3)")
        assert (account.read, account.failed) == (0, 0)


def test_answers_about_the_judge_itself_do_not_make_up_for_it(path: Path) -> None:
    with ChatServer(lambda asked: Says("SCORE: 3" if asked.number < 2 else "good")) as server:
        judge = chat_judge(server.url)
        wanted = [replace(call, about_itself=k < 2) for k, call in enumerate(calls(judge, 6))]
        _, asking = ask(path, wanted, pace=quick_pace(1))
        assert (asking.account.partial or "").startswith("4 of 4 answers could not be read: ")


def test_an_answer_of_thirty_megabytes_is_missing_soon_and_only_its_beginning_is_kept(path: Path) -> None:
    big = Says("the first one, at length\n" * 1_250_000).as_plain()
    with ChatServer(lambda _: big) as server:
        judge = chat_judge(server.url)
        began = time.process_time()
        answers, asking = ask(path, calls(judge, 3), pace=quick_pace(1))
        assert time.process_time() - began < 5.0
        assert len(server.asked) == 3
    assert {verdicts[0].value for verdicts in answers} == {None}
    assert (answers[0][0].missing_because or "").startswith("too long to be read: more than 8,388,608 bytes")
    assert len(answers[0][0].raw) == 20_000
    assert asking.account.failed == 0
    assert path.stat().st_size < 1_000_000


# --- stops


@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_max_calls_is_a_hard_stop(path: Path, concurrency: int) -> None:
    with ChatServer(delay=0.001) as server:
        judge = chat_judge(server.url)
        answers, asking = ask(
            path, calls(judge, 60), budget=Budget(max_calls=25), pace=quick_pace(concurrency)
        )
        assert len(server.asked) == asking.account.asked == 25
        assert asking.account.partial == "--max-calls 25 reached"
        assert reasons(answers).count(None) == 25
        assert reasons(answers).count("not asked: --max-calls 25 reached") == 35
        _, more = ask(path, calls(judge, 60), budget=Budget(max_calls=100))
        assert (more.account.cached, more.account.asked, more.account.partial) == (25, 35, None)


def test_exactly_enough_calls_is_not_partial(path: Path) -> None:
    with ChatServer() as server:
        _, asking = ask(path, calls(chat_judge(server.url), 10), budget=Budget(max_calls=10))
        assert asking.stopped is None


def test_retries_that_were_never_answered_do_not_count_as_calls(path: Path) -> None:
    def once_busy(asked: Asked) -> Says | Plain:
        return Plain.error(429, retry_after="0.001") if asked.number % 2 == 0 else Says()

    with ChatServer(once_busy) as server:
        _, asking = ask(
            path, calls(chat_judge(server.url), 5), budget=Budget(max_calls=5), pace=quick_pace(1, attempts=5)
        )
        assert asking.account.asked == 5
        assert asking.stopped is None


def test_max_cost_is_a_hard_stop_even_where_the_server_uses_all_it_may(path: Path) -> None:
    with ChatServer(lambda asked: Says(usage=dear(asked.raw))) as server:
        judge = chat_judge(server.url, sampling={"max_tokens": 50}, price_in=100.0, price_out=1000.0)
        wanted = calls(judge, 40)
        limit = 10.5 * (wanted[0].request.worst.money or 0.0)
        _, asking = ask(path, wanted, budget=Budget(max_cost=limit))
        money = asking.account.money
        assert money is not None
        assert 0.8 * limit < money <= limit
        assert asking.account.partial == f"--max-cost {limit:g} reached"


def dear(raw: bytes) -> dict[str, object]:
    return {"prompt_tokens": len(raw), "completion_tokens": 50}


def test_lost_connections_may_have_been_paid_and_count_as_the_worst(path: Path) -> None:
    with ChatServer(lambda _: Plain(body=b"x" * 100, cut=10)) as server:
        judge = chat_judge(server.url, price_in=1.0, price_out=1.0)
        wanted = calls(judge, 10)
        limit = 4.5 * (wanted[0].request.worst.money or 0.0)
        _, asking = ask(path, wanted, budget=Budget(max_cost=limit))
        assert len(server.asked) == 4
        assert asking.account.partial is not None


def test_max_cost_without_prices_asks_nothing(path: Path) -> None:
    with ChatServer() as server:
        with pytest.raises(UsageError, match="no known price"):
            ask(path, calls(chat_judge(server.url), 3), budget=Budget(max_cost=1.0))
        assert not server.asked


def test_an_exhausted_quota_stops_the_run_and_keeps_what_came(path: Path) -> None:
    def answering(asked: Asked) -> Says | Plain:
        return (
            Says()
            if asked.number < 10
            else Plain.error(429, "insufficient_quota", "You exceeded your quota.")
        )

    with ChatServer(answering) as server:
        judge = chat_judge(server.url)
        answers, asking = ask(path, calls(judge, 40), pace=quick_pace(4))
        assert asking.stopped == "quota exhausted: judge 'test': You exceeded your quota."
        assert asking.account.asked == 10
        assert len(server.asked) <= 10 + 4
        assert reasons(answers).count(None) == 10
    with Ledger(path) as ledger:
        assert len(list(ledger.rows())) == 10


def test_after_a_stop_the_ledger_still_serves(path: Path) -> None:
    with ChatServer() as server:
        judge = chat_judge(server.url)
        ask(path, calls(judge, 5))

        async def run() -> None:
            with Ledger(path) as ledger:
                asking = asker(ledger)
                asking.stop("the test wants it")
                answers = await asking.ask(calls(judge, 8))
                assert reasons(answers) == [None] * 5 + ["not asked: the test wants it"] * 3
                assert asking.account.partial == "the test wants it"

        asyncio.run(run())
        assert len(server.asked) == 5


def test_a_judge_that_cannot_be_asked_ends_the_run_with_its_error(path: Path) -> None:
    def answering(asked: Asked) -> Says | Plain:
        return Says() if asked.number < 5 else Plain.error(401, message="wrong key")

    with ChatServer(answering) as server, pytest.raises(JudgeError, match="refuses the key"):
        ask(path, calls(chat_judge(server.url), 30), pace=quick_pace(2))
    with Ledger(path) as ledger:
        assert len(list(ledger.rows())) == 5
        claimed = ledger._connection.execute("SELECT count(*) FROM claims").fetchone()
        assert claimed == (0,)


def test_cancelling_keeps_what_was_answered(path: Path) -> None:
    def answering(asked: Asked) -> Says | Hangs:
        return Says() if asked.number < 10 else Hangs()

    with ChatServer(answering) as server:
        judge = chat_judge(server.url)

        async def run() -> None:
            with Ledger(path) as ledger:
                asking = asker(ledger)
                running = asyncio.create_task(asking.ask(calls(judge, 40)))
                while len(server.asked) < 18:
                    await asyncio.sleep(0.005)
                running.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running
                assert len(list(ledger.rows())) == asking.account.asked == 10
                await judge.close()

        asyncio.run(run())


def test_answers_that_could_not_be_written_are_tried_once_more(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer() as server:
        judge = chat_judge(server.url)
        record = Ledger.record
        troubles = [DataError("the disk is full")]

        def troubled(ledger: Ledger, entries: Sequence[Entry]) -> dict[Key, Answer]:
            if troubles:
                raise troubles.pop()
            return record(ledger, entries)

        monkeypatch.setattr(Ledger, "record", troubled)
        with pytest.raises(DataError, match="disk is full"):
            ask(path, calls(judge, 3), pace=quick_pace(1))
        with Ledger(path) as ledger:
            assert len(list(ledger.rows())) == len(server.asked) == 1


# --- plan, progress, loops


def test_a_forecast_asks_and_writes_nothing(path: Path) -> None:
    with ChatServer() as server:
        judge = chat_judge(server.url, price_in=1.0, price_out=2.0, context=2000)
        ask(path, calls(judge, 4))
        with Ledger(path) as ledger:
            asking = asker(ledger)
            wanted = calls(judge, 10)
            too_long = calls_for(judge, [Item("long", {"response": "x" * 9000})], repeats=1)
            forecast = asking.forecast([*wanted, *wanted, *too_long])
            assert (forecast.calls, forecast.cached, forecast.too_long, forecast.to_ask) == (11, 4, 1, 6)
            assert forecast.worst.input_tokens == sum(len(call.request.body) for call in wanted[4:])
            assert forecast.worst.output_tokens == 6 * 1024
            assert forecast.expected.input_tokens < forecast.worst.input_tokens
            assert forecast.worst.money == pytest.approx(
                (forecast.worst.input_tokens * 1.0 + forecast.worst.output_tokens * 2.0) / 1e6
            )
            assert forecast.seconds is not None
            assert forecast.seconds > 0
            stranger = asking.forecast(calls(chat_judge(server.url, model="other"), 2))
            assert (stranger.cached, stranger.to_ask, stranger.seconds) == (0, 2, None)
            assert stranger.worst == Cost(stranger.worst.input_tokens, 2048, None)
            assert len(list(ledger.identities())) == 1
        assert len(server.asked) == 4


class Recorded(NoProgress):
    """Adds up what it is told."""

    def __init__(self) -> None:
        self.total = 0
        self.counts = {"answered": 0, "cached": 0, "failed": 0, "unreadable": 0}
        self.begun = 0
        self.ended = 0
        self.known = 0
        self.totals: list[int] = []

    def started(self, total: int, *, known: int = 0) -> None:
        self.begun += 1
        self.total = total
        self.known = known

    def expected(self, total: int) -> None:
        self.total = total
        self.totals.append(total)

    def advanced(self, *, money: float | None = None, **counts: int) -> None:
        for name, n in counts.items():
            self.counts[name] += n

    def finished(self) -> None:
        self.ended += 1


def test_progress_is_told_what_became_of_every_call(path: Path) -> None:
    said: list[Says | Plain] = [Says(), Says("nonsense"), Plain.error(400), Says()]
    with ChatServer(lambda asked: said[asked.number]) as server:
        judge = chat_judge(server.url)
        told = Recorded()
        ask(path, calls(judge, 4), pace=quick_pace(1), progress=told)
        assert told.total == 4
        assert told.counts == {"answered": 3, "cached": 0, "failed": 1, "unreadable": 1}
        replayed = Recorded()
        ask(path, calls(judge, 2), progress=replayed)
        assert replayed.counts == {"answered": 0, "cached": 2, "failed": 0, "unreadable": 1}
        assert replayed.ended == 1


def test_all_batches_of_a_run_are_shown_as_one_and_what_is_spared_shrinks_it(path: Path) -> None:
    with ChatServer() as server:
        judge = chat_judge(server.url)
        ask(path, calls(judge, 1))

        async def run() -> None:
            told = Recorded()
            with Ledger(path) as ledger:
                asking = Asker(ledger=ledger, pace=quick_pace(), budget=Budget(), progress=told)
                every = calls(judge, 4, repeats=5)
                asking.foresee(asking.forecast(every))
                with asking.watched():
                    await asking.ask([call for call in every if call.repeat < 3])
                    asking.spare(
                        [call for call in every if call.repeat >= 3 and call.request.item_id != "item-0"],
                        because="so",
                    )
                    await asking.ask([call for call in every if call.request.item_id == "item-0"])
                assert (told.begun, told.ended, told.known) == (1, 1, 1)
                assert told.total == 14
                assert sum(told.counts[one] for one in ("answered", "cached")) == 14
                account = asking.account
                assert (account.at_most, account.planned, account.fewer_because) == (20, 14, "so")
                assert (account.asked, account.cached) == (13, 1)
                await judge.close()

        asyncio.run(run())


def test_two_batches_may_be_asked_at_once_in_a_running_loop(path: Path) -> None:
    with ChatServer(delay=0.005) as server:
        judge = chat_judge(server.url)

        async def run() -> None:
            with Ledger(path) as ledger:
                asking = asker(ledger)
                both = await asyncio.gather(asking.ask(calls(judge, 40)), asking.ask(calls(judge, 60)))
                assert reasons(both[0]) == [None] * 40
                assert reasons(both[1]) == [None] * 60
                await judge.close()

        asyncio.run(run())
        assert len(server.asked) == 60


def test_a_judge_may_be_asked_in_one_loop_after_another(path: Path) -> None:
    with ChatServer() as server:
        judge = chat_judge(server.url)
        for n in (3, 6):

            async def run(n: int) -> None:
                with Ledger(path) as ledger:
                    await asker(ledger).ask(calls(judge, n))
                await judge.close()

            asyncio.run(run(n))
        assert len(server.asked) == 6


def test_looks_are_recorded_and_the_first_one_counts(path: Path) -> None:
    with Ledger(path) as ledger:
        judge = chat_judge("http://127.0.0.1:1/v1")
        asking = asker(ledger)
        assert asking.earlier_look(judge, "outcome/support") is None
        for n in (20, 10):
            asking.record_look(judge, "outcome/support", n)
        assert asking.earlier_look(judge, "outcome/support") == 10


def test_the_pool_is_flat_in_memory(path: Path) -> None:
    with ChatServer() as server:
        judge = chat_judge(server.url)
        tasks: list[int] = []

        def watching(asked: Asked) -> Says:
            tasks.append(1)
            return Says()

        server._answering = watching

        async def run() -> None:
            with Ledger(path) as ledger:
                asking = asker(ledger, pace=quick_pace(8))
                running = asyncio.create_task(asking.ask(calls(judge, 500)))
                most = 0
                while not running.done():
                    most = max(most, len(asyncio.all_tasks()))
                    await asyncio.sleep(0.001)
                await judge.close()
                assert most < 40, "one task a call"

        asyncio.run(run())
        assert len(tasks) == 500


# --- identities


def changed(judge: PromptedJudge, url: str) -> dict[str, Callable[[], PromptedJudge]]:
    message, question = ASKING.messages[0], ASKING.questions[0]
    prompt = replace(message, text=message.text + " ")
    return {
        "prompt": lambda: chat_judge(url, asking=replace(ASKING, messages=(prompt,))),
        "model": lambda: chat_judge(url, model="m2"),
        "reader": lambda: chat_judge(
            url, asking=replace(ASKING, reader=replace(ASKING.reader, name="exact"))
        ),
        "reader options": lambda: chat_judge(
            url, asking=replace(ASKING, reader=replace(ASKING.reader, options={"labels": {"SCORE": "SCORE"}}))
        ),
        "scale": lambda: chat_judge(
            url, asking=replace(ASKING, questions=(Score(question.id, question.text, high=11),))
        ),
        "question": lambda: chat_judge(
            url, asking=replace(ASKING, questions=(replace(question, text="How?"),))
        ),
        "temperature": lambda: chat_judge(url, sampling={"temperature": 0.5}),
        "output limit": lambda: chat_judge(url, sampling={"max_tokens": 1000}),
        "seed": lambda: chat_judge(url, sampling={"seed": 1}),
        "further field": lambda: chat_judge(url, body={"reasoning_effort": "low"}),
        "base_url": lambda: chat_judge(url.replace("127.0.0.1", "localhost")),
        "remedy": lambda: chat_judge(url, remedies=({"name": "swap"},)),
    }


def test_a_judge_that_changed_in_any_way_gets_no_answer_of_another(path: Path) -> None:
    with ChatServer() as server:
        judge = chat_judge(server.url)
        ask(path, calls(judge, 2))
        fingerprints = {judge.identity.fingerprint}
        for what, opened in changed(judge, server.url).items():
            other = opened()
            fingerprints.add(other.identity.fingerprint)
            _, asking = ask(path, calls(other, 2))
            assert (asking.account.cached, asking.account.asked) == (0, 2), what
        assert len(fingerprints) == 1 + len(changed(judge, server.url))


@pytest.mark.parametrize(
    "options", [{"price_in": 9.0, "price_out": 9.0}, {"context": 4000}, {"key_env": "OTHER_KEY"}]
)
def test_what_changes_no_answer_changes_no_identity(path: Path, options: dict[str, object]) -> None:
    with ChatServer() as server:
        ask(path, calls(chat_judge(server.url), 2))
        _, asking = ask(path, calls(chat_judge(server.url, **options), 2))  # type: ignore[arg-type]
        assert asking.account.cached == 2


def test_no_key_reaches_the_ledger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-loopback-0123456789abcdef"
    monkeypatch.setenv("LOOPBACK_API_KEY", secret)

    def tells(asked: Asked) -> Says | Plain:
        sent = asked.headers["Authorization"]
        assert sent == f"Bearer {secret}"
        return Says(f"SCORE: 7\n{sent}") if asked.number else Plain.error(400, message=f"bad {sent}")

    with ChatServer(tells) as server:
        judge = chat_judge(server.url, key_env="LOOPBACK_API_KEY")
        answers, _ = ask(path, calls(judge, 3), pace=quick_pace(1))
        assert "[key removed]" in answers[1][0].raw
    for file in path.parent.iterdir():
        stored = file.read_bytes()
        assert secret.encode() not in stored
        assert b"Authorization" not in stored


def test_a_request_is_hashed_as_it_is_sent(path: Path) -> None:
    with ChatServer() as server:
        judge = chat_judge(server.url, sampling={"seed": 5, "temperature": 0})
        wanted = calls_for(judge, items(1), repeats=3)
        ask(path, wanted, pace=quick_pace(1))
        assert [asked.body["seed"] for asked in server.asked] == [5, 6, 7]
        assert server.asked[0].raw == wanted[0].request.body.encode()
        assert Request("", server.asked[0].raw.decode()).digest == wanted[0].request.digest
