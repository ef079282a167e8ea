"""Numbers as the page prints them: few digits, a true minus sign, the same width in a column."""

import math
from datetime import datetime, timedelta

MINUS = "\u2212"


def number(value: float | int | None) -> str:
    """Return the number with three decimals below ten and fewer above; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    if isinstance(value, int):
        return f"{value:,}".replace("-", MINUS)
    size = abs(value)
    digits = 3 if size < 10 else 1 if size < 1000 else 0
    text = f"{value:,.{digits}f}"
    return (text.lstrip("-") if float(text.replace(",", "")) == 0 else text).replace("-", MINUS)


def interval(low: float | None, high: float | None) -> str:
    """Return '[low, high]', or a dash where there is none."""
    return "–" if low is None or high is None else f"[{number(low)},\u00a0{number(high)}]"


def probability(value: float | None) -> str:
    """Return a p value: three decimals, never an exact zero."""
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def share(part: int, whole: int) -> str:
    """Return a part of a whole in per cent; a dash where the whole is empty."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def dollars(value: float | None) -> str:
    """Return money with two decimals, more where it is less than a cent; says where no price is known."""
    if value is None:
        return "no price known"
    return f"${value:,.2f}" if value >= 0.01 or value == 0 else f"${value:.5f}"


def duration(seconds: float) -> str:
    """Return a time in the one or two units that fit."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    return f"{minutes} min {int(seconds % 60)} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def listing(words: list[str]) -> str:
    """Return 'a', 'a and b' or 'a, b and c'."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def counted(amount: int, noun: str, plural: str = "") -> str:
    """Return '1 case' or '3 cases'."""
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def moment(iso: str) -> str:
    """Return an ISO time to the minute, in UTC where it says so; a text that is none as it stands."""
    try:
        when = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{when:%Y-%m-%d %H:%M}{' UTC' if when.utcoffset() == timedelta(0) else ''}"
