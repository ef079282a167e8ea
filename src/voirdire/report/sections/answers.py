"""The first screen: one sentence per question a reader has, and with several judges how each of them stands."""

from markupsafe import Markup

from voirdire.model import Examination
from voirdire.report.answers import replies, standings
from voirdire.report.paper import Paper

PLACE = 10


def section(examination: Examination, paper: Paper) -> Markup | None:
    """Return the answers; always there."""
    judges = standings(examination)
    return paper.fill(
        "answers.html",
        replies=replies(examination),
        judges=judges if len(judges) > 1 else [],
        uses=[reply.question for reply in judges[0][1]] if judges else [],
    )
