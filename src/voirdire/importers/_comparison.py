"""Two versions of one part side by side, and every place where they differ."""

from dataclasses import dataclass

from voirdire.edits.run_log import RunLog, show
from voirdire.edits.spans import Change, changes, changes_by_unit


@dataclass(frozen=True)
class Comparison:
    """Two versions of one part, and every place where they differ."""

    title: str
    part: str
    base_name: str
    variant_name: str
    base: str
    variant: str
    changes: tuple[Change, ...]


def of_texts(title: str, part: str, names: tuple[str, str], base: str, variant: str) -> Comparison:
    """Return two texts compared by sentence."""
    return Comparison(title, part, *names, base, variant, changes(base, variant))


def of_logs(title: str, part: str, names: tuple[str, str], base: RunLog, variant: RunLog) -> Comparison:
    """Return two logs compared by passage."""
    found = changes_by_unit(_units(base), _units(variant))
    return Comparison(title, part, *names, base.text(), variant.text(), found)


def _units(log: RunLog) -> list[str]:
    """Return the log's text as one unit per passage, the empty line behind it included."""
    shown = [show(passage) for passage in log.passages()]
    return [f"{passage}\n\n" for passage in shown[:-1]] + shown[-1:]
