"""The demonstration's recorded judges: each of its own name and ruling, and what the first screen says of them."""

import pytest

from voirdire.blocks import TableBlock
from voirdire.model import Account, Examination, Identity, Ruling
from voirdire.report.answers import Standing, replies, standings
from voirdire.report.names import examined_judges
from voirdire.studies._recorded import Recorded, recorded_findings


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return recorded_findings()


def _examined(recorded: Recorded) -> Examination:
    return Examination("t", recorded.judges, recorded.findings, Account())


def test_every_recorded_judge_is_a_judge_of_its_own(recorded: Recorded) -> None:
    names = [one.name for one in examined_judges(_examined(recorded))]
    assert sorted(names) == [
        *("ChatGPT Vanilla", "ChatGPT-0301 Vanilla", "Falcon Vanilla", "GPT-4 Vanilla", "LLaMA2 Vanilla"),
        *("PaLM2 Vanilla", "deepseekr1", "gpt4o", "o1mini"),
    ]
    assert len({identity.fingerprint for identity in recorded.judges}) == 9
    vanilla = next(one for one in recorded.judges if one.name == "GPT-4 Vanilla")
    assert vanilla.fields["prompt"] == "Vanilla"


def test_finding_is_about_the_judge_that_it_names(recorded: Recorded) -> None:
    names = {identity.fingerprint: identity.name for identity in recorded.judges}
    own = [finding for finding in recorded.findings if finding.judge]
    assert len(own) == len(recorded.judges)
    for finding in own:
        assert names[finding.judge] in finding.sentence
        assert finding.judge[:12] in finding.id
    rulings = {names[finding.judge]: finding.ruling for finding in own}
    assert [name for name, ruling in rulings.items() if ruling is Ruling.HOLDS] == ["GPT-4 Vanilla"]
    assert {ruling for name, ruling in rulings.items() if name != "GPT-4 Vanilla"} == {Ruling.LEAKS}


def test_correction_counts_what_is_not_shown_one_by_one(recorded: Recorded) -> None:
    assert {(f.name, f.family_size) for f in recorded.findings if f.judge} == {
        ("position", 58),
        ("outcome_ratings", 8),
    }
    tables = [
        block
        for finding in recorded.findings
        if not finding.judge
        for block in finding.blocks
        if isinstance(block, TableBlock) and block.title == "Rulings on the recorded judges"
    ]
    assert [len(table.rows) for table in tables] == [58, 24]


def test_first_screen_names_who_holds_and_who_does_not(recorded: Recorded) -> None:
    score, ranking, reward, *_ = replies(_examined(recorded))
    assert (score.standing, score.sentence) == (
        Standing.NO,
        "gpt4o, deepseekr1 and o1mini leak on outcome ratings.",
    )
    assert ranking.standing is reward.standing is Standing.SOME
    assert ranking.sentence.startswith("GPT-4 Vanilla holds on position; ")
    assert "Falcon Vanilla" in ranking.sentence.partition(";")[2]
    assert len(standings(_examined(recorded))) == 9


def test_several_judges_together_are_no_judge_more(recorded: Recorded) -> None:
    specimen = Identity("local:x", {"backend": {"backend": "local", "model": "x"}})
    added = Examination("t", [specimen, *recorded.judges], recorded.findings, Account())
    assert len(examined_judges(added)) == 10
    assert "" not in [name for one in standings(added) for name in one[0].fingerprints]
