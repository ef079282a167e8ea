"""Compares the findings of two examinations as paired measurements: the same items, before and now.

A finding got worse where three things hold together: the corrected paired test rejects "no change"; the change is no
rounding error, measured on the finding's own line; and either the ruling is a worse one, or the shift crossed its line
or grew by as much as it. A ruling that flips within noise is no regression, and neither is a sure change too small to
matter. Controls and checks, which ought to move, and the share of answers that could be read, are compared likewise.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from voirdire.lines import ALPHA, GATE_LEAST, MISSING_GAP, Line
from voirdire.model import Estimate, Expectation, Finding, Ruling
from voirdire.stats.multiplicity import holm
from voirdire.stats.paired import paired_mean
from voirdire.stats.two_runs import superiority_change

_SAME = 1e-9

WORSE_FIRST = (Ruling.LEAKS, Ruling.BLIND, Ruling.UNRESOLVED, Ruling.PERMITTED, Ruling.HOLDS)
"""Rulings, the worst first. `permitted` is never green, and to be blind is worse than to be undecided."""

READABLE = Line(
    quantity="share of answers that could be read",
    null=1.0,
    leak=MISSING_GAP,
    margin=None,
    reason="a share of missing answers this large is flagged between the arms of a contrast, too",
    span=1.0,
)


class Change(StrEnum):
    """What became of a finding. MOVED: surely another value, but neither worse nor better by its line."""

    WORSE = "worse"
    BETTER = "better"
    MOVED = "moved"
    SAME = "same"
    NOT_COMPARED = "not compared"
    GONE = "gone"
    NEW = "new"


class Aspect(StrEnum):
    """What of a finding is compared."""

    SHIFT = "shift"
    CONTROL = "control"
    CHECK = "check"
    READ = "readable answers"


@dataclass(frozen=True)
class Difference:
    """One aspect before and now, over the units that both runs could read.

    `estimate`: now less before, with its paired test; `p_adjusted`: corrected over all differences, None where the
    difference is exactly known. `growth`: how much the aspect got worse, in the unit of `line`; negative: better.
    `crossed`: whether it passed to the wrong side of its line (-1: back to the right one, 0: neither).
    """

    aspect: Aspect
    line: Line
    before: float
    now: float
    estimate: Estimate
    growth: float
    crossed: int
    p_adjusted: float | None = None

    @property
    def established(self) -> bool:
        """Whether the change is beyond noise and more than a rounding error."""
        sure = self.estimate.exact or (self.p_adjusted is not None and self.p_adjusted <= ALPHA)
        return sure and abs(self.estimate.value or 0.0) >= GATE_LEAST * self.line.leak - _SAME

    @property
    def side(self) -> int:
        """Return 1 where it notably got worse, -1 where it got better, 0 where it did neither."""
        if abs(self.growth) < GATE_LEAST * self.line.leak - _SAME:
            return 0
        return 1 if self.growth > 0 else -1

    @property
    def past_line(self) -> bool:
        """Whether it crossed its line, or changed by as much as the line."""
        return self.crossed == self.side != 0 or abs(self.growth) >= self.line.leak - _SAME


@dataclass(frozen=True)
class Comparison:
    """One finding before and now (None: it is not there). `why` says in a sentence what was concluded.

    `lacking`: units of the baseline that were not measured again; `further`: units that the baseline does not have.
    """

    name: str
    subject: str
    change: Change
    why: str
    before: Finding | None = None
    now: Finding | None = None
    differences: tuple[Difference, ...] = ()
    lacking: tuple[str, ...] = ()
    further: tuple[str, ...] = ()


def compare(
    before: Sequence[Finding], now: Sequence[Finding], *, texts_changed: Collection[str] = ()
) -> list[Comparison]:
    """Return one comparison per finding with a ruling: those of the baseline in order, then the new ones.

    `texts_changed`: items whose texts are no longer those of the baseline; they are other items now. All differences
    are one family for Holm's correction; where nothing differs and nothing could, there is no test and no share in it.
    """
    old, new = _by_key(before), _by_key(now)
    changed = frozenset(texts_changed)
    paired = {key: _Paired.of(old[key], new[key], changed) for key in old if key in new}
    corrected = iter(_corrected([one for pair in paired.values() for one in pair.differences]))
    compared = {
        key: replace(pair, differences=tuple(next(corrected) for _ in pair.differences))
        for key, pair in paired.items()
    }
    return [
        *(compared[key].concluded() if key in compared else _gone(old[key]) for key in old),
        *(_new(new[key]) for key in new if key not in old),
    ]


Key = tuple[str, str, str]


def family_size(comparisons: Sequence[Comparison]) -> int:
    """Return the size of the family that the correction is over."""
    return sum(one.p_adjusted is not None for comparison in comparisons for one in comparison.differences)


def _by_key(findings: Sequence[Finding]) -> dict[Key, Finding]:
    return {(one.kind.value, one.name, one.subject): one for one in findings if one.ruling is not None}


def _corrected(differences: Sequence[Difference]) -> list[Difference]:
    p_values = [one.estimate.p_value for one in differences]
    adjusted = iter(holm([p for p in p_values if p is not None]))
    return [
        one if p is None else replace(one, p_adjusted=next(adjusted))
        for one, p in zip(differences, p_values, strict=True)
    ]


def _gone(before: Finding) -> Comparison:
    said = f"{_ruling(before)} in the baseline, and not measured again"
    return Comparison(before.name, before.subject, Change.GONE, said, before=before)


def _new(now: Finding) -> Comparison:
    said = f"{_ruling(now)}; the baseline does not have it"
    return Comparison(now.name, now.subject, Change.NEW, said, now=now)


def _ruling(finding: Finding) -> str:
    return finding.ruling.value if finding.ruling is not None else "no ruling"


# --- one finding ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Paired:
    """A finding before and now, and how they differ; `obstacle`: why they cannot be compared, or ''."""

    before: Finding
    now: Finding
    differences: tuple[Difference, ...]
    lacking: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    obstacle: str = ""

    @classmethod
    def of(cls, before: Finding, now: Finding, changed: frozenset[str]) -> "_Paired":
        """Measure the differences of one finding."""
        old, new = before.estimate or Estimate(None), now.estimate or Estimate(None)
        if before.subject in changed:
            return cls(before, now, (), lacking=(before.subject,), obstacle="its texts are others now")
        lacking = tuple(name for name in old.by_unit if name not in new.by_unit or name in changed)
        further = tuple(name for name in new.by_unit if name not in old.by_unit)
        obstacle = _obstacle(before, now, changed)
        differences = () if obstacle else tuple(_differences(before, now, changed))
        if not obstacle and not differences:
            obstacle = "one of the two holds no scores of the case"
        return cls(before, now, differences, lacking, further, obstacle)

    def concluded(self) -> Comparison:
        """Return what became of the finding."""
        change, why = self._decided()
        return Comparison(
            name=self.before.name,
            subject=self.before.subject,
            change=change,
            why=why,
            before=self.before,
            now=self.now,
            differences=self.differences,
            lacking=self.lacking,
            further=self.further,
        )

    def _decided(self) -> tuple[Change, str]:
        if self.obstacle:
            return Change.NOT_COMPARED, self.obstacle
        for change, side in ((Change.WORSE, 1), (Change.BETTER, -1)):
            counted = [
                one
                for one in self.differences
                if one.established and one.side == side and (one.past_line or self._ruled(side))
            ]
            if counted:
                return change, f"{self._rulings()}; {'; '.join(map(_told, counted))}"
        sure = [one for one in self.differences if one.established]
        if sure:
            return Change.MOVED, f"{self._rulings()}; {'; '.join(map(_told, sure))}, which crosses no line"
        within = "; the change is within noise" if self.before.ruling is not self.now.ruling else ""
        return Change.SAME, f"{self._rulings()}; {_told(self.differences[0])}{within}"

    def _ruled(self, side: int) -> bool:
        """Whether the ruling went to the worse (side 1) or to the better (-1)."""
        places = [WORSE_FIRST.index(one.ruling) for one in (self.before, self.now) if one.ruling is not None]
        return len(places) == 2 and (places[0] - places[1]) * side > 0

    def _rulings(self) -> str:
        before, now = _ruling(self.before), _ruling(self.now)
        return f"still {now}" if before == now else f"was {before}, is {now}"


def _obstacle(before: Finding, now: Finding, changed: frozenset[str]) -> str:
    """Return why the shifts of a finding cannot be compared, or ''."""
    old, new = before.estimate or Estimate(None), now.estimate or Estimate(None)
    if before.line is None or now.line is None or before.line.quantity != now.line.quantity:
        return "the two measure different quantities"
    for estimate, which in ((old, "the baseline"), (new, "the new examination")):
        if not estimate.by_unit and not estimate.by_arm:
            return f"{which} holds no values by item"
        if estimate.value is None:
            return f"{which} has no estimate: {estimate.note or 'nothing could be read'}"
    if old.by_unit and new.by_unit and not _shared(old, new, changed):
        return "the two have no item in common that both could read"
    if bool(old.by_unit) != bool(new.by_unit):
        return "one is about a single case, the other about several"
    return ""


def _shared(old: Estimate, new: Estimate, changed: frozenset[str]) -> list[tuple[float, float]]:
    """Return the values of the units that both could read, before and now."""
    pairs = [(old.by_unit[name], new.by_unit.get(name)) for name in old.by_unit if name not in changed]
    return [(one, other) for one, other in pairs if one is not None and other is not None]


def _differences(before: Finding, now: Finding, changed: frozenset[str]) -> Iterator[Difference]:
    """Yield the shift, then what of control, check and readable answers can be compared."""
    parts: Sequence[tuple[Aspect, Estimate | None, Estimate | None, Line | None]] = (
        (Aspect.SHIFT, before.estimate, now.estimate, before.line),
        (Aspect.CONTROL, before.control, now.control, before.control_line),
        (Aspect.CHECK, before.check, now.check, before.check_line),
    )
    for aspect, old, new, line in parts:
        if old is None or new is None or line is None:
            continue
        measured = _measured(old, new, line, changed)
        if measured is not None:
            still = aspect is Aspect.SHIFT and before.expect is Expectation.INVARIANT
            yield _of_line(aspect, line, measured, wanted=0 if still else _wanted(aspect, before, measured))
    read = _read(before.estimate, now.estimate, changed)
    if read is not None:
        yield read


@dataclass(frozen=True)
class _Measured:
    """The means before and now over what is compared, and their difference."""

    before: float
    now: float
    estimate: Estimate


def _measured(old: Estimate, new: Estimate, line: Line, changed: frozenset[str]) -> _Measured | None:
    """Return a difference; None where there is nothing to compare."""
    if old.by_unit and new.by_unit:
        pairs = _shared(old, new, changed)
        return _over_units(pairs, line) if pairs else None
    if old.value is None or new.value is None:
        return None
    if old.exact and new.exact:
        change = Estimate(new.value - old.value, n=1, unit="pair of answers", method="exact", exact=True)
        return _Measured(old.value, new.value, change)
    arms = [one.by_arm.get(arm, ()) for arm in ("base", "variant") for one in (old, new)]
    if not all(len(scores) for scores in arms):
        return None
    change = superiority_change((arms[0], arms[1]), (arms[2], arms[3]))
    return _Measured(old.value, new.value, change)


def _over_units(pairs: Sequence[tuple[float, float]], line: Line | None) -> _Measured:
    span = 2 * line.span if line is not None and line.span is not None else None
    change = paired_mean([now - before for before, now in pairs], span=span, unit="item")
    if all(now == before for before, now in pairs):
        change = replace(change, p_value=None)
    before, now = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
    return _Measured(before, now, change)


def _wanted(aspect: Aspect, before: Finding, measured: _Measured) -> int:
    """Return to which side an aspect ought to move: as expected, or as it did in the baseline."""
    if aspect is Aspect.SHIFT:
        return 1 if before.expect is Expectation.HIGHER else -1
    line = before.control_line if aspect is Aspect.CONTROL else before.check_line
    return 1 if line is None or measured.before >= line.null else -1


def _of_line(aspect: Aspect, line: Line, measured: _Measured, *, wanted: int) -> Difference:
    """Return the difference with how much worse it is. `wanted` 0: it ought to stay at the line's null."""
    before, now = measured.before - line.null, measured.now - line.null
    if wanted:
        growth = wanted * (before - now)
        short = [wanted * value < line.leak - _SAME for value in (before, now)]
    else:
        growth = abs(now) - abs(before)
        short = [abs(value) >= line.leak - _SAME for value in (before, now)]
    return Difference(
        aspect, line, measured.before, measured.now, measured.estimate, growth, int(short[1]) - int(short[0])
    )


