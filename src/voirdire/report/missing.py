"""How many answers of a run there are not, by the account of the run."""

from voirdire.model import Account


def not_asked(account: Account) -> int:
    """Return how many planned answers were neither asked for nor in the ledger."""
    return max(0, account.planned - account.asked - account.cached)


def missing_answers(account: Account) -> int:
    """Return how many planned answers there are not: unreadable, failed or not asked."""
    return sum(account.unreadable.values()) + account.failed + not_asked(account)
