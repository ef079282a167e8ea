"""The replay study: judge-scored samples read again, by parser, gate and execution, and damaged to see who notices.

Samples of two or more checkpoints, in one pass or several; verdicts that were recorded, or judges to be asked; results of
running the tests. One page: what parses, who approves of what cannot run, and how far Pass@k by a judge is from Pass@k.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from voirdire.audits import replay, replay_dose
from voirdire.audits._replay_counts import Replay, replay_of
from voirdire.audits._replay_parsing import SAMPLES
from voirdire.edits.corruptions import Corruption
from voirdire.engine.ask import Asker
from voirdire.engine.plan import Call
from voirdire.errors import UsageError
from voirdire.languages.parsing import Parsers
from voirdire.model import CodeSample, CodeTask, Examination, Finding, Identity, Judge
from voirdire.studies._replay_dose import MUST_MOVE, SHARES, Answers, Dose, dose_table, prepare_dose
from voirdire.studies._replay_judge import NO_GOLD, accepted, check_judge, items_for, shows_gold
from voirdire.studies._replay_table import Key, SampleSet, Table, Truth, sample_table, truth_of, with_verdicts

if TYPE_CHECKING:
    import polars as pl

BRACKET_ALONE = (Corruption.EXTRA_BRACKET,)
NO_TASK = "there is no task of that id"

Text = tuple[str, str]
"""A task's id and a candidate's code."""


@dataclass(frozen=True)
class ReplayOptions:
    """What is done beside reading. `doses`: shares of damaged samples, none: no damage. `dosed`: the checkpoint that is
    damaged, in its first pass; None: the first one. `edits`: what is done to it.
    """

    doses: tuple[float, ...] = SHARES
    dosed: str | None = None
    edits: tuple[Corruption, ...] = (Corruption.EXTRA_BRACKET, *MUST_MOVE)
    seed: int = 0


@dataclass(frozen=True)
class Material:
    """What a replay is made of. `truth`: by sample, what came of running it; a sample that is not in it keeps what its
    file said. `recorded`: verdicts with columns author, pass, task, sample, judge, value, missing_because.
    """

    tasks: Mapping[str, CodeTask]
    sets: Sequence[SampleSet]
    truth: Mapping[Key, Truth] = field(default_factory=dict)
    recorded: Sequence["pl.DataFrame"] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A material parsed and, where it is to be, damaged; nobody was asked yet."""

    material: Material
    table: Table
    dose: Dose | None

    def texts(self) -> list[Text]:
        """Return every distinct (task, text) of the samples, in order."""
        return list(
            dict.fromkeys((one.task, one.code) for part in self.material.sets for one in part.samples)
        )


@dataclass(frozen=True)
class Replayed:
    """What a replay gave: the page's content, the counted table, and the damaged samples with their verdicts."""

    examination: Examination
    counted: Replay
    frame: "pl.DataFrame"
    dosed: "pl.DataFrame | None"