def _read(old: Estimate | None, new: Estimate | None, changed: frozenset[str]) -> Difference | None:
    """Return by how much the share of answers that could be read fell, over the units asked about in both."""
    if old is None or new is None:
        return None
    names = [name for name in old.read_by_unit if name in new.read_by_unit and name not in changed]
    if not names:
        return None
    measured = _over_units([(old.read_by_unit[name], new.read_by_unit[name]) for name in names], None)
    growth = measured.before - measured.now
    return Difference(Aspect.READ, READABLE, measured.before, measured.now, measured.estimate, growth, 0)


# --- words ----------------------------------------------------------------------------------------------


def _told(one: Difference) -> str:
    """Return a difference in words, with what makes it sure or not."""
    names: Mapping[Aspect, str] = {
        Aspect.SHIFT: one.line.quantity,
        Aspect.CONTROL: f"control ({one.line.quantity})",
        Aspect.CHECK: f"check ({one.line.quantity})",
        Aspect.READ: one.line.quantity,
    }
    moved = f"{names[one.aspect]} {one.before:.2f} before, {one.now:.2f} now"
    estimate = one.estimate
    if estimate.exact:
        return f"{moved} (exact)"
    reach = (
        ""
        if estimate.low is None or estimate.high is None
        else f" [{estimate.low:+.2f}, {estimate.high:+.2f}]"
    )
    p = "" if one.p_adjusted is None else f", corrected p {one.p_adjusted:.3g}"
    return f"{moved} (paired change {estimate.value or 0.0:+.2f}{reach}, n = {estimate.counted}{p})"
