"""What the page calls a judge: its name; where two share one, what each is asked, or its fingerprint.

A reader counts judges, not prompts: one model that is asked different questions is one judge with several prompts.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from voirdire.model import Examination, Identity, canonical_json
from voirdire.report.numerals import counted, listing
from voirdire.report.visible import one_line

SAMPLES_ALONE = "samples_sha256"
"""The field of what stands in the place of a judge in findings about samples, and is none."""

NAMED_LIMIT = 3
"""With more judges than this the head of the page counts them."""

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Examined:
    """One judge as a reader counts them: its name, the fingerprints of its prompts, whether it was only recorded."""

    name: str
    fingerprints: tuple[str, ...]
    recorded: bool = False

    @property
    def with_prompts(self) -> str:
        """The name, with the number of prompts where there are several."""
        return self.name if len(self.fingerprints) < 2 else f"{self.name} ({len(self.fingerprints)} prompts)"


def examined_judges(examination: Examination) -> list[Examined]:
    """Return the judges as a reader counts them, those that no identity is known of last.

    Two identities are one judge where name and backend are the same and they are asked different questions: the same
    question in two wordings is a comparison of two judges. Findings about several judges at once add none, nor do those
    about samples, whoever judged them.
    """
    known: list[list[Identity]] = []
    for identity in _distinct(examination):
        same = next((members for members in known if _one_judge(members, identity)), None)
        if same is None:
            known.append([identity])
        else:
            same.append(identity)
    names = judge_names(examination)
    grouped = {
        members[0].fingerprint: Examined(
            one_line(members[0].name, 60) if len(members) > 1 else names[members[0].fingerprint],
            tuple(identity.fingerprint for identity in members),
            recorded=_backend(members[0]).get("backend") == "recorded",
        )
        for members in known
    }
    apart = _where_alone(
        {key: one.name for key, one in grouped.items()},
        {key: f"{one.name} {key[:8]}" for key, one in grouped.items()},
    )
    unknown = dict.fromkeys(finding.judge for finding in examination.findings)
    return [
        *(replace(one, name=apart[key]) for key, one in grouped.items()),
        *(Examined(called(judge, names), (judge,)) for judge in unknown if judge and judge not in names),
    ]


def judges_in_words(examination: Examination) -> str:
    """Return who was examined, for the head of the page: by name where they are few, else how many."""
    judges = examined_judges(examination)
    if not judges:
        return listing(list(judge_names(examination).values()))
    if len(judges) <= NAMED_LIMIT:
        return listing([judge.with_prompts for judge in judges])
    asked = [judge for judge in judges if not judge.recorded]
    recorded = len(judges) - len(asked)
    said = listing([judge.with_prompts for judge in asked])
    return listing(
        [
            *([said if len(asked) <= NAMED_LIMIT else counted(len(asked), "judge")] if asked else []),
            *([counted(recorded, "recorded judge")] if recorded else []),
        ]
    )


def judge_names(examination: Examination) -> Mapping[str, str]:
    """Return what to call each judge, by its fingerprint; no two judges are called the same."""
    short = {judge.fingerprint: one_line(judge.name, 60) for judge in examination.judges}
    asked = {judge.fingerprint: _with_questions(judge) for judge in examination.judges}
    names = _where_alone(short, asked)
    marked = {fingerprint: f"{name} {fingerprint[:8]}" for fingerprint, name in names.items()}
    return _where_alone(names, marked)


def called(judge: str, names: Mapping[str, str]) -> str:
    """Return the name for what a finding says of its judge: a known fingerprint, an unknown one, or any text."""
    if not judge:
        return "several judges"
    if judge in names:
        return names[judge]
    return judge[:12] if _FINGERPRINT.fullmatch(judge) else one_line(judge, 80)


def _distinct(examination: Examination) -> list[Identity]:
    judges = {identity.fingerprint: identity for identity in examination.judges}
    return [identity for identity in judges.values() if SAMPLES_ALONE not in identity.fields]


def _one_judge(members: list[Identity], identity: Identity) -> bool:
    same = members[0].name == identity.name and _backend(members[0]) == _backend(identity) != {}
    return same and _asked(identity) not in map(_asked, members)


def _backend(identity: Identity) -> Mapping[str, object]:
    backend = identity.fields.get("backend")
    return backend if isinstance(backend, Mapping) else {}


def _asked(identity: Identity) -> str:
    return canonical_json(identity.fields.get("questions"))


def _where_alone(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    times = Counter(first.values())
    return {key: name if times[name] == 1 else second[key] for key, name in first.items()}


def _with_questions(judge: Identity) -> str:
    questions = judge.fields.get("questions")
    listed = questions if isinstance(questions, list | tuple) else ()
    ids = [str(question["id"]) for question in listed if isinstance(question, Mapping) and "id" in question]
    return one_line(f"{judge.name} ({', '.join(ids)})" if ids else judge.name, 80)
