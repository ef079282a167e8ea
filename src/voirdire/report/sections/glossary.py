"""What the rulings mean, in words."""

from markupsafe import Markup

from voirdire.model import Examination, Ruling
from voirdire.report.paper import Paper

PLACE = 70

MEANINGS = {
    Ruling.HOLDS: (
        "The verdict was shown to stay: the 90 % interval lies wholly inside the margin, and the control moved as it "
        "must. A small shift inside the margin may be there, and is printed."
    ),
    Ruling.LEAKS: (
        "The verdict moves with something that must not count: the test, corrected for all contrasts of its family, "
        "rejects 'no shift', and the estimate lies at or beyond the line."
    ),
    Ruling.BLIND: (
        "The control, a change that a judge must notice, was shown not to move the verdict. A judge that sees nothing "
        "cannot be said to hold anything."
    ),
    Ruling.PERMITTED: (
        "The verdict moves, and the judge's own stated rule says that it may. Whether you share that rule is yours to "
        "decide: this is not a pass."
    ),
    Ruling.UNRESOLVED: "The data allow neither conclusion. The finding says what would settle it. This is not a pass either.",
}


def section(examination: Examination, paper: Paper) -> Markup | None:
    """Return the glossary; None where no finding has a ruling."""
    if not any(finding.ruling for finding in examination.findings):
        return None
    return paper.fill("glossary.html", meanings=list(MEANINGS.items()))
