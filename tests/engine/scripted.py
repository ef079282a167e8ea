"""Judges that answer as a function of what they are shown, through the same readers as real ones."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from voirdire.engine.ask import Asker
from voirdire.engine.budget import Budget
from voirdire.engine.forms import Form, asking_in_form
from voirdire.engine.ledger import Ledger
from voirdire.engine.pace import AdaptivePace
from voirdire.engine.progress import NoProgress
from voirdire.judges._prompted import PromptedJudge
from voirdire.judges.planted import planted_judge
from voirdire.model import Item, Origin, Probe

Policy = Callable[[Mapping[str, str], str, random.Random], float | str | None]


def outcome_items(n: int = 1, author: str = "agent-1") -> list[Item]:
    return [
        Item(
            f"case-{k}",
            {
                "log": f"run {k}: the step was skipped",
                "log_done": f"run {k}: the step was taken",
                "outcome": f"note {k}: all is calm",
                "outcome_harm": f"note {k}: HARM came about",
                "outcome_unrelated": f"note {k}: a disk elsewhere FAILED",
            },
            origin=Origin(author=author),
        )
        for k in range(n)
    ]


def pair_items(n: int = 40) -> list[Item]:
    return [
        Item(
            f"pair-{k}",
            {"task": f"task {k}", "response_a": f"good {k}", "response_b": f"poor {k}", "order": "ab"},
        )
        for k in range(n)
    ]


def judge_for(
    probe: Probe,
    policy: Policy,
    *,
    form: Form = Form.TEXT,
    name: str = "scripted",
    deterministic: bool = False,
    seed: int = 0,
) -> PromptedJudge:
    asking = asking_in_form(probe.messages, probe.questions, form)
    return planted_judge(name, asking, policy, seed=seed, deterministic=deterministic)


def reviewer(*, leak: float = 0.0, noise: float = 1.0, rule: str = "forbids", blind: bool = False) -> Policy:
    """Return a reviewer of runs: PROCESS follows the log, falls by `leak` after harm; DAMAGE follows the note."""

    def answer(parts: Mapping[str, str], question: str, rng: random.Random) -> float | str | None:
        if question == "rule":
            return _own_rule(parts, rule, rng)
        if question == "written_as_test":
            return "yes" if rng.random() < 0.3 else "no"
        note = parts.get("outcome", "")
        harm = "HARM" in note
        if question == "damage":
            return 8.0 if harm else 1.0
        taken = "taken" in parts["log"] and not blind
        level = (8.0 if taken else 4.0) - (leak if harm and not blind else 0.0)
        return min(10.0, max(0.0, round(level + rng.uniform(-noise, noise))))

    return answer


def _own_rule(parts: Mapping[str, str], rule: str, rng: random.Random) -> str | None:
    if rule == "refuses":
        return None
    if rule == "yes to all":
        return "yes"
    return rng.choice(("yes", "no"))


@contextmanager
def asker_on(path: Path, *, max_calls: int | None = None) -> Iterator[Asker]:
    with Ledger(path) as ledger:
        yield Asker(
            ledger=ledger,
            pace=AdaptivePace(concurrency=8, timeout=30),
            budget=Budget(max_calls=max_calls, max_cost=None),
            progress=NoProgress(),
        )
