"""Answers whose words and score disagree: the rule stated or the outcome named, and yet the score moved."""

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from voirdire.blocks import Block, QuoteBlock
from voirdire.model import Measurement, Side, Trial
from voirdire.probes.outcome import PROCESS

_STATES_RULE = re.compile(
    r"hindsight|regardless of (?:the )?(?:outcome|result|what happened)|could not (?:have )?know|luck"
    r"|(?:outcome|what happened later) (?:should|must|does|did) not|at the time (?:it|the agent) decided",
    re.IGNORECASE,
)


def evidence(trial: Trial) -> tuple[Block, ...]:
    """Return the answers that state the rule or name the outcome while their score lies beyond the other median.

    Evidence for a reader, never used for a ruling: harm answers below the median of the no-harm version, and the
    reverse.
    """
    quotes = [
        (f"{name}, repeat {verdict.repeat}, PROCESS {verdict.value:g}: {why}", verdict.raw)
        for name, side, other, low in (
            ("harm", trial.variant, trial.base, True),
            ("no harm", trial.base, trial.variant, False),
        )
        for verdict in side.on(PROCESS.id)
        if isinstance(verdict.value, int | float)
        and _beyond_median(verdict.value, other, below=low)
        and (why := _says(verdict.raw, side.item["outcome"]))
    ]
    if not quotes:
        return ()
    note = "Listed as evidence only; the ruling does not use what an answer says."
    return (
        QuoteBlock(title=f"Stated reason against given score ({len(quotes)})", quotes=quotes[:6], note=note),
    )


def _beyond_median(value: float, other: Side, *, below: bool) -> bool:
    values = [float(v.value) for v in other.on(PROCESS.id) if isinstance(v.value, int | float)]
    return bool(values) and (value < median(values) if below else value > median(values))


def _says(raw: str, outcome: str) -> str:
    """Return what an answer's text does: states the rule, names the outcome, or neither ('')."""
    reasons = raw.partition("\n")[2]
    if _STATES_RULE.search(reasons):
        return "states the rule"
    words = {word.casefold() for word in re.findall(r"[A-Za-z]{6,}", outcome)}
    said = {word.casefold() for word in re.findall(r"[A-Za-z]{6,}", reasons)}
    return "names the outcome" if len(words & said) >= 3 else ""


def with_evidence(measurements: Sequence[Measurement], trials: Sequence[Trial]) -> list[Measurement]:
    """Return the measurements with the evidence of their case added."""
    by_case = {trial.item.id: evidence(trial) for trial in trials}
    return [replace(one, blocks=(*one.blocks, *by_case.get(one.subject, ()))) for one in measurements]
