"""The options of a reader, as a judge file gives them: checked once, with the nearest valid name."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from voirdire.errors import UsageError


def only_known(options: Mapping[str, object], known: Collection[str], reader: str) -> None:
    """Raise UsageError for an option that the reader does not have."""
    for name in options:
        if name not in known:
            near = get_close_matches(name, sorted(known), n=1)
            raise UsageError(
                f"reader '{reader}' has no option '{name}'",
                hint=f"did you mean '{near[0]}'?" if near else _choices(known),
            )


def table(options: Mapping[str, object], name: str, reader: str) -> Mapping[str, object]:
    """Return the option as a table; empty where it is not given."""
    value = options.get(name, {})
    if not isinstance(value, Mapping):
        raise UsageError(
            f"reader '{reader}': option '{name}' is {type(value).__name__}, not a table",
            hint=f"write `{name} = {{ ... }}`",
        )
    return value


def switch(options: Mapping[str, object], name: str, reader: str, *, default: bool) -> bool:
    """Return the option as true or false."""
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise UsageError(
            f"reader '{reader}': option '{name}' is neither true nor false",
            hint=f"write `{name} = true` or leave it out",
        )
    return value


def text(options: Mapping[str, object], name: str, reader: str, *, default: str) -> str:
    """Return the option as text."""
    value = options.get(name, default)
    if not isinstance(value, str):
        raise UsageError(
            f"reader '{reader}': option '{name}' is {type(value).__name__}, not text",
            hint=f'write `{name} = "..."`',
        )
    return value


def only_questions(named: Collection[str], asked: Collection[str], option: str, reader: str) -> None:
    """Raise UsageError where an option names a question that is not asked."""
    for name in named:
        if name not in asked:
            near = get_close_matches(name, sorted(asked), n=1)
            raise UsageError(
                f"reader '{reader}': option '{option}' names a question '{name}' that is not asked",
                hint=f"did you mean '{near[0]}'?" if near else f"questions asked: {', '.join(sorted(asked))}",
            )


def _choices(known: Collection[str]) -> str:
    return f"options: {', '.join(sorted(known))}" if known else "it has no options"
