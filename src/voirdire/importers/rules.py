"""Rule files: any rule that a judge claims to keep, as a probe of its own with its items.

A rule file names a part, a change of it (an edit, or a second text), the question about the judge's own rule
in both wordings, and a control that must move the verdict.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire import plugins
from voirdire.edits.spans import replace_once
from voirdire.errors import DataError
from voirdire.importers._toml import read_toml
from voirdire.lines import Line
from voirdire.model import Control, Expectation, Item, Message, Origin, Probe, Unit
from voirdire.questions import Score

if TYPE_CHECKING:
    from voirdire.importers import _rule_record as record

HINT = "`voirdire init` writes a commented rule; the schema is published with the package"
SYSTEM = "You review work. Judge what is shown, and nothing else. You give one score."


@dataclass(frozen=True)
class Change:
    """What is done to a part.

    `find` gives way to `text`, or `text` stands before, behind, or instead of the part.
    """

    text: str
    find: str | None = None
    before: bool = False
    behind: bool = False

    def of(self, part: str, *, where: str) -> str:
        """Return the part changed; DataError where what it looks for is not there exactly once."""
        if self.find is not None:
            return replace_once(part, self.find, self.text, where=where)
        if self.before:
            return self.text + part
        return part + self.text if self.behind else self.text


@dataclass(frozen=True)
class Rewrite:
    """An edit of one part: each item's own change, or the one for all. An edit as `Probe` takes it."""

    part: str
    own: Mapping[str, Change]
    common: Change | None
    where: str

    def __call__(self, item: Item) -> Item:
        """Return the item with the part changed.

        DataError where it has no such part or there is no change for it.
        """
        change = self.own.get(item.id, self.common)
        if change is None:
            raise DataError(
                f"{self.where}: item '{item.id}' brings no change of '{self.part}', "
                "and the file has none for all",
                hint="give [edit] and [control.edit] for the file, or `edit` and `control` for the item",
            )
        text = change.of(item[self.part], where=f"{self.where}: item '{item.id}', part '{self.part}'")
        return item.with_part(self.part, text)


def sniff(head: str) -> bool:
    """Whether a file that begins with this text is a rule file."""
    return 'schema = "voirdire.rule/' in head


def read_items(path: Path) -> list[Item]:
    """Return the items of a rule file."""
    return list(read_rule(path)[0])


def read_rule(path: Path) -> tuple[tuple[Item, ...], Probe]:
    """Read a rule file: its items, and the probe that it makes.

    Raises UsageError where there is no file; DataError naming the key that is wrong, the item whose text a
    change does not fit, or the parts in which two versions differ that should not.
    """
    found = _record(read_toml(path), str(path))
    if found.name in plugins.names("probes"):
        raise DataError(
            f"{path}: name: '{found.name}' is a probe already", hint="give your rule a name of its own"
        )
    items = _items(found, str(path))
    probe = _probe(found, str(path))
    for item in items:
        probe.contrast(item)
        probe.control_contrast(item)
    return items, probe


def _record(data: object, where: str) -> "record.RuleRecord":
    from pydantic import ValidationError

    from voirdire.importers import _rule_record
    from voirdire.importers._faults import explained

    try:
        return _rule_record.RuleRecord.model_validate(data)
    except ValidationError as error:
        raise explained(error, where=where, hint=HINT) from None


def _items(found: "record.RuleRecord", where: str) -> tuple[Item, ...]:
    twice = [name for name, count in Counter(item.id for item in found.item).items() if count > 1]
    if twice:
        raise DataError(f"{where}: two items are called '{twice[0]}'", hint="give each item an id of its own")
    return tuple(Item(id=item.id, parts=dict(item.parts), origin=Origin(task=item.id)) for item in found.item)


def _probe(found: "record.RuleRecord", where: str) -> Probe:
    reads = tuple(found.reads) or (found.part,)
    return Probe(
        name=found.name,
        rule=found.rule.question,
        rule_negated=found.rule.negated,
        part=found.part,
        edit=_rewrite(found, where, control=False),
        expect=Expectation(found.expect),
        control=Control(
            part=found.control.part or found.part,
            edit=_rewrite(found, where, control=True),
            expect=Expectation(found.control.expect),
            line=_line(
                found, "control version", "a control must move at least as far as a leak would have to"
            ),
        ),
        reads=reads,
        line=_line(found, "changed version", found.line.reason),
        question=found.question.id,
        messages=_messages(found, reads),
        questions=(Score(found.question.id, found.question.text, found.question.low, found.question.high),),
        references=tuple(found.references),
        unit=Unit.REPEAT,
        repeats=found.repeats,
    )


def _rewrite(found: "record.RuleRecord", where: str, *, control: bool) -> Rewrite:
    own = {item.id: item.control if control else item.edit for item in found.item}
    common = found.control.edit if control else found.edit
    return Rewrite(
        part=(found.control.part or found.part) if control else found.part,
        own={name: _change(edit) for name, edit in own.items() if edit is not None},
        common=_change(common) if common is not None else None,
        where=where,
    )


def _change(edit: "record.EditRecord") -> Change:
    if edit.find is not None:
        return Change(edit.replace or "", find=edit.find)
    text = edit.before or edit.behind or edit.text or ""
    return Change(text, before=edit.before is not None, behind=edit.behind is not None)


def _line(found: "record.RuleRecord", version: str, reason: str) -> Line:
    return Line(
        quantity=f"P(superiority) of the {version}",
        null=0.5,
        leak=found.line.leak,
        margin=found.line.margin,
        reason=reason,
    )


def _messages(found: "record.RuleRecord", reads: tuple[str, ...]) -> tuple[Message, ...]:
    if found.prompt is not None:
        return (Message("system", found.prompt.system), Message("user", found.prompt.user))
    shown = "\n\n".join(f"{name.replace('_', ' ').capitalize()}:\n\n{{{{{name}}}}}" for name in reads)
    return (Message("system", SYSTEM), Message("user", shown))
