"""The paper that the sections write on: templates that escape, one draftsman, ids that are unique on the page."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import count
from typing import Any

from jinja2 import FunctionLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from voirdire.model import Examination, Finding
from voirdire.report import numerals
from voirdire.report.figures import Draftsman
from voirdire.report.names import called, judge_names
from voirdire.report.scales import question_ranges
from voirdire.report.tables import ShownTable
from voirdire.report.visible import PAGE_LIMIT, marked, one_line, shortened, visible

_LINK = re.compile(
    r"(?:https?://[A-Za-z0-9._~:/?#@!$&*+,;=%()-]+[A-Za-z0-9/])|doi:10\.[A-Za-z0-9./()_;-]+[A-Za-z0-9]"
)


HEADINGS = (
    "The answers",
    "How each judge stands",
    "State of the run",
    "All findings",
    "The evidence",
    "Who judged",
    "What the rulings mean",
)
"""Names that the landmarks of the sections have."""


class Paper:
    """What a section needs beside the examination: `fill` for templates, `macro` for parts, ids and figures."""

    def __init__(self, examination: Examination, draftsman: Draftsman | None) -> None:
        self.draftsman = draftsman
        self.environment = _environment()
        self._parts = self.environment.get_template("parts.html").module
        self._names = judge_names(examination)
        self._ranges = {judge.fingerprint: question_ranges(judge) for judge in examination.judges}
        self._anchors = _anchors(examination)
        self._landmarks = {heading.casefold() for heading in HEADINGS}

    def fill(self, template: str, **values: Any) -> Markup:
        """Return the template filled; every value is made visible and escaped unless it is markup already."""
        return Markup(self.environment.get_template(template).render(paper=self, **values))

    def macro(self, name: str, *arguments: Any) -> Markup:
        """Return what a macro of parts.html makes of the arguments."""
        return Markup(getattr(self._parts, name)(*arguments))

    def table(self, table: ShownTable) -> Markup:
        """Return a table as markup, in a region whose name no other landmark of the page has."""
        return self.macro("table", table, self.landmark(table.title))

    def landmark(self, title: str) -> str:
        """Return a name for a landmark: the title, with a number where it stands on the page already."""
        name = one_line(title)
        numbered = (name if times == 1 else f"{name} ({times})" for times in count(1))
        free = next(one for one in numbered if one.casefold() not in self._landmarks)
        self._landmarks.add(free.casefold())
        return free

    def judge_name(self, judge: str) -> str:
        """Return the name of the judge that a finding names by its fingerprint, or the text itself."""
        return called(judge, self._names)

    def ranges(self, judge: str) -> Mapping[str, tuple[float, float]]:
        """Return the ends of the scale of each question that a judge, named by its fingerprint, was asked."""
        return self._ranges.get(judge, {})

    def anchor(self, finding: Finding) -> str:
        """Return the id of the section that holds the finding."""
        return self._anchors[id(finding)]


def linked(text: str) -> Markup:
    """Return a reference, escaped, with its DOI or address as a link."""
    pieces, end = [], 0
    for match in _LINK.finditer(text):
        target = match[0].replace("doi:", "https://doi.org/") if match[0].startswith("doi:") else match[0]
        link = Markup('<a href="{}" rel="noreferrer noopener">{}</a>').format(target, match[0])
        pieces += [marked(text[end : match.start()]), link]
        end = match.end()
    return Markup("").join([*pieces, marked(text[end:])])


def subject_of(finding: Finding) -> str:
    """Return what a finding is about, in words."""
    return "the judge in general" if finding.subject == "judge" else one_line(finding.subject, 80)


def title_of(finding: Finding) -> str:
    """Return the name of the probe, audit or remedy, as a heading."""
    name = one_line(finding.name.replace("_", " "), 80)
    return name[:1].upper() + name[1:]


def resource(name: str) -> str:
    """Return a text of the folder `templates`."""
    return (files("voirdire.report") / "templates" / name).read_text(encoding="utf-8")


def _anchors(examination: Examination) -> Mapping[int, str]:
    taken: dict[str, int] = {}
    anchors = {}
    for finding in examination.findings:
        stem = re.sub(r"[^a-z0-9]+", "-", finding.id.lower()).strip("-")[:60] or "finding"
        taken[stem] = taken.get(stem, 0) + 1
        anchors[id(finding)] = f"f-{stem}" if taken[stem] == 1 else f"f-{stem}--{taken[stem]}"
    return anchors


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        loader=FunctionLoader(resource),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": _shown,
        "number": numerals.number,
        "probability": numerals.probability,
        "share": numerals.share,
        "one_line": one_line,
        "linked": linked,
    }
    environment.globals |= {"interval": numerals.interval, "subject_of": subject_of, "title_of": title_of}
    return environment


def _finalized(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _shown(text: str, limit: int = PAGE_LIMIT) -> Markup:
    """Return a long untrusted text for the page, cut where it is too long, with a note that says so."""
    head, left_out = shortened(text, limit)
    note = Markup('<span class="cut">… {} more characters; the whole text is in findings.json</span>')
    return marked(head) + (note.format(f"{left_out:,}") if left_out else "")
