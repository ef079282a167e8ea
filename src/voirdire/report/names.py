"""What the page calls a judge: its name; where two share one, what each is asked, or its fingerprint."""

import re
from collections import Counter
from collections.abc import Mapping

from voirdire.model import Examination, Identity
from voirdire.report.visible import one_line

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


def judge_names(examination: Examination) -> Mapping[str, str]:
    """Return what to call each judge, by its fingerprint; no two judges are called the same."""
    short = {judge.fingerprint: one_line(judge.name, 60) for judge in examination.judges}
    asked = {judge.fingerprint: _with_questions(judge) for judge in examination.judges}
    names = _where_alone(short, asked)
    marked = {fingerprint: f"{name} {fingerprint[:8]}" for fingerprint, name in names.items()}
    return _where_alone(names, marked)


def called(judge: str, names: Mapping[str, str]) -> str:
    """Return the name for what a finding says of its judge: a known fingerprint, an unknown one, or any text."""
    if judge in names:
        return names[judge]
    return judge[:12] if _FINGERPRINT.fullmatch(judge) else one_line(judge, 80)


def _where_alone(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    times = Counter(first.values())
    return {key: name if times[name] == 1 else second[key] for key, name in first.items()}


def _with_questions(judge: Identity) -> str:
    questions = judge.fields.get("questions")
    listed = questions if isinstance(questions, list | tuple) else ()
    ids = [str(question["id"]) for question in listed if isinstance(question, Mapping) and "id" in question]
    return one_line(f"{judge.name} ({', '.join(ids)})" if ids else judge.name, 80)
