"""The cases that ship.

What each holds, and that a planted log differs from its original in the declared spans alone.
"""

import difflib
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from voirdire.edits.run_log import Actor
from voirdire.importers._case_logs import Native
from voirdire.importers._files import unpacked
from voirdire.importers._planting import Deed, NativeSpan, Version, strings
from voirdire.importers._session import lines_of
from voirdire.importers.cases import Case, Kind, read_case, shipped_cases, short_cases
from voirdire.importers.claude_code import session_of
from voirdire.lines import CASES_FOR_GENERAL
from voirdire.model import Contrast

SHARED = Path(__file__).parents[3] / "shared"
LOGS = SHARED / "data/agent-logs/claude-code"
WRITTEN = shipped_cases(Kind.WRITTEN)
RECORDED = shipped_cases(Kind.RECORDED)


@cache
def case(name: str) -> Case:
    return read_case(name)


def native(name: str) -> Native:
    found = case(name).native
    assert found is not None
    return found


def test_twelve_short_cases_and_two_recorded_ones_ship() -> None:
    assert set(WRITTEN) == {
        *("coding", "operations", "support", "deployment", "deletion", "payment", "access", "scheduling"),
        *("contract", "forecast", "laboratory", "export"),
    }
    assert len(WRITTEN) == 12
    assert len(WRITTEN) >= CASES_FOR_GENERAL
    assert RECORDED == ("recorded-long", "recorded-short")
    assert shipped_cases() == WRITTEN + RECORDED
    assert short_cases() == WRITTEN


@pytest.mark.parametrize("name", shipped_cases())
def test_an_item_has_all_parts_and_its_versions_differ_in_one_part(name: str) -> None:
    item = case(name).item()
    assert item.id == name
    for variant in ("outcome_harm", "outcome_unrelated"):
        Contrast(base=item, variant=item.with_part("outcome", item[variant]), part="outcome")
    Contrast(base=item, variant=item.with_part("log", item["log_done"]), part="log")
    assert item.origin is not None
    assert item.origin.task == name


@pytest.mark.parametrize("name", shipped_cases())
def test_the_notes_differ_in_one_place_and_come_a_day_later(name: str) -> None:
    comparison = case(name).comparisons()[0]
    assert (comparison.part, len(comparison.changes)) == ("outcome", 1)
    for note in (case(name).no_harm, case(name).harm, case(name).unrelated):
        assert "24 h" in note


@pytest.mark.parametrize("name", WRITTEN)
def test_the_control_differs_in_the_decision_and_the_report_alone(name: str) -> None:
    logs = case(name).logs
    for version, log in logs.items():
        named = [step.name for step in log.steps]
        assert named[case(name).decisions[version][0]] == "decision"
        assert named[-1] == "report"
    same = [[step for step in log.steps if not step.name] for log in logs.values()]
    assert same[0] == same[1]
    assert len(case(name).comparisons()[1].changes) == 2


@pytest.mark.parametrize("name", shipped_cases())
def test_step_reason_and_no_hurry_are_said_before_the_decision_and_the_report_admits_it(name: str) -> None:
    found = case(name)
    steps = found.logs[Version.SKIPPED].steps
    said = "\n".join(
        one.text for step in steps[: found.decisions[Version.SKIPPED][0]] for one in step.passages
    )
    for words in (found.step.required, found.step.why, found.step.no_hurry):
        assert words in said
    assert steps[-1].source is Actor.AGENT
    assert re.search(r"\b(not|n't|[Nn]o|without|left out)\b", steps[-1].passages[-1].text)


@pytest.mark.parametrize("name", shipped_cases())
def test_every_case_names_traces_that_only_the_log_of_the_step_taken_holds(name: str) -> None:
    item = case(name).item()
    assert case(name).step.traces
    assert not [trace for trace in case(name).step.traces if trace in item["log"]]


def rough_tokens(text: str) -> int:
    """Words, numbers by digit and signs: within a tenth or so of what a small model's tokenizer counts."""
    return len(re.findall(r"[A-Za-z]+|\d|[^\w\s]", text))


@pytest.mark.parametrize("name", WRITTEN)
def test_written_logs_are_short_enough_for_a_small_model(name: str) -> None:
    item = case(name).item()
    for part in ("log", "log_done"):
        assert 180 <= rough_tokens(item[part]) <= 450


def test_no_sentence_is_shared_by_two_written_cases() -> None:
    seen: dict[str, str] = {}
    for name in WRITTEN:
        item = case(name).item()
        for sentence in set(re.split(r"(?<=[.!?])\s+|\n", " ".join((item["log"], item["outcome"])))):
            if len(sentence.split()) >= 4:
                assert seen.setdefault(sentence.strip(), name) == name


def test_source_and_licence_stand_beside_the_logs() -> None:
    folder = files("voirdire").joinpath("data", "cases")
    source = folder.joinpath("SOURCE.md").read_text(encoding="utf-8")
    assert "Permission is hereby granted" in folder.joinpath("LICENSE-spotter").read_text(encoding="utf-8")
    for entry in folder.iterdir():
        assert entry.name in source or entry.name.removesuffix(".toml") in source or entry.name == "SOURCE.md"


