"""Edit patches without changing what they do, and see whether the judge's score moves."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voirdire.cli._main import FINE, harmless
from voirdire.cli._options import (
    DEFAULT_CONCURRENCY,
    DEFAULT_LEDGER,
    DEFAULT_OUT,
    DEFAULT_SEED,
    DEFAULT_TIMEOUT,
    AsJson,
    Concurrency,
    DryRun,
    FormName,
    LedgerFile,
    MaxCalls,
    MaxCost,
    Out,
    Repeats,
    Seed,
    Timeout,
)
from voirdire.cli._run import Settings, session
from voirdire.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.cli._run import Session
    from voirdire.model import Asking, Item, Judge
    from voirdire.studies._injection_material import InjectionOptions, Material


def command(
    judge: Annotated[
        str,
        typer.Argument(
            metavar="JUDGE",
            help="An address or a judge file, as elsewhere; with --only-patches, the first item file.",
        ),
    ],
    items: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE", help="Item files: parts brief and patch; base, tests where there are."
        ),
    ] = None,
    only_patches: Annotated[
        bool, typer.Option("--only-patches", help="Make and prove the edited patches, and ask nobody.")
    ] = False,
    base: Annotated[
        Path | None,
        typer.Option(
            "--base", metavar="DIR", help="Files that the patches apply to: DIR/ITEM/path/in/patch."
        ),
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kinds",
            "-k",
            metavar="KIND",
            help="What is injected; repeat, or separate by commas. Default: all.",
        ),
    ] = None,
    dose: Annotated[
        list[int] | None,
        typer.Option(
            "--dose", metavar="N", min=1, help="Places at most; repeat for several doses. Default: 18."
        ),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold", metavar="SHARE", help="Score, from 0 to 1, from which a patch counts as solved."
        ),
    ] = 0.5,
    writer: Annotated[
        str | None,
        typer.Option(
            "--writer",
            metavar="JUDGE",
            help="A model that writes the insertions; each is audited by the same proofs.",
        ),
    ] = None,
    tests: Annotated[
        bool,
        typer.Option(
            "--tests", help="Run the items' tests before and after each edit: the result must be the same."
        ),
    ] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Let tests run where there is no sandbox: for trusted code only.")
    ] = False,
    n: Annotated[
        int | None, typer.Option("--n", metavar="N", min=1, help="Use only the first N items.")
    ] = None,
    form: FormName = None,
    repeats: Repeats = None,
    seed: Seed = DEFAULT_SEED,
    out: Out = DEFAULT_OUT,
    ledger: LedgerFile = DEFAULT_LEDGER,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    timeout: Timeout = DEFAULT_TIMEOUT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Edit patches without changing what they do (comments, logging, names, ...) and see whether the score moves.

    Each edit is proved on the syntax tree, and changes nothing but lines that the patch adds; what cannot be proved is left
    out and counted. The patches are judged again unchanged, and with what they add emptied. Writes injections.jsonl, which
    holds every edited patch with its proofs, and report.html with findings.json.
    """
    settings = Settings(
        out=out,
        ledger=ledger,
        repeats=repeats,
        seed=seed,
        max_calls=max_calls,
        max_cost=max_cost,
        concurrency=concurrency,
        timeout=timeout,
        dry_run=dry_run,
        as_json=as_json,
    )
    options = _options(kinds or [], dose or [], threshold, settings)
    files = [*([Path(judge)] if only_patches else []), *(items or [])]
    given = _Given(_read(files)[:n], base, options, tests=tests, unsafe=unsafe)
    if only_patches:
        if writer is not None:
            raise UsageError(
                "--writer asks a model, and --only-patches asks nobody", hint="leave one of them out"
            )
        return _only_patches(given, settings)
    return _examine(given, settings, judge, writer, form)


class _Given:
    """What the command line gives: the patches, where their base files are, and what is done to them."""

    def __init__(
        self,
        items: Sequence[Item],
        base: Path | None,
        options: InjectionOptions,
        *,
        tests: bool,
        unsafe: bool,
    ) -> None:
        self.items = items
        self.base = base
        self.options = options
        self._tests = tests
        self._unsafe = unsafe

    def material(self) -> Material:
        """Make and prove the edited patches."""
        from voirdire.studies._injection_material import prepare

        return self.tested(prepare(self.items, self.options, folder=self.base))

    def tested(self, material: Material) -> Material:
        """Run the tests, where that is wanted."""
        if not self._tests:
            return material
        from voirdire.studies._injection_material import tested
        from voirdire.studies._injection_tests import running

        return tested(material, running(unsafe=self._unsafe))


