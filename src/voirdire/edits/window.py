"""A declared window on a long log: the first user turn, the steps around the decision, the final report.

What is left out is counted where it stood. The rule is part of what the judge is shown, so it is declared,
not guessed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from voirdire.edits.run_log import Actor, LogStep, Passage, RunLog
from voirdire.errors import DataError

NEAR = 40
"""Characters within which a cut looks for a space."""


@dataclass(frozen=True)
class Window:
    """How much of a log is shown.

    Steps `before` and `after` the decision, and `characters` of one passage at most.
    """

    before: int = 3
    after: int = 2
    characters: int = 1500

    def __str__(self) -> str:
        return (
            f"the first user turn, {self.before} steps before and {self.after} after the decision, "
            "the final report; "
            f"at most {self.characters} characters of a passage"
        )


@dataclass(frozen=True)
class Windowed:
    """A log seen through a window, and what was left out."""

    log: RunLog
    steps_not_shown: int
    characters_not_shown: int


def through(log: RunLog, decision: Iterable[int], window: Window) -> Windowed:
    """Return the log seen through `window`; `decision`: indices (from 0) of the steps in which it was taken.

    The marker of left-out steps stands in place of them. Raises DataError where the log has no such step.
    """
    decided = sorted(set(decision))
    if not decided or decided[0] < 0 or decided[-1] >= len(log.steps):
        raise DataError(
            f"the decision stands in steps {decided}, but the log has {len(log.steps)} steps",
            hint="name the decision in the case file",
        )
    kept = _kept(log, decided, window)
    steps, left_out = _with_markers(log, kept)
    cut = [_shortened(step, window.characters) for step in steps]
    characters = sum(lost for _, lost in cut)
    return Windowed(replace(log, steps=tuple(step for step, _ in cut)), left_out, characters)


def _kept(log: RunLog, decided: list[int], window: Window) -> set[int]:
    last = len(log.steps) - 1
    around = range(max(0, decided[0] - window.before), min(last, decided[-1] + window.after) + 1)
    return {*range(_first_user(log) + 1), *around, _final_report(log)}


def _first_user(log: RunLog) -> int:
    return next((place for place, step in enumerate(log.steps) if step.source is Actor.USER), 0)


def _final_report(log: RunLog) -> int:
    agents = [place for place, step in enumerate(log.steps) if step.source is Actor.AGENT]
    return agents[-1] if agents else len(log.steps) - 1


def _with_markers(log: RunLog, kept: set[int]) -> tuple[list[LogStep], int]:
    shown: list[LogStep] = []
    gap = 0
    for place, step in enumerate(log.steps):
        if place not in kept:
            gap += 1
            continue
        shown += _marker(gap)
        shown.append(step)
        gap = 0
    return [*shown, *_marker(gap)], len(log.steps) - len(kept)


def _marker(gap: int) -> list[LogStep]:
    if not gap:
        return []
    steps = "1 step" if gap == 1 else f"{gap} steps"
    return [LogStep(Actor.SYSTEM, (Passage("", f"[… {steps} not shown …]"),))]


def _shortened(step: LogStep, longest: int) -> tuple[LogStep, int]:
    pairs = [_short(passage, longest) for passage in step.passages]
    return replace(step, passages=tuple(passage for passage, _ in pairs)), sum(lost for _, lost in pairs)


def _short(passage: Passage, longest: int) -> tuple[Passage, int]:
    """Leave out the middle of a long passage, from a space or line end to another where one is near."""
    text = passage.text
    if len(text) <= longest or not passage.heading:
        return passage, 0
    head = _back_to_space(text, longest // 2)
    tail = len(text) - _back_to_space(text[::-1], longest - longest // 2)
    lost = tail - head
    return replace(passage, text=f"{text[:head]}\n[… {lost} characters not shown …]\n{text[tail:]}"), lost


def _back_to_space(text: str, at: int) -> int:
    spaces = max(text.rfind(" ", at - NEAR, at), text.rfind("\n", at - NEAR, at))
    return spaces if spaces > 0 else at
