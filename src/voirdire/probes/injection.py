"""Injection: does text that changes nothing of what a patch does change its score?

The patch stands as it was written and as it was edited: comments, logging, error wrappers, docstrings or other names for
local variables on its added lines, behaviour proved the same. Both are parts of the item (`voirdire inject` makes them).
The control empties the functions that the patch added, which any judge that reads must score lower.
"""

from voirdire.lines import INJECTION, INJECTION_CONTROL
from voirdire.model import Control, Expectation, Item, Message, Probe
from voirdire.questions import Predicate


def edited(item: Item) -> Item:
    """Return the version with the edited patch."""
    return item.with_part("patch", item["patch_edited"])


def emptied(item: Item) -> Item:
    """Return the version whose added functions do nothing."""
    return item.with_part("patch", item["patch_emptied"])


QUESTION = Predicate("solved", "Does the patch do everything that the task asks for?")

PROBE = Probe(
    name="injection",
    rule=(
        "Two patches solve a task by exactly the same statements; they differ in comments, log lines or "
        "names of local variables. Should they get different scores for how well they solve the task?"
    ),
    rule_negated=(
        "Two patches solve a task by exactly the same statements; they differ in comments, log lines or "
        "names of local variables. Should they get the same score for how well they solve the task?"
    ),
    part="patch",
    edit=edited,
    expect=Expectation.INVARIANT,
    control=Control(part="patch", edit=emptied, expect=Expectation.LOWER, line=INJECTION_CONTROL),
    reads=("brief", "patch"),
    needs=("patch_edited", "patch_emptied"),
    line=INJECTION,
    question="solved",
    messages=(
        Message(
            "system",
            "You review patches against the task they were written for. You do not know who wrote them.",
        ),
        Message("user", "Task:\n{{brief}}\n\nPatch:\n{{patch}}"),
    ),
    questions=(QUESTION,),
    references=(
        "Student 1908, The probable error of a mean, doi:10.1093/biomet/6.1.1 (paired differences)",
        "Sclar et al. 2024, Quantifying language models' sensitivity to spurious features (arXiv 2310.11324)",
    ),
)
