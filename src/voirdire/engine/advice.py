"""What would settle an open finding, given the present estimate: how many more repeats, cases or items."""

from voirdire.lines import CASES_FOR_GENERAL, Line
from voirdire.model import Estimate, one_of
from voirdire.stats.equivalence import settling, unmoved_units_needed


def settle(estimate: Estimate, line: Line, *, unit: str, least: int = 1) -> str:
    """Return the sentence on how many further units would settle it if the estimate stayed where it is.

    `least`: units below which no ruling is given anyway.
    """
    if estimate.exact:
        return "More cases would tell, never more repeats: the judge is deterministic."
    have = estimate.n
    least_still = unmoved_units_needed(line.span, line.margin) if line.span and line.margin else 1
    if have < least:
        return (
            f"{units(least - have, unit, further=True)} at least, since fewer than {least} allow no ruling."
        )
    if estimate.value is None:
        return f"Readable answers: none could be read from {sum(estimate.asked.values())} asked."
    found = settling(estimate, line)
    totals = [found.to_reject, max(found.to_hold, least_still) if found.to_hold is not None else None]
    known = [total for total in totals if total is not None]
    if not known:
        return f"No number of further {unit} is known to settle it where the estimate now stands, at the line itself."
    further = max(0, min(known) - have)
    if further == 0:
        return f"The estimate itself would be settled with the {unit} there are; what is open stands in the sentence."
    return f"About {units(further, unit, further=True)}, if the estimate stays where it is."


def units(n: int, plural: str, *, further: bool = False) -> str:
    """Return a number with what it counts: '3 cases', '1 case', '1 further repeat of each version'."""
    return f"{n:,} {'further ' if further else ''}{one_of(plural) if n == 1 else plural}"


def settle_by_repeats(estimate: Estimate, line: Line) -> str:
    """Return what would settle a ruling about one case."""
    return settle(estimate, line, unit="repeats of each version")


def settle_by_cases(estimate: Estimate, line: Line) -> str:
    """Return what would settle a ruling about the judge from cases."""
    return settle(estimate, line, unit="cases", least=CASES_FOR_GENERAL)


def settle_by_items(estimate: Estimate, line: Line) -> str:
    """Return what would settle a ruling about the judge from items."""
    return settle(estimate, line, unit="items", least=CASES_FOR_GENERAL)
