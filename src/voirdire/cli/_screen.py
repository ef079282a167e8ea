"""What `probe` and `outcome` share: any probes on any items, on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.cli._main import FINE
from voirdire.cli._run import Settings, session

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def asking_of(probe: Probe, form: Form | None, backend: str) -> Asking:
    """Return what a judge without a prompt of its own is asked: the probe's material, in a form that suits it."""
    from voirdire.engine.forms import Form as EngineForm
    from voirdire.engine.forms import asking_in_form, default_form

    chosen = EngineForm(form.value) if form else default_form(backend)
    return asking_in_form(probe.messages, probe.questions, chosen)
