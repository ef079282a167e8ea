"""A commit to be looked at: what a path may reach, what is shown, and what later history there is (none)."""

from collections.abc import Iterator

import pytest

from tests.mining._history import History
from voirdire.errors import UsageError
from voirdire.mining.base_tree import BaseTree, CannotShow, LeftPath, inside
from voirdire.mining.git import mirror_of


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BaseTree]:
    folder = tmp_path_factory.mktemp("base")
    (folder / "secret").write_text("outside")
    made = History(folder / "repo")
    made.commit(
        "Begin",
        {
            "src/a.py": b"one\ntwo\nthree\n",
            "src/deep/b.py": b"two again\n",
            "link": ("120000", b"../secret"),
            "module": ("160000", b"0" * 39 + b"1"),
            "bin": b"\0\1",
            "latin": b"caf\xe9\n",
            "big": b"x" * ((1 << 20) + 1),
        },
    )
    made.commit("Later", {"src/later.py": b"the solution\n"})
    made.made()
    with mirror_of(folder / "repo") as mirror:
        yield BaseTree(mirror, made.name(1))


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../secret",
        "src/../../secret",
        "/etc/passwd",
        "~/x",
        "C:\\x",
        "a\\b",
        ".git",
        "src/.GIT/config",
        "a\0b",
    ],
)
def test_a_path_that_leaves_the_tree_is_refused(tree: BaseTree, path: str) -> None:
    for look in (tree.text, tree.listed, lambda name: list(tree.search("one", name))):
        with pytest.raises(LeftPath):
            look(path)


@pytest.mark.parametrize("path", ["src/a.py", "./src/a.py", "src//a.py", "src/./a.py"])
def test_one_file_has_several_ways_to_be_named(tree: BaseTree, path: str) -> None:
    assert inside(path) == "src/a.py"
    assert tree.text(path) == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("link", "is a link, and links are not followed"),
        ("module", "is another repository"),
        ("bin", "is binary"),
        ("latin", "is not UTF-8"),
        ("big", "too large"),
        ("src", "is a folder"),
        ("src/later.py", "is not there"),
        ("nowhere", "is not there"),
    ],
)
def test_what_cannot_be_shown_says_why(tree: BaseTree, path: str, why: str) -> None:
    with pytest.raises(CannotShow, match=why):
        tree.text(path)


def test_folders_are_listed_with_a_slash(tree: BaseTree) -> None:
    assert tree.listed("") == ["big", "bin", "latin", "link", "module", "src/"]
    assert tree.listed("src/") == ["a.py", "deep/"]
    with pytest.raises(CannotShow, match="is a file"):
        tree.listed("src/a.py")


def test_a_search_finds_plain_text_below_a_path(tree: BaseTree) -> None:
    assert [(one.path, one.line) for one in tree.search("two")] == [("src/a.py", 2), ("src/deep/b.py", 1)]
    assert [one.path for one in tree.search("two", "src/deep")] == ["src/deep/b.py"]
    assert list(tree.search("solution")) == []
    assert list(tree.search("t.o")) == []
    with pytest.raises(CannotShow, match="everywhere"):
        tree.search(" ")


def test_a_commit_that_is_not_there_says_which_repository(tree: BaseTree) -> None:
    strange = BaseTree(tree._mirror, "1" * 40)
    with pytest.raises(UsageError, match=r"the commit 1{40} is not there"):
        strange.listed("")
