"""Writes the section "What hosted judges did" of `docs/findings.md` from the verdicts that ship with the package.

python tools/hosted_judges.py            prints the section
python tools/hosted_judges.py --write    puts it between the markers of docs/findings.md
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from voirdire.audits import outcome_ratings, position
from voirdire.audits.position import Tally
from voirdire.engine.conclude import conclude
from voirdire.model import Finding, FindingKind, Measurement, Ruling
from voirdire.studies import _material

PAGE = Path(__file__).resolve().parents[1] / "docs" / "findings.md"

BEGIN = "<!-- hosted judges: written by tools/hosted_judges.py -->"
END = "<!-- hosted judges: end -->"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    if not parser.parse_args().write:
        print(section())
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{section()}{END}{after}", encoding="utf-8")


def section() -> str:
    return f"\n{about_slots()}\n{about_outcomes()}\n"


def ruled(families: dict[str, list[Measurement]]) -> list[Finding]:
    return [
        finding
        for judge, family in families.items()
        for finding in conclude(family, judge=judge, family=judge, kind=FindingKind.AUDIT)
    ]


# --- slots ------------------------------------------------------------------------------------------


def about_slots() -> str:
    table = _material.llmbar_verdicts()
    tallies = {tally.judge: tally for tally in position.tallies(table)}
    findings = ruled(position.families(table))
    rulings = {finding.subject: finding.ruling for finding in findings}
    counted = Counter(rulings.values())
    first, last = findings[0].subject, findings[-1].subject
    widest = max(tallies.values(), key=lambda tally: readable(tally) - published(tally))
    natural = {
        tally.judge: position.as_published(tally)
        for tally in position.tallies(table, by_subset=True)
        if tally.subset == "LLMBar/Natural"
    }
    falcon = natural["Falcon CoT"]
    assert falcon is not None
    return f"""### Slots: LLMBar judgments

{len(tallies)} judges (a model with a prompt) gave {table.frame.height:,} verdicts on LLMBar pairs in both orders. All {len(position.tallies(table, by_subset=True))} published rows of accuracy and
positional agreement come out equal (`pytest tests/golden/test_llmbar.py`). The first-slot advantage is the win share of a response shown first
less its win share shown second; {len(findings)} judges saw both responses together and can have one. Corrected over all of them (Holm),
{counted[Ruling.LEAKS]} leak at the line of 0.10, {counted[Ruling.HOLDS]} hold within it, {counted[Ruling.UNRESOLVED]} are unresolved, {counted[Ruling.BLIND]} are blind.

{models_table(tallies, rulings)}

- The strongest preference for the first slot: {first}, {with_interval(tallies[first])}; for the second: {last}, {with_interval(tallies[last])}.
- {held_is_not_consistent(tallies, rulings)}
- Accuracy hides it: {percent(falcon.correct_average)} of {"Falcon CoT"}'s Natural verdicts are right while it names the same winner in both orders for {percent(falcon.equal)}.
- Judging both orders and letting the judge settle what contradicts (Swap) is no cure: {swapped(tallies, rulings)}.
{swap_table(tallies, rulings)}
- A missing answer is not a wrong one: {widest.judge} is right in {percent(100 * published(widest))} with missing winners counted as wrong, as published, and in
  {percent(100 * readable(widest))} of the pairs of which both orders could be read.