def _options(
    kinds: Sequence[str], doses: Sequence[int], threshold: float, settings: Settings
) -> InjectionOptions:
    from voirdire.edits.injection import InjectionKind
    from voirdire.studies._injection_material import DEFAULT_DOSE, InjectionOptions

    known = {kind.value: kind for kind in InjectionKind}
    words = [word.strip().replace("-", "_") for text in kinds for word in text.split(",")]
    for word in words:
        if word not in known:
            raise UsageError(f"--kinds: there is no '{word}'", hint=f"kinds: {', '.join(known)}")
    return InjectionOptions(
        kinds=tuple(known[word] for word in dict.fromkeys(words)) or tuple(InjectionKind),
        doses=tuple(sorted(set(doses))) or (DEFAULT_DOSE,),
        seed=settings.seed,
        threshold=threshold,
        repeats=settings.repeats or 1,
    )


def _read(files: Sequence[Path]) -> list[Item]:
    from voirdire.importers.items import read_items

    if not files:
        raise UsageError("there are no patches", hint="voirdire inject JUDGE FILE, with one item a line")
    items = [item for path in files for item in read_items(path)]
    if not items:
        raise UsageError("the files hold no items", hint="each line behind the header is one patch")
    return items


def _only_patches(given: _Given, settings: Settings) -> int:
    material = given.material()
    if settings.dry_run:
        _say(_told(material), settings)
        return FINE
    path = _write(material, settings.out)
    if settings.as_json:
        print(json.dumps(_summary(material)))
    _say(f"{_told(material)}\npatches: {path}", settings)
    return FINE


def _examine(given: _Given, settings: Settings, address: str, writer: str | None, form: FormName) -> int:
    from voirdire.judges.planted import planted_judge
    from voirdire.studies.injections import examine_injections, plan_injections

    with session(settings) as run:
        judge = run.open(address, lambda backend: _asking(form, backend))
        material = given.material()
        if writer is not None and not settings.dry_run:
            material = given.tested(_written(run, writer, material, given.options))
        run.say(_told(material))
        if not run.proceed(plan_injections(judge, material, given.options)):
            return FINE
        run.say(f"patches: {_write(material, settings.out)}")
        work = examine_injections(judge, material, run.asker, given.options, planted=planted_judge)
        return run.finish(run.wait(work))


def _written(run: Session, address: str, material: Material, options: InjectionOptions) -> Material:
    """Return the material with what a model wrote, audited."""
    from voirdire.studies._injection_writer import writing, written

    writer: Judge = run.open(address, lambda _: writing())
    return run.wait(written(writer, material, run.asker, options))


def _asking(form: FormName, backend: str) -> Asking:
    from voirdire.cli._screen import asking_of
    from voirdire.probes.injection import PROBE

    return asking_of(PROBE, form, backend)


def _write(material: Material, out: Path) -> Path:
    from voirdire.studies._injection_material import records

    path = out / "injections.jsonl"
    try:
        out.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(record) + "\n" for record in records(material))
    except OSError as error:
        raise UsageError(
            f"--out {out}: {(error.strerror or str(error)).lower()}", hint="name another folder with --out"
        ) from None
    return path


def _summary(material: Material) -> dict[str, object]:
    return {
        "patches": len(material.subjects),
        "edited": {arm.name: len(material.of(arm)) for arm in material.arms},
        "refused": dict(material.refused()),
        "left_out": {
            arm.name: dict(material.lost(arm))
            for arm in dict.fromkeys(one.arm for one in material.dropped if one.arm is not None)
        },
    }


def _told(material: Material) -> str:
    """Return how many patches there are in each arm, and what was left out, for a person."""
    refused = material.refused()
    lines = [f"{len(material.subjects):,} patches, {len(material.variants):,} edited ones, all proved"]
    lines += [f"  {reason}: {count:,} refused" for reason, count in refused.most_common()]
    for arm in material.arms:
        lost = sum(material.lost(arm).values())
        lines.append(f"  {arm.name}: {len(material.of(arm)):,}" + (f" ({lost:,} left out)" if lost else ""))
    return "\n".join(lines)


def _say(text: str, settings: Settings) -> None:
    print(harmless(text), file=sys.stderr if settings.as_json else sys.stdout, flush=True)
