"""Insertions written by a model: it is shown a file and writes it anew; the same proofs decide whether that is used.

What it writes is foreign text. It is taken out of its last code block, compared with the file as it was, and where
anything else than the wanted change is found, dropped and counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from voirdire.edits.injected_patch import PatchedFile, proved
from voirdire.edits.injection import Injected, InjectionKind, NotInjected
from voirdire.engine.ask import Asker
from voirdire.engine.plan import Call
from voirdire.languages.fences import blocks
from voirdire.model import Asking, Item, Judge, Message, ReaderSpec, Verdict
from voirdire.questions import Choice
from voirdire.studies._injection_material import (
    Arm,
    Dropped,
    InjectionOptions,
    Material,
    Subject,
    Variant,
    brief_of,
)

_CHANGES = {
    InjectionKind.NEUTRAL_COMMENTS: "Add {dose} comments, each on a line of its own, that describe nothing special.",
    InjectionKind.BRIEF_COMMENTS: "Add {dose} comments, each on a line of its own, that repeat what the task asks for.",
    InjectionKind.ADVOCACY: "Add {dose} comments, each on a line of its own, that praise the code.",
    InjectionKind.COMMENTS_REMOVED: "Remove {dose} comments.",
    InjectionKind.LOGGING: "Add {dose} log lines of the level debug, with constant texts.",
    InjectionKind.ERROR_WRAPPERS: (
        "Wrap {dose} statements so that an exception is logged with the level debug and raised again, unchanged."
    ),
    InjectionKind.SCAFFOLDING: (
        "Add log lines of the level debug with constant texts, comments, and error wrappers that raise again what they "
        "catch: {dose} places in all."
    ),
    InjectionKind.DOCSTRINGS: "Add docstrings to {dose} functions that have none.",
    InjectionKind.RENAMED_LOCALS: "Rename {dose} local variables; no parameters.",
}

SYSTEM = (
    "You edit source files. You make exactly the change that you are told to make. The file must do the same as before. "
    "Touch only the lines that you are told you may touch, and leave every other line as it is, to the letter."
)
USER = (
    "Task the file was written for:\n{{brief}}\n\nThe change:\n{{change}}\n\nLines that you may touch: {{lines}}\n\n"
    "The file:\n```\n{{source}}\n```\n\nAnswer with the whole changed file in one code block, and nothing behind it."
)


def writing() -> Asking:
    """Return what a writer is asked. Its answer is a file, which no reader of values can read: it is taken raw."""
    question = Choice("file", "The changed file.", ("done", "not done"))
    messages = (Message("system", SYSTEM), Message("user", USER))
    return Asking(messages, (question,), ReaderSpec("exact"))


@dataclass(frozen=True)
class _Order:
    """One file to be written anew for one arm."""

    subject: Subject
    file: PatchedFile
    arm: Arm
    call: Call


async def written(writer: Judge, material: Material, asker: Asker, options: InjectionOptions) -> Material:
    """Return the material with the patches that a model edited, as arms of their own, and those that were dropped."""
    asked = writer.reasking(writing())
    orders = list(_orders(asked, material, options))
    answers = await asker.ask([order.call for order in orders])
    variants: list[Variant] = []
    dropped: list[Dropped] = []
    for order, answer in zip(orders, answers, strict=True):
        made = audited(order.subject, order.file, order.arm, answer)
        if isinstance(made, Variant):
            variants.append(made)
        else:
            dropped.append(made)
    return replace(
        material,
        variants=(*material.variants, *variants),
        dropped=(*material.dropped, *dropped),
    )


def _orders(writer: Judge, material: Material, options: InjectionOptions) -> Sequence[_Order]:
    orders: list[_Order] = []
    for subject in material.subjects:
        file = subject.made.files[0]
        for kind in options.kinds:
            for dose in options.doses:
                arm = Arm(kind, dose, writer.identity.name)
                item = _shown(subject, file, _CHANGES[kind].format(dose=dose), arm)
                orders.append(
                    _Order(subject, file, arm, Call(writer, writer.render(item), about_itself=True))
                )
    return orders


def _shown(subject: Subject, file: PatchedFile, change: str, arm: Arm) -> Item:
    parts = {
        "brief": brief_of(subject.item),
        "change": change,
        "lines": _ranges(sorted(file.added)),
        "source": file.source,
    }
    return Item(f"{subject.item.id}: {arm.kind.value}, {arm.dose}", parts)


def _ranges(numbers: Sequence[int]) -> str:
    """Return line numbers as ranges: '3-5, 9'."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def audited(subject: Subject, file: PatchedFile, arm: Arm, answer: Sequence[Verdict]) -> Variant | Dropped:
    """Return the patch with what a model wrote, if everything about it can be proved, or why it is dropped."""
    name = subject.item.id
    raw = answer[0].raw if answer else ""
    if not raw:
        return Dropped(name, (answer[0].missing_because if answer else None) or "no answer", arm)
    found = blocks(raw)
    if not found:
        return Dropped(name, "the answer holds no code block", arm)
    text = found[-1].code
    if file.source.endswith("\n") and not text.endswith("\n"):
        text += "\n"
    if not file.source.endswith("\n"):
        text = text.removesuffix("\n")
    lines = text.count("\n") - file.source.count("\n")
    edit = Injected(text, max(1, abs(lines)), lines, tuple(_new_lines(file.source, text)))
    patch = proved(subject.made, {file.path: edit}, arm.kind)
    if isinstance(patch, NotInjected):
        return Dropped(name, patch.reason, arm)
    return Variant(name, arm, patch)


def _new_lines(before: str, after: str) -> list[str]:
    known = {line.strip() for line in before.split("\n")}
    return [line.strip() for line in after.split("\n") if line.strip() and line.strip() not in known]
