"""Chat servers for the doctor: one that obeys everything, and some that do not."""

import json
import random
from collections.abc import Mapping
from typing import Any

from tests.loopback.chat_server import Asked, Plain, Says

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "jetty")


def obedient(asked: Asked) -> Says:
    """Fill in the schema, heed the seed, say the same at temperature 0, name a snapshot."""
    return Says(_said(asked, heeds_schema=True, rng=_seeded(asked.body)), fingerprint="fp_1")


def heedless(asked: Asked) -> Says:
    """Answer every prompt as it reads, and ignore schema, seed and temperature without a word."""
    said = _said(asked, heeds_schema=False, rng=random.Random(asked.number))
    return Says(said, model="", usage=None)


def refusing(asked: Asked) -> Says:
    """Decline whatever is asked."""
    return Says("I'm sorry, but I can't rate this.")


def wrong_key(asked: Asked) -> Plain:
    """Refuse the key."""
    return Plain.error(401, "invalid_api_key", "Incorrect API key provided.")


def strict(asked: Asked) -> Says | Plain:
    """Turn down what it does not know instead of ignoring it."""
    for field in ("response_format", "seed", "temperature"):
        if field in asked.body:
            return Plain.error(400, "unsupported_parameter", f"Unsupported parameter: '{field}'.")
    return obedient(asked)


def wobbly(asked: Asked) -> Says:
    """Take everything, and answer a little differently each time all the same."""
    return Says(f"{_said(asked, heeds_schema=True, rng=random.Random(0))}\n\nremark {asked.number}")


def _seeded(body: Mapping[str, Any]) -> random.Random:
    if body.get("temperature") == 0:
        return random.Random(0)
    return random.Random(body["seed"]) if "seed" in body else random.Random()


def _said(asked: Asked, *, heeds_schema: bool, rng: random.Random) -> str:
    wanted: Any = asked.body.get("response_format")
    if wanted and heeds_schema:
        return json.dumps(_filled(wanted["json_schema"]["schema"]))
    if "Answer with one word" in asked.text:
        return "first"
    if "PROCESS" in asked.text:
        return "PROCESS 4 DAMAGE 1\nThe test was skipped."
    if "with these fields" in asked.text:
        return '{"process": 4, "damage": 1}'
    if "NUMBER" in asked.text:
        return f"NUMBER {rng.randrange(10**6)}\n{' '.join(rng.choices(WORDS, k=10))}"
    return '{"right": true}'


def _filled(schema: Mapping[str, Any]) -> dict[str, object]:
    return {name: field["enum"][0] for name, field in schema["properties"].items()}
