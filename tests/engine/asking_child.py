"""Asks N calls of the server at URL through the ledger at PATH and prints its account: a process to be killed.

usage: python -m tests.engine.asking_child URL PATH N IN_FLIGHT
"""

import asyncio
import json
import sys
from collections import Counter
from dataclasses import asdict

from tests.engine.judges import asker, calls, chat_judge, quick_pace
from voirdire.engine.ledger import Ledger


async def main(url: str, path: str, n: int, in_flight: int) -> None:
    """Ask, then print the account and how many verdicts have which value or reason."""
    judge = chat_judge(url)
    with Ledger(path) as ledger:
        asked = asker(ledger, pace=quick_pace(in_flight), grace=2.0)
        answers = await asked.ask(calls(judge, n))
    await judge.close()
    values = Counter(str(verdicts[0].value or verdicts[0].missing_because) for verdicts in answers)
    print(json.dumps({**asdict(asked.account), "values": values}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
