"""The options that judging commands share, so that each means the same everywhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Form(StrEnum):
    """The forms an answer can be asked for in, as on the command line."""

    TEXT = "text"
    JSON = "json"
    TYPED = "typed"


DEFAULT_OUT = Path("voirdire-out")
DEFAULT_LEDGER = Path(".voirdire/ledger.sqlite")

JudgeName = Annotated[
    str,
    typer.Argument(
        metavar="JUDGE",
        help="An address (local:smollm2-135m, openai:MODEL, path/to/file.py:function, ...) or a judge file.",
    ),
]
FormName = Annotated[
    Form | None,
    typer.Option(
        "--form",
        help="How answers are asked for; default: what suits the judge. A judge file decides itself.",
    ),
]
Out = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="DIR", help="Folder for findings.json and report.html."),
]
LedgerFile = Annotated[
    Path,
    typer.Option(
        "--ledger",
        metavar="FILE",
        envvar="VOIRDIRE_LEDGER",
        help="Record of every answer; what it holds is not asked again.",
    ),
]
Repeats = Annotated[
    int | None,
    typer.Option(
        "--repeats", metavar="N", min=1, help="Ask each version N times instead of the probe's own number."
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything drawn at random.")]
MaxCalls = Annotated[
    int | None,
    typer.Option(
        "--max-calls", metavar="N", min=0, help="Never make more than N calls; what came in is kept."
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost", metavar="USD", min=0, help="Never spend more; reserved before a call is sent."
    ),
]
Concurrency = Annotated[
    int,
    typer.Option(
        "--concurrency", metavar="N", min=1, help="Calls in flight at most; fewer when the server says so."
    ),
]
Timeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Time limit of one call."),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Print calls, tokens and money, and ask nothing."),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print the result as JSON on standard output, and nothing else there."),
]

DEFAULT_SEED = 0
DEFAULT_CONCURRENCY = 32
DEFAULT_TIMEOUT = 120.0
