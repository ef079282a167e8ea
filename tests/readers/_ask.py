"""Questions that the reader tests ask, and how they say 'all missing, for this reason'."""

from collections.abc import Mapping

from voirdire.model import Reading
from voirdire.questions import Checklist, ChecklistItem, Choice, Predicate, Score

PROCESS = Score("process", "How good were the decisions?", 0, 10)
DAMAGE = Score("damage", "How much harm came about?", 0, 10)
BOTH = (PROCESS, DAMAGE)
SOLVED = Predicate("solved", "Does it solve the task?")
BETTER = Choice("better", "Which is better?", ("first", "second", "tie"))
LIST = Checklist(
    "list", "The rubric", (ChecklistItem("runs", "Runs?", 3.0), ChecklistItem("tidy", "Tidy?", 1.0))
)


def only_reason(readings: Mapping[str, Reading]) -> str:
    """Return the reason that every question is missing for; fails where one has a value."""
    assert readings
    assert all(reading.value is None for reading in readings.values()), readings
    reasons = {reading.missing_because for reading in readings.values()}
    assert len(reasons) == 1, reasons
    (reason,) = reasons
    assert reason
    return reason
