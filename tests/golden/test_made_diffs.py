"""The made diffs in JavaScript and Go that ship: what they claim to be, and every injection into them proved.

Their packages' tests are run by `tools/injection_specimen.py`, which needs the packages; here nothing is run.
"""

from collections import Counter

import pytest

from tools.injection_specimen import DOSES, SEED, Row, shipped
from voirdire.edits.injected_patch import InjectedPatch, PatchedBase, inject, patched
from voirdire.edits.injection import Injected, InjectionKind, NotInjected, Wanted, injector_for

ROWS = shipped()


def based(row: Row) -> PatchedBase:
    made = patched(row["patch"], {row["path"]: row["base"]})
    assert isinstance(made, PatchedBase)
    return made


def test_there_are_thirty_of_each_language_and_each_says_that_it_was_made() -> None:
    assert Counter(row["language"] for row in ROWS) == {"javascript": 30, "go": 30}
    assert len({row["id"] for row in ROWS}) == 60
    assert all(row["made"] and row["brief"] and row["licence"] and row["version"] for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_patch_holds_its_fault_and_the_tests_catch_it(row: Row) -> None:
    fault, after = row["fault"], based(row).after[row["path"]]
    assert fault["new"] in after.split("\n")[fault["line"] - 1]
    assert 0 < row["tests"]["passed"] < row["tests"]["passed_without_fault"]
    emptied = injector_for(row["language"]).stub(
        after, Wanted(InjectionKind.LOGGING, 1, SEED, lines=based(row).files[0].added)
    )
    assert isinstance(emptied, Injected)
    assert emptied.source == row["base"]


@pytest.mark.parametrize("kind", list(InjectionKind))
def test_every_injection_is_proved_or_refused_for_want_of_a_place(kind: InjectionKind) -> None:
    edited: Counter[str] = Counter()
    for row in ROWS:
        done = inject(based(row), Wanted(kind, max(DOSES), SEED, brief=row["brief"]))
        if isinstance(done, NotInjected):
            assert done.reason.startswith("no "), f"{row['id']}: {done.reason}"
        else:
            assert isinstance(done, InjectedPatch)
            assert all(proof.holds for proof in done.proofs.values())
            assert 0 < done.places <= max(DOSES)
            edited[row["language"]] += 1
    assert min(edited["javascript"], edited["go"]) >= 3
