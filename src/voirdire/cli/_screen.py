"""What `probe` and `outcome` share: any probes on any items, on one page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from voirdire.cli._main import FINE
from voirdire.cli._run import Settings, session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voirdire.cli._options import Form
    from voirdire.model import Asking, Item, Probe


def screen(
    settings: Settings, judge: str, items: Sequence[Item], probes: Sequence[Probe], form: Form | None
) -> int:
    """Run the probes on one judge and return the exit code."""
    from voirdire.judges.planted import planted_judge
    from voirdire.studies.screen import examine_probes, plan_screen

    with session(settings) as run:
        opened = run.open(judge, lambda backend: asking_of(probes[0], form, backend))
        if not run.proceed(plan_screen(opened, probes, items, repeats=settings.repeats)):
            return FINE
        work = examine_probes(
            opened, probes, items, run.asker, planted=planted_judge, repeats=settings.repeats
        )
        return run.finish(run.wait(work))


def kind_of(path: Path) -> str:
    """Return what a file is by its own words: 'case file', 'rule file', 'item file', 'judge file', or '' for none.

    A file that is not there, and one that nobody can read, is '' too: whoever reads it says why.
    """
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
    for mark, kind in _MARKS.items():
        if re.search(mark, text, re.MULTILINE):
            return kind
    return ""


_MARKS: Mapping[str, str] = {
    r'^\s*schema\s*=\s*["\']voirdire\.case/': "case file",
    r'^\s*schema\s*=\s*["\']voirdire\.rule/': "rule file",
    r'\A\ufeff?\s*\{\s*"schema"\s*:\s*"voirdire\.items/': "item file",
    r"^\s*backend\s*=": "judge file",
}


def asking_of(probe: Probe, form: Form | None, backend: str) -> Asking:
    """Return what a judge without a prompt of its own is asked: the probe's material, in a form that suits it."""
    from voirdire.engine.forms import Form as EngineForm
    from voirdire.engine.forms import asking_in_form, default_form

    chosen = EngineForm(form.value) if form else default_form(backend)
    return asking_in_form(probe.messages, probe.questions, chosen)
