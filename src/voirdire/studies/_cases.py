"""Cases as items: whole, or through the window that a case declares for logs that do not fit a judge."""

from collections.abc import Sequence
from dataclasses import dataclass

from voirdire.errors import UsageError
from voirdire.importers._planting import Version
from voirdire.importers.cases import Case, read_case, short_cases
from voirdire.model import Item


@dataclass(frozen=True)
class Cases:
    """Items of cases, what a page must say about how their logs are shown, and the rule question they bring, if any."""

    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()
    rule: tuple[str, str] | None = None


def read_cases(names: Sequence[str], *, windowed: Sequence[str] | None = ()) -> Cases:
    """Read cases by path or shipped name (none: the short ones that ship). `windowed`: names of those to cut; None: all.

    Raises UsageError where cases bring different rule questions, which one judge cannot be asked at once.
    """
    read = [(name, read_case(name)) for name in names or short_cases()]
    rules = {case.rule for _, case in read}
    if len(rules) > 1:
        asking = ", ".join(case.id for _, case in read)
        raise UsageError(
            f"the cases {asking} bring different rule questions",
            hint="examine cases with one rule question at a time",
        )
    cut = [(case, windowed is None or name in windowed) for name, case in read]
    items = tuple(case.windowed() if short else case.item() for case, short in cut)
    notes = tuple(note for case, short in cut if short for note in _window_note(case))
    return Cases(items, notes, next(iter(rules)))


def _window_note(case: Case) -> list[str]:
    seen = case.seen(Version.SKIPPED)
    if not seen.steps_not_shown and not seen.characters_not_shown:
        return []
    return [
        f"{case.id}: shown through a window ({case.window}); {seen.steps_not_shown:,} steps and "
        f"{seen.characters_not_shown:,} characters of its log are not shown"
    ]
