"""Cuts the data that the package ships out of a folder that holds the whole sets.

    python tools/cut_data.py FOLDER [--out src/voirdire/data]

FOLDER holds `llmbar/`, `code-samples/` and `outcome-bias/` as JSON lines. The same folder gives the same bytes: every
choice is by a rule written here and in the `SOURCE.md` beside each slice, or by a seeded hash.
"""

import argparse
import ast
import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]

HERE = Path(__file__).resolve().parent
SHIPPED = HERE.parent / "src" / "voirdire" / "data"

SEED = "voirdire code pairs 1"
MAX_SHARE_PASSED = 0.5
LENGTH_RATIO = 0.8
MAX_CHARACTERS = 2000
MIN_ASSERTIONS = 3
PLAIN_STATEMENTS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=SHIPPED)
    options = parser.parse_args()
    for name, content in slices(options.folder).items():
        path = options.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(f"{len(content):>8} bytes  {path}")


def slices(folder: Path) -> Mapping[str, bytes]:
    """Return every shipped file's content by its path below the data folder."""
    instances = list(read(folder / "llmbar" / "instances.jsonl.gz"))
    labels = {(row["subset"], row["idx"]): row["label"] for row in instances}
    judgments = read(folder / "llmbar" / "judgments.jsonl.gz")
    return {
        "llmbar/natural.jsonl": lines(row for row in instances if row["subset"] == "LLMBar/Natural"),
        "llmbar/judgments.jsonl.gz": packed(
            lines({**row, "label": labels[row["subset"], row["idx"]]} for row in judgments)
        ),
        "llmbar/published_statistics.jsonl.gz": packed(
            lines(read(folder / "llmbar" / "published_statistics.jsonl"))
        ),
        "outcome_bias/ratings.jsonl": (folder / "outcome-bias" / "ratings.jsonl").read_bytes(),
        "outcome_bias/vignettes.json": (folder / "outcome-bias" / "vignettes.json").read_bytes(),
        "code_pairs/humaneval.jsonl": lines(code_pairs(folder / "code-samples")),
    }


def code_pairs(folder: Path) -> Iterator[Row]:
    """Give one pair per HumanEval task that has one: a program that passes and a plausible one that fails."""
    problems = {row["task_id"]: row for row in read(folder / "humaneval_problems.jsonl")}
    passing: dict[str, list[Row]] = defaultdict(list)
    failing: dict[str, list[Row]] = defaultdict(list)
    for row in read(folder / "ldb_reflexion.jsonl.gz"):
        if row["set"] == "humaneval" and usable(row):
            (passing if row["passed"] else failing)[row["task_id"]].append(row)
    for task in sorted(failing, key=lambda name: int(name.split("/")[1])):
        pair = best_pair(passing[task], failing[task])
        if pair:
            problem = problems[task]
            yield {
                "task_id": task,
                "prompt": problem["prompt"],
                "entry_point": problem["entry_point"],
                "passing": program(pair[0]),
                "failing": program(pair[1]),
            }


def usable(row: Row) -> bool:
    """Keep programs whose result is beyond doubt and that hold definitions only, short enough for a small judge."""
    if row["passed"] != row["published_pass"] or row["n_run"] < MIN_ASSERTIONS or row["error"]:
        return False
    if len(row["code"]) > MAX_CHARACTERS or not defines_only(row["code"]):
        return False
    share: float = row["n_pass"] / row["n_run"]
    return share == 1 if row["passed"] else share <= MAX_SHARE_PASSED


def defines_only(code: str) -> bool:
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return False
    return all(isinstance(statement, PLAIN_STATEMENTS) for statement in tree.body)


def best_pair(passing: Sequence[Row], failing: Sequence[Row]) -> tuple[Row, Row] | None:
    """Of all pairs that look alike take the failing program with the fewest passed assertions, then by hash."""
    candidates = [(good, bad) for good in passing for bad in failing if look_alike(good, bad)]
    return min(candidates, key=preference, default=None)


def look_alike(good: Row, bad: Row) -> bool:
    """Two models, nearly the same length, and neither the harness's import lines nor a docstring on one side only."""
    shorter, longer = sorted((len(good["code"]), len(bad["code"])))
    return (
        good["model"] != bad["model"]
        and shorter >= LENGTH_RATIO * longer
        and all((mark in good["code"]) == (mark in bad["code"]) for mark in ("_str=str", '"""'))
    )


def preference(pair: tuple[Row, Row]) -> tuple[float, str]:
    good, bad = pair
    key = f"{SEED}|{good['task_id']}|{good['system']}|{bad['system']}"
    return bad["n_pass"] / bad["n_run"], hashlib.sha256(key.encode()).hexdigest()


def program(row: Row) -> Row:
    return {name: row[name] for name in ("system", "model", "harness", "code", "n_pass", "n_run")}


def read(path: Path) -> Iterator[Row]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for line in content.decode("utf-8").strip("\n").split("\n"):
        yield json.loads(line)


def lines(rows: Iterable[Mapping[str, object]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")


def packed(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=9, mtime=0)


if __name__ == "__main__":
    main()
