"""Replays real samples with any judge, one model damaged on purpose, and writes what was found into docs/findings.md.

    python -m tools.replay_specimen [--judge local:smollm2-135m] [--out DIR] [--write]

Two models, two samples of each of the 64 HumanEval problems that ship: gpt-3.5-turbo-0613 and CodeGen-16B. A second pass
holds the first model's programs once more, 60 % of them with one closing bracket too many, seeded and verified not to parse:
what differs between its passes is the damage and nothing else. Everything is run against HumanEval's tests. The judge is
asked about every program, and about the first model's with other damage.
"""

import argparse
import gzip
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from tools.replay_slice import CODEGEN, TURBO
from voirdire.edits.corruptions import Corruption
from voirdire.languages.parsing import Parsers
from voirdire.model import CodeSample
from voirdire.studies._replay_dose import prepare_dose
from voirdire.studies._replay_table import SampleSet

ROOT = Path(__file__).parents[1]
FINDINGS = ROOT / "docs" / "findings.md"
BEGIN, END = "<!-- replay: written by tools/replay_specimen.py -->", "<!-- replay: end -->"

FIRST, SECOND = "first", "second"
SAMPLES = 2
SHARE, SEED = 0.6, 7
"""With the same seed the replay's dose of 60 % damages the same programs at the same places: they are asked about once."""

Row = dict[str, Any]


def shipped(name: str) -> list[Row]:
    """Return the rows of a shipped file."""
    raw = files("voirdire").joinpath("data", "replay", name).read_bytes()
    return [json.loads(line) for line in gzip.decompress(raw).splitlines()]


def sample_sets() -> dict[str, list[Row]]:
    """Return the three sets of samples by CHECKPOINT@PASS, the last with 60 % of its programs damaged."""
    rows = shipped("samples.jsonl.gz")
    healthy = _samples_of(rows, TURBO)
    return {
        f"{TURBO}@{FIRST}": healthy,
        f"{CODEGEN}@{FIRST}": _samples_of(rows, CODEGEN),
        f"{TURBO}@{SECOND}": damaged(healthy),
    }


def _samples_of(rows: Sequence[Row], system: str) -> list[Row]:
    return [
        {"task_id": row["task_id"], "sample": row["sample"], "code": row["code"]}
        for row in rows
        if row["system"] == system and row["sample"] < SAMPLES
    ]


def damaged(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with one closing bracket too many in 60 % of the programs, verified not to parse."""
    samples = tuple(CodeSample(row["task_id"], row["sample"], row["code"], row["code"]) for row in rows)
    with Parsers() as parsers:
        dose = prepare_dose(
            SampleSet(TURBO, SECOND, samples),
            {},
            parsers=parsers,
            shares=(SHARE,),
            edits=(Corruption.EXTRA_BRACKET,),
            seed=SEED,
        )
    codes = dose.damages[0].codes
    return [{**row, "code": codes.get(place, row["code"])} for place, row in enumerate(rows)]


def write_inputs(folder: Path) -> list[str]:
    """Write tasks and samples and return the arguments of `voirdire replay` that name them."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "tasks.jsonl", shipped("tasks.jsonl.gz"))
    arguments = []
    for place, (name, rows) in enumerate(sample_sets().items()):
        path = folder / f"samples-{place}.jsonl"
        _write(path, rows)
        arguments.append(f"{name}={path}")
    return [*arguments, "--tasks", str(folder / "tasks.jsonl")]


def _write(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


# --- what was found -----------------------------------------------------------------------------------


def section(found: Mapping[str, Any], words: Sequence[str] = ()) -> str:
    """Return the page's section from a findings file. `words`: further arguments of the replay, as they were given."""
    judges = {judge["fingerprint"]: judge["name"] for judge in found["judges"]}
    lines = [
        f"64 HumanEval problems and two models. The second pass of {TURBO} is its first with one closing bracket too many in",
        f"{_damaged_share(words)} programs, put there by a seed and verified not to parse.",
        f"`python -m tools.replay_specimen {''.join(f'{word} ' for word in words)}--write` repeats it all, judge and tests included, and",
        "writes what follows.",
        "",
    ]
    for judge, name in judges.items():
        own = [one for one in found["findings"] if one["judge"] == judge]
        if own:
            lines += [f"**{name}**", "", *(_line(one) for one in own), ""]
    lines += [*_tables(found, ("Four readings", "What", "Dose")), *_account(found["account"])]
    return "\n".join(lines).rstrip() + "\n"


def _damaged_share(words: Sequence[str]) -> str:
    """Return how many programs of the damaged pass were damaged, of the first ones that `--limit` leaves."""
    kept = int(words[list(words).index("--limit") + 1]) if "--limit" in words else SAMPLES
    healthy, _, second = ([row for row in rows if row["sample"] < kept] for rows in sample_sets().values())
    changed = sum(one["code"] != other["code"] for one, other in zip(healthy, second, strict=True))
    return f"{changed} of {len(second)}"


def _line(finding: Mapping[str, Any]) -> str:
    ruling = f"*{finding['ruling']}* " if finding.get("ruling") else ""
    return f"- {ruling}{finding['sentence']}"


def _tables(found: Mapping[str, Any], titles: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for finding in found["findings"]:
        for block in finding["blocks"]:
            if (
                block["block"] == "table"
                and block["title"].startswith(tuple(titles))
                and len(block["rows"]) <= 12
            ):
                lines += [f"{block['title']}:", "", *_table(block), ""]
    return lines


def _table(block: Mapping[str, Any]) -> list[str]:
    head = f"| {' | '.join(block['columns'])} |"
    rule = f"| {' | '.join('---' for _ in block['columns'])} |"
    return [head, rule, *(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in block["rows"])]


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell).replace("|", "\\|")


def _account(account: Mapping[str, Any]) -> list[str]:
    unread = sum(account["unreadable"].values())
    answers = account["asked"] + account["cached"]
    return [f"{answers:,} answers, {unread:,} of them unreadable, {account['failed']:,} failed."]


def written(page: str, text: str) -> str:
    """Return the page with its section replaced, or with one at its end."""
    body = f"{BEGIN}\n\n{text}\n{END}\n"
    if BEGIN in page:
        head, _, rest = page.partition(BEGIN)
        return head + body + rest.partition(f"{END}\n")[2]
    return f"{page.rstrip()}\n\n## A replay of real samples\n\n{body}"


def main(arguments: Sequence[str]) -> int:
    """Write the files, run the replay, and with --write put its findings into the docs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judge", action="append", help="default: local:smollm2-135m")
    parser.add_argument("--out", type=Path, default=Path("voirdire-out"))
    parser.add_argument("--write", action="store_true")
    given, further = parser.parse_known_args(arguments)
    inputs = write_inputs(given.out / "inputs")
    judges = [word for judge in given.judge or ["local:smollm2-135m"] for word in ("--judge", judge)]
    command = [
        sys.executable,
        "-m",
        "voirdire",
        "replay",
        *inputs,
        *judges,
        "--run",
        "--seed",
        str(SEED),
        "--out",
        str(given.out),
        *further,
    ]
    code = subprocess.run(command, check=False).returncode
    if code == 0 and given.write:
        found = json.loads((given.out / "findings.json").read_text(encoding="utf-8"))
        page = FINDINGS.read_text(encoding="utf-8")
        FINDINGS.write_text(written(page, section(found, further)), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
