"""Which probes fit the items given."""

import pytest

from voirdire.errors import UsageError
from voirdire.model import Item
from voirdire.studies.screen import probes_named

PATCH = {"brief": "Sort the names.", "patch": "+names.sort()"}
EDITED = {**PATCH, "patch_edited": "+names.sort()  # sorted", "patch_emptied": "+pass"}
PAIR = {"task": "Add.", "response_a": "3", "response_b": "4", "order": "ab"}


def test_a_probe_is_run_where_items_have_what_it_shows_and_what_it_edits() -> None:
    assert [probe.name for probe in probes_named([], [Item("a", EDITED)])] == ["injection"]
    assert [probe.name for probe in probes_named([], [Item("a", PAIR)])] == ["position"]


def test_patches_without_their_edited_versions_fit_no_probe() -> None:
    with pytest.raises(UsageError, match="no probe fits items with the parts brief, patch"):
        probes_named([], [Item("a", PATCH)])
