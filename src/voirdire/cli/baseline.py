"""Keep an examination as the baseline that later ones are checked against."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from voirdire.cli._main import FINE, harmless
from voirdire.cli._options import AsJson


def command(
    examination: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder of an examination, or its findings.json."),
    ],
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge", metavar="NAME", help="Which judge, by name or fingerprint, where there are several."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write it.")] = Path(
        "voirdire-baseline.json"
    ),
    as_json: AsJson = False,
) -> int:
    """Keep what `voirdire probe` or `voirdire outcome` found about one judge, to be compared with later examinations.

    The file holds who scored (rubric generator, model, served snapshot, prompt, questions, scale, reader, sampling,
    remedies), every finding with the value of each item, and a digest of each item's texts; no texts and no evidence.
    """
    from voirdire.engine.advice import units
    from voirdire.report.baseline_file import baseline_of, can_be_compared, to_text, write_baseline
    from voirdire.studies.check import read_examination

    baseline = baseline_of(read_examination(examination), judge=judge)
    write_baseline(baseline, out)
    if as_json:
        print(to_text(baseline).rstrip("\n"))
    compared = sum(map(can_be_compared, baseline.findings))
    said = (
        f"{baseline.judge.name}, {baseline.judge.fingerprint[:12]}: {units(len(baseline.findings), 'findings')}, "
        f"{compared} with values by item or case\nbaseline: {out}"
    )
    print(harmless(said), file=sys.stderr if as_json else sys.stdout)
    return FINE
