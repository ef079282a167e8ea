"""What style is counted by: programs by their tree, patches by their added lines, hostile texts without harm."""

import pytest

from voirdire.errors import DataError, UsageError
from voirdire.languages.code_style import Feature, added_lines, is_patch, patch_style, program_style

PROGRAM = '''"""A module."""
import logging

logger = logging.getLogger(__name__)


def read(path):
    """Read it."""
    # open, then read
    text = "# no comment"
    try:
        for line in open(path):
            if line:
                logger.info("line")
    except OSError:
        print("gone")
    return [x for x in text if x]  # what is left
'''

PATCH = """diff --git a/src/app.py b/src/app.py
index 1..2 100644
--- a/src/app.py
+++ b/src/app.py
@@ -1,3 +1,8 @@
 import os
-x = 1
+# a note
+def run():
+    \"\"\"Run it.\"\"\"
+    try:
+        logger.warning("x")
+    except ValueError:
+        for y in z:
+            pass
diff --git a/tests/test_app.py b/tests/test_app.py
new file mode 100644
--- /dev/null
+++ b/tests/test_app.py
@@ -0,0 +1,2 @@
+def test_run():
+    if run(): pass
"""


def test_a_python_program_is_counted_by_its_tree() -> None:
    assert program_style(PROGRAM) == {
        Feature.LINES: 14,
        Feature.COMMENT_LINES: 2,
        Feature.DOCSTRINGS: 2,
        Feature.LOGGING: 3,
        Feature.ERROR_HANDLING: 1,
        Feature.FUNCTIONS: 1,
        Feature.BRANCHES: 1,
        Feature.LOOPS: 1,
        Feature.COMPREHENSIONS: 1,
        Feature.DEPTH: 4,
    }


def test_a_patch_is_counted_by_its_added_lines() -> None:
    found = patch_style(PATCH)
    assert is_patch(PATCH)
    assert not is_patch(PROGRAM)
    wanted = {
        Feature.LINES: 10,
        Feature.COMMENT_LINES: 1,
        Feature.DOCSTRINGS: 1,
        Feature.LOGGING: 1,
        Feature.ERROR_HANDLING: 2,
        Feature.FILES: 2,
        Feature.TESTS: 1,
        Feature.FUNCTIONS: 2,
        Feature.BRANCHES: 1,
        Feature.LOOPS: 1,
        Feature.DEPTH: 3,
    }
    assert {feature: found[feature] for feature in wanted} == wanted


def test_removed_and_kept_lines_do_not_count() -> None:
    turned = PATCH.replace("\n+", "\n-").replace("\n-++ b", "\n+++ b")
    assert patch_style(turned)[Feature.LINES] == 0
    assert list(added_lines("+not in a hunk\n")) == []


@pytest.mark.parametrize(
    ("language", "code"),
    [
        (
            "javascript",
            "// a note\nfunction f(x) {\n  try { if (x) { for (;;) {} } } catch (e) { console.log(e) }\n}\n",
        ),
        (
            "go",
            'package p\n// a note\nfunc F(x bool) {\n\tif x {\n\t\tfor {\n\t\t}\n\t}\n\tlog.Println("x")\n}\n',
        ),
        (
            "java",
            "// a note\nclass A { void f(boolean x) { try { if (x) { while (x) {} } } finally { System.out.print(1); } } }\n",
        ),
    ],
)
def test_other_languages_are_counted_by_their_tree(language: str, code: str) -> None:
    pytest.importorskip("tree_sitter")
    found = program_style(code, language)
    assert found[Feature.COMMENT_LINES] == 1
    assert found[Feature.FUNCTIONS] == 1
    assert found[Feature.BRANCHES] == 1
    assert found[Feature.LOOPS] == 1
    assert found[Feature.LOGGING] == 1
    assert found[Feature.DEPTH] >= 3


def test_what_does_not_parse_is_refused() -> None:
    with pytest.raises(DataError):
        program_style("def f(:\n")
    with pytest.raises(UsageError):
        program_style("x", "klingon")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@@ -1 +1 @@",
        "+++ \n@@ -1 +1 @@\n+" + "x" * 200_000,
        "diff --git a/x b/x\n" * 2_000,
        "+++ b/x.py\n@@ -1 +1 @@\n+" + "(" * 50_000,
        "+++ b/x.py\n@@ -1 +1 @@\n" + "+[a for b in c\n" * 3_000,
        "--- a\n+++ b\n@@ -0,0 +1 @@\n+\x00\ud800",
    ],
)
def test_no_patch_raises_or_hangs(text: str) -> None:
    assert all(value >= 0 for value in patch_style(text).values())
