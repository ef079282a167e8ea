"""Two candidates in one item: which stands first is a part of its own, `order`.

A pair has the parts `response_a`, `response_b` and `order` ('ab' or 'ba'). A judge's prompt names
`{{first}}` and `{{second}}`; these follow from `order` when the item is shown, so that swapping changes one part.
"""

from collections.abc import Mapping

from voirdire.errors import DataError
from voirdire.model import Item

ORDERS = ("ab", "ba")


def swap(item: Item) -> Item:
    """Return the pair with the other candidate shown first; DataError where the two are equal, so nothing would move."""
    if item["response_a"] == item["response_b"]:
        raise DataError(
            f"item '{item.id}': its two responses are equal", hint="remove it: there is nothing to choose"
        )
    return item.with_part("order", "ba" if order_of(item) == "ab" else "ab")


def order_of(item: Item) -> str:
    """Return the pair's order, 'ab' or 'ba'; DataError for anything else."""
    order = item["order"]
    if order not in ORDERS:
        raise DataError(f"item '{item.id}': order is '{order}'", hint="use 'ab' or 'ba'")
    return order


def shown(parts: Mapping[str, str]) -> Mapping[str, str]:
    """Return the parts as a prompt may name them: with `first` and `second` where there is a pair."""
    if not {"response_a", "response_b", "order"} <= parts.keys():
        return parts
    first, second = ("response_a", "response_b") if parts["order"] == "ab" else ("response_b", "response_a")
    return {**parts, "first": parts[first], "second": parts[second]}
