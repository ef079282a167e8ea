"""Speed of the parse gate beside `ast.parse`: CPU seconds per core for the same distinct texts.

    python benchmarks/parse_gate.py [--texts N] [--rounds N] [--damaged SHARE]

Every text is a real HumanEval solution made distinct by a comment. The CPU time of this process and of its one
parsing process is counted, its start included, and compared with a plain loop over `ast.parse` in a fresh interpreter;
the contenders take turns, so that whatever else runs hits all of them.
"""

import argparse
import ast
import json
import random
import resource
import subprocess
import sys
import time
import warnings
from importlib import resources
from statistics import median

AIM = 1.05
"""The gate may cost so many times what `ast.parse` costs."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=160_000, help="how many texts (default: 160,000)")
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds; ratios are medians over rounds (default: 5)"
    )
    parser.add_argument(
        "--damaged", type=float, default=0.0, help="share with one extra bracket (default: 0)"
    )
    parser.add_argument("--one", choices=sorted(CONTENDERS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(CONTENDERS[options.one](texts(options.texts, options.damaged))))
        return 0
    rounds = [{name: measured(name, options) for name in CONTENDERS} for _ in range(options.rounds)]
    ratios = {name: median(one[name] / one["ast.parse"] for one in rounds) for name in CONTENDERS}
    for name, ratio in ratios.items():
        seconds = min(one[name] for one in rounds)
        print(
            f"{name:20} {seconds:7.2f} s CPU {options.texts / seconds:10,.0f} texts/s {ratio:6.3f} x ast.parse"
        )
    return 0 if ratios["gate"] <= AIM else 1


def measured(name: str, options: argparse.Namespace) -> float:
    command = [sys.executable, __file__, "--one", name, "--texts", str(options.texts)]
    done = subprocess.run(
        [*command, "--damaged", str(options.damaged)], check=True, capture_output=True, text=True
    )
    seconds: float = json.loads(done.stdout)
    return seconds


def texts(many: int, damaged: float) -> list[str]:
    file = resources.files("voirdire").joinpath("data/code_pairs/humaneval.jsonl")
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    found = sorted({row[side]["code"] for row in rows for side in ("passing", "failing")})
    seeded = random.Random(0)
    return [
        found[number % len(found)] + (")" if seeded.random() < damaged else "") + f"\n# {number}\n"
        for number in range(many)
    ]


def plain_loop(codes: list[str]) -> float:
    warnings.simplefilter("ignore")
    start = time.process_time()
    for code in codes:
        try:
            ast.parse(code)
        except SyntaxError:
            continue
    return time.process_time() - start


def gate(codes: list[str]) -> float:
    from voirdire.languages.parsing import Parsers

    start = time.process_time()
    with Parsers(workers=1) as parsers:
        parsers.parses(codes)
    return time.process_time() - start + children()


def with_evidence(codes: list[str]) -> float:
    from voirdire.languages.parsing import Parsers

    start = time.process_time()
    with Parsers(workers=1) as parsers:
        parsers.parse(codes)
    return time.process_time() - start + children()


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


CONTENDERS = {"ast.parse": plain_loop, "gate": gate, "gate with evidence": with_evidence}

if __name__ == "__main__":
    sys.exit(main())