- The seven rating methods show one response at a time and have no slot; equal ratings ({percent(100 * ties(tallies.values()))} of their pairs) were given to the second by the record's rule.
"""


def held_is_not_consistent(tallies: dict[str, Tally], rulings: dict[str, Ruling | None]) -> str:
    """Return how often the prompts of the model that always holds name the same winner in both orders."""
    models = sorted({tallies[judge].model for judge in rulings})
    (model,) = (
        one
        for one in models
        if all(r is Ruling.HOLDS for judge, r in rulings.items() if tallies[judge].model == one)
    )
    same = {
        judge.removeprefix(model).strip(): 100 * (position.agreement(tallies[judge]).value or 0.0)
        for judge in rulings
        if tallies[judge].model == model
    }
    least, most = min(same, key=lambda prompt: same[prompt]), max(same, key=lambda prompt: same[prompt])
    return (
        f"To hold is not to be consistent: the {len(same)} prompts of {model} all hold, since neither slot gains much from the "
        f"other, yet they name the\n  same winner in both orders for {percent(same[least])} ({least}) to {percent(same[most])} "
        f"({most}) of their pairs; with the plain prompt (Vanilla) for {percent(same['Vanilla'])}."
    )


def models_table(tallies: dict[str, Tally], rulings: dict[str, Ruling | None]) -> str:
    header = "| model | prompts | lowest advantage | highest advantage | leak | hold | unresolved |\n| --- | --- | --- | --- | --- | --- | --- |"
    models = sorted({tallies[judge].model for judge in rulings})
    return "\n".join([header, *(model_row(model, tallies, rulings) for model in models)])


def model_row(model: str, tallies: dict[str, Tally], rulings: dict[str, Ruling | None]) -> str:
    judges = sorted(
        (judge for judge in rulings if tallies[judge].model == model),
        key=lambda judge: advantage(tallies[judge]),
    )
    counted = Counter(rulings[judge] for judge in judges)
    ends = [
        f"{advantage(tallies[judge]):+.2f} ({judge.removeprefix(model).strip()})"
        for judge in (judges[0], judges[-1])
    ]
    counts = [counted[ruling] for ruling in (Ruling.LEAKS, Ruling.HOLDS, Ruling.UNRESOLVED)]
    return cells(model, len(judges), *ends, *counts)


def swapped(tallies: dict[str, Tally], rulings: dict[str, Ruling | None]) -> str:
    leaking = [model for model in swap_models(tallies) if rulings[f"{model} CoT"] is Ruling.LEAKS]
    still = [model for model in leaking if rulings[f"{model} Swap"] is Ruling.LEAKS]
    turned = [model for model in still if advantage(tallies[f"{model} Swap"]) < 0]
    return (
        f"of {len(leaking)} models that leak with the prompt it builds on (CoT), {len(still)} still leak, "
        f"{', '.join(turned)} towards the other slot"
    )


def swap_models(tallies: dict[str, Tally]) -> list[str]:
    return sorted({tally.model for tally in tallies.values() if f"{tally.model} Swap" in tallies})


def swap_table(tallies: dict[str, Tally], rulings: dict[str, Ruling | None]) -> str:
    rows = [
        cells(
            model,
            *(
                f"{with_interval(tallies[judge])}, {rulings[judge]}"
                for judge in (f"{model} CoT", f"{model} Swap")
            ),
        )
        for model in swap_models(tallies)
    ]
    return "\n" + "\n".join(["| model | CoT | Swap |", "| --- | --- | --- |", *rows]) + "\n"


def advantage(tally: Tally) -> float:
    return tally.slot_preference.value or 0.0


def published(tally: Tally) -> float:
    found = position.as_published(tally)
    return found.correct_average / 100 if found else 0.0


def readable(tally: Tally) -> float:
    return position.accuracy(tally).value or 0.0


def ties(tallies: Iterable[Tally]) -> float:
    pairs = [pair for tally in tallies if not tally.slots for pair in tally.pairs]
    return sum(pair.ab != pair.ba for pair in pairs) / len(pairs)


def with_interval(tally: Tally) -> str:
    slot = tally.slot_preference
    return f"{slot.value:+.2f} [{slot.low:+.2f}, {slot.high:+.2f}]"


# --- outcomes ---------------------------------------------------------------------------------------


def about_outcomes() -> str:
    table = _material.outcome_ratings()
    findings = ruled(outcome_ratings.families(table))
    counted = Counter(finding.ruling for finding in findings)
    compared = outcome_ratings.comparisons(table)
    negligent = [finding for finding in findings if finding.subject.endswith(", Negligent")]
    leaking = [finding for finding in negligent if finding.ruling is Ruling.LEAKS]
    shares = [
        f"{one.judge} {outcome_ratings.pooled_superiority(one).value:.3f}"
        for one in compared
        if (one.study, one.question) == ("study 1", "Negligent")
    ]
    return f"""### Outcomes: ratings of the same act after no harm and after harm

{len({one.judge for one in compared})} judges rated ten scenarios that exist with both endings, three completions each; in study 5 an expert first said how likely harm was. The table
shows P(superiority) of harm, the mean over scenarios with its 95 % interval over scenarios, and the ruling, corrected over the eight
comparisons of each judge. {counted[Ruling.LEAKS]} of {len(findings)} leak, {counted[Ruling.UNRESOLVED]} is unresolved;
of the {len(negligent)} on Negligent alone, {len(leaking)} leak. Over all pairs of completions, as the source counts, harm is rated more
negligent in a share of {", ".join(shares)} (study 1); Cohen's d equals the published table (`pytest tests/golden/test_outcome_bias.py`).

{outcomes_table(findings)}

The record has no control (the same ending after another act), so that no comparison could have been ruled to hold. Blame and Punish may by some norms
depend on the harm; Reckless and Negligent rate the act, which was the same. Where an expert stated the odds beforehand the lowest P is
{lowest(findings, "study 5")}: the shift is gone in no comparison. An interval of [0.74, 1.00] around 1.00 means that every scenario showed 1.00; it
allows for scenarios that were not drawn.
"""


def lowest(findings: Sequence[Finding], study: str) -> str:
    values = {
        finding.subject: finding.estimate.value
        for finding in findings
        if study in finding.subject and finding.estimate and finding.estimate.value is not None
    }
    subject = min(values, key=lambda name: values[name])
    return f"{values[subject]:.2f} ({subject})"


def outcomes_table(findings: Sequence[Finding]) -> str:
    scales = outcome_ratings.SCALES
    found = {finding.subject: finding for finding in findings}
    settings = dict.fromkeys(subject.rpartition(", ")[0] for subject in found)
    rows = [
        cells(setting, *(outcome_cell(found[f"{setting}, {scale}"]) for scale in scales))
        for setting in settings
    ]
    return "\n".join([cells("judge, setting", *scales), cells(*["---"] * (len(scales) + 1)), *rows])


def outcome_cell(finding: Finding) -> str:
    estimate = finding.estimate
    assert estimate is not None
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}] {finding.ruling}"


def cells(*values: object) -> str:
    return f"| {' | '.join(map(str, values))} |"


def percent(value: float) -> str:
    return f"{value:.1f} %"


if __name__ == "__main__":
    main()
