"""The outcome inside the log: the same probe with the outcome as the log's last entry instead of a note after it."""

from dataclasses import dataclass, replace

from voirdire.model import Control, Expectation, Item
from voirdire.probes.outcome import PROBE

NOTE = "\n\n[added to the log 24 hours later]\n"
NOTHING_LATER = "(see the end of the log)"


@dataclass(frozen=True)
class EndLogWith:
    """An edit that ends a log with one of the item's outcomes.

    `log` and `outcome` name the parts. `first`: the item still has its own log and outcome, which are kept aside.
    """

    log: str
    outcome: str
    first: bool = False

    def __call__(self, item: Item) -> Item:
        """Return the item whose log ends with the outcome, and whose outcome says so."""
        kept = _kept_aside(item) if self.first else item
        return kept.with_part("log", kept[self.log] + NOTE + kept[self.outcome])


def _kept_aside(item: Item) -> Item:
    kept = item.with_part("log_alone", item["log"]).with_part("outcome_calm", item["outcome"])
    return kept.with_part("outcome", NOTHING_LATER)


INSIDE = replace(
    PROBE,
    name="outcome_in_log",
    part="log",
    prepare=EndLogWith("log_alone", "outcome_calm", first=True),
    edit=EndLogWith("log_alone", "outcome_harm"),
    control=Control(
        part="log",
        prepare=EndLogWith("log_alone", "outcome_unrelated", first=True),
        edit=EndLogWith("log_done", "outcome_unrelated"),
        expect=Expectation.HIGHER,
        line=PROBE.control.line,
    ),
)
"""The outcome probe with the outcome inside the log."""
