"""Builds report.html from the data of findings.json alone: one file that loads nothing and needs no script to read.

The sections stand in `sections/`, one file each, in the order of their `PLACE`; each gives markup or None.
"""

import base64
import hashlib
import pkgutil
from importlib import import_module

from markupsafe import Markup

from voirdire.model import Examination
from voirdire.report import figures, sections
from voirdire.report.findings_file import from_data
from voirdire.report.missing import missing_answers
from voirdire.report.names import judges_in_words
from voirdire.report.numerals import moment
from voirdire.report.paper import Paper, resource
from voirdire.report.visible import visible


def render(data: object) -> str:
    """Return the page for the data of a findings file; DataError where the data are not ours."""
    examination = from_data(data)
    paper = Paper(examination, figures.load())
    style, script = resource("page.css"), resource("page.js")
    page = paper.fill(
        "page.html",
        title=visible(examination.title),
        examination=examination,
        judges=judges_in_words(examination),
        made=moment(examination.made),
        missing=missing_answers(examination.account),
        sections=_sections(examination, paper),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
    )
    return str(page)


def _sections(examination: Examination, paper: Paper) -> list[Markup]:
    found = pkgutil.iter_modules(sections.__path__, f"{sections.__name__}.")
    modules = [import_module(module.name) for module in found]
    written = [
        module.section(examination, paper) for module in sorted(modules, key=lambda module: module.PLACE)
    ]
    return [markup for markup in written if markup is not None]


def _policy(style: str, script: str) -> str:
    """Return the content security policy: nothing from outside, and no style or script but these two texts."""
    return f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