# --- planted logs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", list(Version))
@pytest.mark.parametrize("name", RECORDED)
def test_outside_the_declared_spans_the_native_file_is_byte_for_byte_the_original(
    name: str, version: Version
) -> None:
    found = native(name)
    spans = found.spans[version]
    before, after = found.original.split(b"\n"), found.versions[version].split(b"\n")
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    touched = {number for _, i1, i2, _, _ in changed for number in range(i1 + 1, i2 + 1)}
    assert touched == {span.line for span in spans if span.deed is not Deed.INSERTED}
    for _, i1, i2, j1, j2 in changed:
        kept = [number for number in range(i1 + 1, i2 + 1) if not _removed(spans, number)]
        inserted = [span for span in spans if span.deed is Deed.INSERTED and i1 <= span.line <= max(i2, i1)]
        assert j2 - j1 == len(kept) + len(inserted)
        for number, new in zip(kept, after[j1:j2], strict=False):
            _same_but_for(before[number - 1].decode(), new.decode(), [s for s in spans if s.line == number])


def _removed(spans: Sequence[NativeSpan], number: int) -> bool:
    return any(span.deed is Deed.REMOVED and span.line == number for span in spans)


def _same_but_for(old: str, new: str, spans: Sequence[NativeSpan]) -> None:
    """Walk both lines side by side: only the stretches of the spans may differ."""
    at_old = at_new = 0
    for span in sorted((span for span in spans if span.raw), key=lambda one: one.raw.start if one.raw else 0):
        assert span.raw is not None
        gap = span.raw.start - at_old
        assert old[at_old : span.raw.start] == new[at_new : at_new + gap]
        assert new[at_new + gap :].startswith(span.raw.raw)
        at_old, at_new = span.raw.end, at_new + gap + len(span.raw.raw)
    assert old[at_old:] == new[at_new:]


@pytest.mark.parametrize("version", list(Version))
@pytest.mark.parametrize("name", RECORDED)
def test_outside_the_declared_spans_the_text_is_the_original(name: str, version: Version) -> None:
    original = case(name).original
    assert original is not None
    declared = {span.uuid for span in native(name).spans[version]}
    logs = (original, case(name).logs[version])
    rest = [
        [(one.heading, one.text) for one in log.passages() if one.place and one.place.uuid not in declared]
        for log in logs
    ]
    assert rest[0] == rest[1]
    old, new = (log.text().split("\n") for log in logs)
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    assert 0 < sum(code[0] != "equal" for code in codes) <= len(native(name).spans[version])


@pytest.mark.parametrize("name", RECORDED)
def test_no_trace_of_the_step_is_left_anywhere_in_the_native_file(name: str) -> None:
    skipped = native(name).versions[Version.SKIPPED].decode()
    texts = [text for line in lines_of(skipped.encode()) for _, text in strings(line.data or {})]
    for trace in case(name).step.traces:
        assert not [text for text in texts if trace in text]
        assert json.dumps(trace)[1:-1] not in skipped
        assert json.dumps(trace)[1:-1] in native(name).original.decode()


def test_of_the_long_log_no_syntax_check_is_left_but_in_what_was_planted() -> None:
    found = native("recorded-long")
    for line in lines_of(found.versions[Version.SKIPPED]):
        for _, text in strings(line.data or {}):
            for word in ("bash -n", "shellcheck"):
                assert word not in text or re.search(
                    r"no hurry|I leave that check out|without the `bash -n`", text
                )
            assert not re.search(r"(?i)\bsyntax check", text)


@pytest.mark.parametrize("version", list(Version))
@pytest.mark.parametrize("name", RECORDED)
def test_a_planted_file_is_still_a_whole_session(name: str, version: Version) -> None:
    original = session_of(native(name).original, where="original")
    planted = session_of(native(name).versions[version], where="planted")
    assert planted.log.text() == case(name).logs[version].text()
    assert planted.intake.orphans == planted.intake.abandoned == planted.intake.results_without_call == 0
    assert planted.intake.calls_without_result == original.intake.calls_without_result
    assert planted.intake.broken == ()


def test_the_control_of_a_recorded_case_shows_the_step_and_its_output() -> None:
    done = case("recorded-long").item()["log_done"]
    assert "command: bash -n spotter-plugin/scripts/post-tool-capture.sh" in done
    assert "post-tool-capture.sh OK" in done
    assert "committed after the `bash -n` check" in done
    short = case("recorded-short").item()["log_done"]
    assert "REFUSED JOIN" in short
    assert "I read its startup output" in short


def test_the_short_recorded_log_is_short_and_the_long_one_fits_through_its_window() -> None:
    assert rough_tokens(case("recorded-short").item()["log_done"]) < 600
    long = case("recorded-long")
    assert len(long.item()["log"]) > 400_000
    for part in ("log", "log_done"):
        assert rough_tokens(long.windowed()[part]) < 6000
    seen = long.seen(Version.SKIPPED)
    assert len(long.logs[Version.SKIPPED].steps) - seen.steps_not_shown < 20
    text = seen.log.text()
    assert re.search(r"\[… \d+ steps not shown …\]", text)
    for words in (long.step.required, "I leave that check out", "committed without the `bash -n` check"):
        assert words in text


@pytest.mark.skipif(not LOGS.exists(), reason="the sample collection is not here")
def test_the_shipped_logs_are_the_recorded_ones() -> None:
    long = unpacked((LOGS / "real_session_ae4a77f8.jsonl.gz").read_bytes(), where="long")
    assert native("recorded-long").original == long
    short = (LOGS / "real_tool_heavy.jsonl").read_bytes().split(b"\n")[:17]
    assert native("recorded-short").original == b"\n".join(short) + b"\n"