def sliced(
    tasks: Mapping[str, CodeTask],
    sets: Sequence[SampleSet],
    *,
    problems: int | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> tuple[dict[str, CodeTask], list[SampleSet]]:
    """Return `problems` of the tasks, drawn by the seed, and the first `limit` samples of each (None: all).

    Tasks without any sample are left out before the draw.
    """
    used = {sample.task for one in sets for sample in one.samples}
    names = [name for name in tasks if name in used]
    drawn = random.Random(seed).sample(names, min(problems, len(names))) if problems else names
    kept = {name: tasks[name] for name in names if name in set(drawn)} if problems else dict(tasks)
    return kept, [_first_samples(one, kept if problems else None, limit) for one in sets]


def _first_samples(one: SampleSet, tasks: Mapping[str, CodeTask] | None, limit: int | None) -> SampleSet:
    taken: dict[str, int] = {}
    samples = []
    for sample in one.samples:
        if tasks is not None and sample.task not in tasks:
            continue
        taken[sample.task] = taken.get(sample.task, 0) + 1
        if limit is None or taken[sample.task] <= limit:
            samples.append(sample)
    return replace(one, samples=tuple(samples))


def prepare(material: Material, options: ReplayOptions, *, parsers: Parsers) -> Prepared:
    """Parse everything and damage what is to be damaged. Asks nobody.

    Raises UsageError where there are no samples, or the checkpoint to damage is not among them.
    """
    if not any(one.samples for one in material.sets):
        raise UsageError(
            "there are no samples to replay",
            hint="name a samples file as CHECKPOINT=FILE, and the file with the tasks that its ids name",
        )
    table = sample_table(
        material.sets,
        material.tasks,
        parsers=parsers,
        truth=lambda key, sample: _truth(material, key, sample),
        seed=options.seed,
    )
    dose = _dose(material, options, parsers) if options.doses and options.edits else None
    return Prepared(material, table, dose)


def _truth(material: Material, key: Key, sample: CodeSample) -> Truth:
    found = material.truth.get(key)
    return found if found is not None else truth_of(sample.truth)


def _dose(material: Material, options: ReplayOptions, parsers: Parsers) -> Dose:
    authors = [one.author for one in material.sets]
    wanted = options.dosed or authors[0]
    if wanted not in authors:
        raise UsageError(
            f"there is no checkpoint '{wanted}' to damage",
            hint=f"choose one of: {', '.join(dict.fromkeys(authors))}",
        )
    chosen = next(one for one in material.sets if one.author == wanted and one.samples)
    return prepare_dose(
        chosen, material.tasks, parsers=parsers, shares=options.doses, edits=options.edits, seed=options.seed
    )


def plan_replay(judges: Sequence[Judge], prepared: Prepared) -> list[Call]:
    """Return every call that the study will make. Raises UsageError for a judge that does not answer 1 or 0."""
    for judge in judges:
        check_judge(judge)
    texts = _all_texts(prepared)
    return [call for judge in judges for call in _calls(judge, prepared, texts).values()]


def _all_texts(prepared: Prepared) -> list[Text]:
    damaged = prepared.dose.texts() if prepared.dose else []
    return list(dict.fromkeys([*prepared.texts(), *damaged]))


def _calls(judge: Judge, prepared: Prepared, texts: Sequence[Text]) -> dict[Text, Call]:
    """Return a call for each text that the judge can be asked about."""
    tasks = prepared.material.tasks
    able = [text for text in texts if _why_not(judge, tasks, text) is None]
    items = items_for(tasks, [(f"{task}#{place}", task, code) for place, (task, code) in enumerate(able)])
    return {text: Call(judge, judge.render(item)) for text, item in zip(able, items, strict=True)}


def _why_not(judge: Judge, tasks: Mapping[str, CodeTask], text: Text) -> str | None:
    task = tasks.get(text[0])
    if task is None:
        return NO_TASK
    return NO_GOLD if shows_gold(judge) and not task.reference else None


async def examine_replay(judges: Sequence[Judge], prepared: Prepared, asker: Asker) -> Replayed:
    """Ask each judge about every text, join what was recorded, and audit it all."""
    names = _names(judges)
    texts = _all_texts(prepared)
    answers = {name: await _ask(judge, prepared, texts, asker) for name, judge in names.items()}
    asked = [_verdicts(name, said, prepared) for name, said in answers.items()]
    table = with_verdicts(prepared.table, [*asked, *prepared.material.recorded])
    counted = replay_of(table)
    findings = replay.audit_counted(counted)
    dosed = None
    if prepared.dose is not None and answers:
        damaged = dose_table(prepared.dose, answers)
        findings += replay_dose.audit(damaged)
        dosed = damaged.frame
    identities = _identities(names, counted, prepared)
    return Replayed(
        examination=Examination(
            title="Is the judge reading code or style?",
            judges=list(identities.values()),
            findings=_by_judge(_addressed(findings, counted.judges), identities),
            account=asker.account,
            notes=_notes(prepared),
        ),
        counted=counted,
        frame=table.frame,
        dosed=dosed,
    )


async def _ask(judge: Judge, prepared: Prepared, texts: Sequence[Text], asker: Asker) -> Answers:
    calls = _calls(judge, prepared, texts)
    verdicts = await asker.ask(list(calls.values()))
    said = {text: accepted(verdict[0]) for text, verdict in zip(calls, verdicts, strict=True)}
    tasks = prepared.material.tasks
    return {text: said.get(text) or (None, _why_not(judge, tasks, text)) for text in texts}


def _verdicts(judge: str, said: Answers, prepared: Prepared) -> "pl.DataFrame":
    import polars as pl

    sets = [one for one in prepared.material.sets if one.samples]
    read = [said[sample.task, sample.code] for one in sets for sample in one.samples]
    return prepared.table.frame.select("author", "pass", "task", "sample").with_columns(
        pl.lit(judge, dtype=pl.String).alias("judge"),
        pl.Series("value", [value for value, _ in read], dtype=pl.Float64),
        pl.Series("missing_because", [reason for _, reason in read], dtype=pl.String),
    )


# --- names --------------------------------------------------------------------------------------------


def _names(judges: Sequence[Judge]) -> dict[str, Judge]:
    """Return the judges by name; two of one name are told apart by their fingerprints."""
    plain = [judge.identity.name for judge in judges]
    named: dict[str, Judge] = {}
    for judge, name in zip(judges, plain, strict=True):
        own = f"{name} {judge.identity.fingerprint[:8]}" if plain.count(name) > 1 or name == SAMPLES else name
        named[own] = judge
    return named


def _identities(names: Mapping[str, Judge], counted: Replay, prepared: Prepared) -> dict[str, Identity]:
    """Return by the name in the table: the samples, the judges that were asked, those that were recorded."""
    known = {name: judge.identity for name, judge in names.items()}
    recorded = {
        name: Identity(f"{name} (recorded)", {"backend": "recorded", "judge": name})
        for name in counted.judges
        if name not in known
    }
    return {SAMPLES: _samples_identity(prepared), **known, **recorded}


def _samples_identity(prepared: Prepared) -> Identity:
    """Return what stands in the place of a judge where samples alone are spoken of."""
    digest = hashlib.sha256()
    for one in prepared.material.sets:
        for sample in one.samples:
            digest.update(
                f"{one.author}|{one.run}|{sample.task}|{sample.number}|".encode("utf-8", "surrogatepass")
            )
            digest.update(sample.code.encode("utf-8", "surrogatepass"))
    return Identity("The samples, whoever judges them", {"samples_sha256": digest.hexdigest()})


def _addressed(findings: Sequence[Finding], judges: Sequence[str]) -> list[Finding]:
    """Return the findings, those about one of several judges with its name before their sentence."""
    if len(judges) < 2:
        return list(findings)
    return [
        replace(one, sentence=f"{one.judge}: {one.sentence}") if one.judge in judges else one
        for one in findings
    ]


def _by_judge(findings: Sequence[Finding], identities: Mapping[str, Identity]) -> list[Finding]:
    order = {name: place for place, name in enumerate(identities)}
    ranked = sorted(findings, key=lambda one: order[one.judge])
    return [replace(one, judge=identities[one.judge].fingerprint) for one in ranked]


def _notes(prepared: Prepared) -> tuple[str, ...]:
    material = prepared.material
    grammars = sorted({parse.grammar for parse in prepared.table.parses.values() if parse.grammar})
    return (
        f"{sum(len(one.samples) for one in material.sets):,} samples of {len(material.tasks):,} tasks in "
        f"{len(material.sets)} sets; code that parses was shown to parse, not to run and not to be right.",
        f"Parsed by {', '.join(grammars)}; empty code does not parse.",
        *(f"{one.name}: {line}" for one in material.sets for line in one.account),
        *(prepared.dose.notes() if prepared.dose else ()),
        *material.notes,
    )
