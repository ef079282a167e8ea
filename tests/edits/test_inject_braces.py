"""Injections into JavaScript, TypeScript and Go: every edit parses and is proved, and wrong ones are not."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.edits.braces_samples import GO, JAVASCRIPT, PROGRAMS, TYPESCRIPT
from voirdire.edits.injection import (
    COMMENT_KINDS,
    STATEMENT_KINDS,
    Injected,
    InjectionKind,
    NotInjected,
    Wanted,
    injector_for,
)
from voirdire.languages.parsing import parse

BRIEF = "Add up the sizes. Say /* what */ was found; never call eval() on it!"
LANGUAGES = tuple(PROGRAMS)
KINDS = tuple(InjectionKind)


def injected(
    language: str, kind: InjectionKind, dose: int = 99, seed: int = 3, source: str | None = None
) -> Injected:
    text = PROGRAMS[language] if source is None else source
    done = injector_for(language).inject(text, Wanted(kind, dose, seed, brief=BRIEF))
    assert isinstance(done, Injected), done
    return done


def refused(language: str, kind: InjectionKind, before: str, after: str) -> str:
    proof = injector_for(language).prove(before, after, kind)
    assert not proof.holds
    assert proof.why_not
    return proof.why_not


# --- every edit -------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_finds_places_parses_and_is_proved(language: str, kind: InjectionKind) -> None:
    done = injected(language, kind)
    assert done.places >= 2
    assert done.source != PROGRAMS[language]
    assert parse(done.source, language).ok
    proof = injector_for(language).prove(PROGRAMS[language], done.source, kind)
    assert proof.holds, proof.why_not
    assert done.lines_added == done.source.count("\n") - PROGRAMS[language].count("\n")


@settings(max_examples=40, deadline=None)
@given(
    language=st.sampled_from(LANGUAGES),
    kind=st.sampled_from(KINDS),
    dose=st.integers(1, 30),
    seed=st.integers(0, 999),
    lines=st.tuples(st.integers(1, 80), st.integers(1, 40)),
)
def test_only_the_given_lines_are_touched(
    language: str, kind: InjectionKind, dose: int, seed: int, lines: tuple[int, int]
) -> None:
    source = PROGRAMS[language]
    first, last = lines[0], lines[0] + lines[1]
    allowed = frozenset(range(first, last + 1))
    done = injector_for(language).inject(source, Wanted(kind, dose, seed, brief=BRIEF, lines=allowed))
    if isinstance(done, NotInjected):
        return
    assert done.places <= dose
    old, new = source.split("\n"), done.source.split("\n")
    assert new[: first - 1] == old[: first - 1]
    assert new[len(new) - len(old[last:]) :] == old[last:]
    proof = injector_for(language).prove(source, done.source, kind)
    assert proof.holds, proof.why_not


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_same_seed_gives_the_same_text_and_a_larger_dose_holds_a_smaller_one(language: str) -> None:
    for kind in (InjectionKind.NEUTRAL_COMMENTS, InjectionKind.LOGGING, InjectionKind.RENAMED_LOCALS):
        assert injected(language, kind, 3) == injected(language, kind, 3)
        less, more = injected(language, kind, 2), injected(language, kind, 5)
        assert set(less.inserted) <= set(more.inserted)


@pytest.mark.parametrize("language", LANGUAGES)
def test_line_ends_of_windows_stay(language: str) -> None:
    source = PROGRAMS[language].replace("\n", "\r\n")
    for kind in KINDS:
        done = injected(language, kind, source=source)
        assert done.source.count("\n") == done.source.count("\r\n")
        assert injector_for(language).prove(source, done.source, kind).holds


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("source", "reason"), [("func f( {", "does not parse"), ("x \ud800", "half a character")]
)
def test_what_cannot_be_read_is_refused_with_its_reason(language: str, source: str, reason: str) -> None:
    editor = injector_for(language)
    assert editor.inject(source, Wanted(InjectionKind.LOGGING, 1, 1)) == NotInjected(reason)
    assert reason in (editor.prove(source, source, InjectionKind.LOGGING).why_not or "")


@pytest.mark.parametrize("depth", [150, 400, 20_000])
def test_deep_nesting_is_no_crash(depth: int) -> None:
    source = f"function f(a) {{\n  return {'(' * depth}a{')' * depth};\n}}\n"
    for kind in (InjectionKind.NEUTRAL_COMMENTS, InjectionKind.LOGGING, InjectionKind.RENAMED_LOCALS):
        done = injector_for("javascript").inject(source, Wanted(kind, 2, 1))
        after = done.source if isinstance(done, Injected) else source
        proof = injector_for("javascript").prove(source, after, kind)
        assert proof.holds or "too deeply" in (proof.why_not or "")
        assert proof.holds is (depth == 150 or (depth == 400 and kind in COMMENT_KINDS))


def test_the_brief_s_sentences_become_comments() -> None:
    texts = injected("go", InjectionKind.BRIEF_COMMENTS).inserted
    assert "// Task: Add up the sizes." in texts
    assert not any("/*" in text.removeprefix("//") for text in texts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_functions_are_emptied_for_the_control(language: str) -> None:
    wanted = Wanted(InjectionKind.LOGGING, 1, 1)
    done = injector_for(language).stub(PROGRAMS[language], wanted)
    assert isinstance(done, Injected)
    assert parse(done.source, language).ok
    assert "continue" not in done.source
    if language == "go":
        assert "func pinned(n int) int { return *new(int) }" in done.source
        assert "(found *thing, err error) { return }" in done.source


# --- what must stay ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "kept"),
    [
        (
            "javascript",
            ["#!/usr/bin/env node", "// eslint-disable-next-line no-labels", "// no comment", "/\\/\\/"],
        ),
        (
            "typescript",
            ["// @ts-check", "/* eslint-disable no-console */", "// @ts-ignore: looked at on purpose"],
        ),
        ("go", ["//go:build !windows", "//go:generate stringer", "//go:noinline", "// Package shelf"]),
    ],
)
def test_directives_and_what_only_looks_like_a_comment_stay(language: str, kept: list[str]) -> None:
    done = injected(language, InjectionKind.COMMENTS_REMOVED)
    for text in kept:
        assert text in done.source
    for text in ("// trailing", "// one at a time", "/* every one */", "// nothing there"):
        assert text not in done.source


def test_a_comment_that_ends_a_line_for_the_parser_stays() -> None:
    source = "function f(a) {\n  return /* one\n  two */ a\n}\n"
    done = injector_for("javascript").inject(source, Wanted(InjectionKind.COMMENTS_REMOVED, 9, 1))
    assert isinstance(done, NotInjected)
    refused("javascript", InjectionKind.COMMENTS_REMOVED, source, source.replace("/* one\n  two */ ", ""))


def test_a_cgo_preamble_stays() -> None:
    source = 'package p\n\n// #include <stdio.h>\nimport "C"\n\nfunc f() {\n\tx()\n}\n'
    for kind in (InjectionKind.COMMENTS_REMOVED, InjectionKind.RENAMED_LOCALS):
        assert isinstance(injector_for("go").inject(source, Wanted(kind, 9, 1)), NotInjected)
    gone = source.replace("// #include <stdio.h>\n", "")
    refused("go", InjectionKind.COMMENTS_REMOVED, source, gone)
    refused("go", InjectionKind.LOGGING, source, gone)


def test_markup_is_no_place_for_comments() -> None:
    source = "function f() {\n  return <p>\n    // text\n    {/* note */}\n  </p>;\n}\n"
    done = injector_for("javascript").inject(source, Wanted(InjectionKind.COMMENTS_REMOVED, 9, 1))
    assert isinstance(done, NotInjected)
    refused(
        "javascript", InjectionKind.NEUTRAL_COMMENTS, source, source.replace("<p>\n", "<p>\n    // more\n")
    )


def test_log_is_imported_in_order_where_it_may_be() -> None:
    assert '\t"fmt"\n\t"log"\n)' in injected("go", InjectionKind.LOGGING).source
    alone = "package p\n\nfunc f() {\n\tx()\n}\n"
    done = injected("go", InjectionKind.LOGGING, source=alone)
    assert done.source.startswith('package p\n\nimport "log"\n')
    assert "log.Printf(" in done.source
    kept = injector_for("go").inject(alone, Wanted(InjectionKind.LOGGING, 1, 1, lines=frozenset({4})))
    assert isinstance(kept, Injected)
    assert "\tprintln(" in kept.source
    assert "import" not in kept.source


def test_names_that_mean_more_than_a_local_stay() -> None:
    text = injected("javascript", InjectionKind.RENAMED_LOCALS).source
    for kept in (
        "start = 0",
        "const inner = function",
        "const out = []",
        "class Box",
        "function sum(",
        "outer: for",
    ):
        assert kept in text
    assert "total" not in text
    assert ": label" not in text
    assert "size: " in text
    typed = injected("typescript", InjectionKind.RENAMED_LOCALS).source
    for kept in (
        "private readonly limit",
        "(item: T, key: string) => void",
        "export const depth",
        "value: unknown",
    ):
        assert (kept in typed) is (kept != "value: unknown")
    assert "is Shape" in typed
    gone = injected("go", InjectionKind.RENAMED_LOCALS).source
    assert "size: size" in gone
    assert "err error" not in gone


@pytest.mark.parametrize("body", ["eval('a')", "with (a) { b }"])
def test_unclear_names_are_not_changed(body: str) -> None:
    source = f"function f(a, b) {{\n  {body}\n}}\n"
    done = injector_for("javascript").inject(source, Wanted(InjectionKind.RENAMED_LOCALS, 1, 1))
    assert isinstance(done, NotInjected)
    assert "unclear" in done.reason


def test_parameters_stay_where_arguments_is_read() -> None:
    source = "function f(a) {\n  const b = arguments.length\n  return a + b\n}\n"
    done = injected("javascript", InjectionKind.RENAMED_LOCALS, source=source)
    assert done.places == 1
    assert "f(a)" in done.source


# --- wrong edits ------------------------------------------------------------------------------------

JS_LOG = "function f(a) {\n  const b = a + 1\n  g(b)\n  return b\n}\n"
GO_LOG = "package p\n\nfunc f(a int) (int, error) {\n\tb, err := g(a)\n\tif err != nil {\n\t\treturn 0, err\n\t}\n\treturn b, nil\n}\n"
JS_SCOPES = "function f(a, b) {\n  const c = { a }\n  return () => { const b = c; return b }\n}\n"
GO_SCOPES = "package p\n\nfunc f(a, b int) T {\n\tc := a\n\tif c > b {\n\t\tc := b\n\t\tuse(c)\n\t}\n\treturn T{a: c}\n}\n"

WRONG = [
    ("javascript", InjectionKind.NEUTRAL_COMMENTS, JS_LOG, JS_LOG.replace("a + 1", "a - 1 // same")),
    ("javascript", InjectionKind.NEUTRAL_COMMENTS, JS_LOG, JS_LOG.replace("  g(b)\n", "  // g(b)\n")),
    (
        "javascript",
        InjectionKind.NEUTRAL_COMMENTS,
        JS_LOG,
        JS_LOG.replace("return b", "return // the value\n  b"),
    ),
    ("javascript", InjectionKind.NEUTRAL_COMMENTS, "x = `a`\n", "x = `a // b`\n"),
    ("javascript", InjectionKind.COMMENTS_REMOVED, "f('a // b')\n", "f('a')\n"),
    ("javascript", InjectionKind.COMMENTS_REMOVED, "// @ts-ignore\nf()\n", "f()\n"),
    ("javascript", InjectionKind.ADVOCACY, "// note\nf()\n", "// good\nf()\n"),
    (
        "javascript",
        InjectionKind.DOCSTRINGS,
        JS_LOG,
        JS_LOG.replace("  return b\n", "  /** b */\n  return b\n"),
    ),
    ("javascript", InjectionKind.LOGGING, JS_LOG, JS_LOG.replace("  g(b)\n", '  console.debug("x");\n')),
    (
        "javascript",
        InjectionKind.LOGGING,
        JS_LOG,
        JS_LOG.replace("  g(b)\n", '  console.debug("x", g(b));\n  g(b)\n'),
    ),
    (
        "javascript",
        InjectionKind.LOGGING,
        JS_LOG,
        JS_LOG.replace("  g(b)\n", "  console.debug(b.c);\n  g(b)\n"),
    ),
    ("javascript", InjectionKind.LOGGING, JS_LOG, JS_LOG.replace("  g(b)\n  return b", "  return b\n  g(b)")),
    ("javascript", InjectionKind.LOGGING, "'use strict'\nf()\n", "console.log('a');\n'use strict'\nf()\n"),
    (
        *("javascript", InjectionKind.LOGGING),
        "function f(console) {\n  return 1\n}\n",
        'function f(console) {\n  console.log("a");\n  return 1\n}\n',
    ),
    ("javascript", InjectionKind.LOGGING, JS_LOG, JS_LOG.replace("  g(b)\n", "  // new\n  g(b)\n")),
    (
        *("javascript", InjectionKind.ERROR_WRAPPERS, JS_LOG),
        JS_LOG.replace("  g(b)\n", "  try {\n    g(b)\n  } catch (error) {\n    console.error('a');\n  }\n"),
    ),
    (
        *("javascript", InjectionKind.ERROR_WRAPPERS, JS_LOG),
        JS_LOG.replace("  g(b)\n", "  try {\n    g(b)\n  } catch (error) {\n    throw b;\n  }\n"),
    ),
    (
        *("javascript", InjectionKind.ERROR_WRAPPERS, JS_LOG),
        JS_LOG.replace(
            "  g(b)\n", "  try {\n    g(b)\n  } catch (e) {\n    throw e;\n  } finally {\n    h()\n  }\n"
        ),
    ),
    (
        *("javascript", InjectionKind.ERROR_WRAPPERS, JS_LOG),
        JS_LOG.replace(
            "  const b = a + 1\n", "  try {\n    const b = a + 1\n  } catch (e) {\n    throw e;\n  }\n"
        ),
    ),
    (
        "javascript",
        InjectionKind.RENAMED_LOCALS,
        JS_LOG,
        JS_LOG.replace("const b", "const z").replace("g(b)", "g(z)"),
    ),
    ("javascript", InjectionKind.RENAMED_LOCALS, JS_LOG, JS_LOG.replace("b", "g")),
    ("javascript", InjectionKind.RENAMED_LOCALS, JS_LOG, JS_LOG.replace("b", "a")),
    ("javascript", InjectionKind.RENAMED_LOCALS, JS_LOG, JS_LOG.replace("f(", "h(")),
    (
        "javascript",
        InjectionKind.RENAMED_LOCALS,
        JS_SCOPES,
        JS_SCOPES.replace("{ a }", "{ z }").replace("(a,", "(z,"),
    ),
    (
        "javascript",
        InjectionKind.RENAMED_LOCALS,
        JS_SCOPES,
        JS_SCOPES.replace("const b = c; return b", "const c = c; return c"),
    ),
    (
        *("javascript", InjectionKind.RENAMED_LOCALS),
        "function f() {\n  const g = () => 1\n  return g\n}\n",
        "function f() {\n  const h = () => 1\n  return h\n}\n",
    ),
    ("go", InjectionKind.NEUTRAL_COMMENTS, GO_LOG, GO_LOG.replace("a)\n\tif", "a+1) // same\n\tif")),
    ("go", InjectionKind.NEUTRAL_COMMENTS, GO_LOG, GO_LOG.replace("func f", "//go:noinline\nfunc f")),
    ("go", InjectionKind.NEUTRAL_COMMENTS, GO_LOG, "// new\n" + GO_LOG),
    ("go", InjectionKind.COMMENTS_REMOVED, f"//go:build linux\n\n{GO_LOG}", GO_LOG),
    (
        "go",
        InjectionKind.LOGGING,
        GO_LOG,
        GO_LOG.replace("\treturn b, nil", '\tlog.Printf("a")\n\treturn b, nil'),
    ),
    ("go", InjectionKind.LOGGING, GO_LOG, GO_LOG.replace("\treturn b, nil", "\tprintln(b)\n\treturn b, nil")),
    ("go", InjectionKind.LOGGING, GO_LOG, GO_LOG.replace("\t\treturn 0, err", '\t\tprintln("a")')),
    ("go", InjectionKind.LOGGING, GO_LOG, GO_LOG.replace("package p\n", 'package p\n\nimport "log"\n')),
    (
        *("go", InjectionKind.LOGGING),
        GO_LOG.replace("(a int)", "(a int, println func(string))"),
        GO_LOG.replace("(a int)", "(a int, println func(string))").replace("\tb,", '\tprintln("a")\n\tb,'),
    ),
    ("go", InjectionKind.ERROR_WRAPPERS, GO_LOG, GO_LOG.replace("\tb,", '\tprintln("a")\n\tb,')),
    (
        *("go", InjectionKind.ERROR_WRAPPERS, GO_LOG),
        GO_LOG.replace(
            "\tb,",
            '\tdefer func() {\n\t\tif r := recover(); r != nil {\n\t\t\tprintln("a")\n\t\t}\n\t}()\n\tb,',
        ),
    ),
    ("go", InjectionKind.RENAMED_LOCALS, GO_LOG, GO_LOG.replace("return b", "return a")),
    ("go", InjectionKind.RENAMED_LOCALS, GO_LOG, GO_LOG.replace("b", "g")),
    (
        "go",
        InjectionKind.RENAMED_LOCALS,
        GO_SCOPES,
        GO_SCOPES.replace("(a, b", "(z, b").replace(":= a", ":= z").replace("{a:", "{z:"),
    ),
    ("go", InjectionKind.RENAMED_LOCALS, GO_SCOPES, GO_SCOPES.replace("c := b", "z := b")),
    (
        "go",
        InjectionKind.RENAMED_LOCALS,
        GO_SCOPES,
        GO_SCOPES.replace("c := b\n\t\tuse(c)", "b := b\n\t\tuse(b)"),
    ),
]


@pytest.mark.parametrize(("language", "kind", "before", "after"), WRONG)
def test_a_wrong_edit_is_not_proved(language: str, kind: InjectionKind, before: str, after: str) -> None:
    assert before != after
    assert parse(before, language).ok
    assert parse(after, language).ok
    refused(language, kind, before, after)


@settings(max_examples=80, deadline=None)
@given(
    language=st.sampled_from(LANGUAGES),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 50),
    line=st.integers(0, 400),
)
def test_an_edit_that_also_drops_a_line_of_code_is_not_proved(
    language: str, kind: InjectionKind, seed: int, line: int
) -> None:
    source = PROGRAMS[language]
    lines = injected(language, kind, 4, seed).source.split("\n")
    at = line % len(lines)
    dropped = lines.pop(at).strip()
    mere = ("//", "/*", "*", "console.", "log.Printf", "println", '"log"')
    if not dropped or dropped.startswith(mere) or dropped.endswith("*/"):
        return
    after = "\n".join(lines)
    if parse(after, language).ok:
        refused(language, kind, source, after)


@settings(max_examples=80, deadline=None)
@given(language=st.sampled_from(LANGUAGES), seed=st.integers(0, 99), which=st.integers(0, 99))
def test_a_name_changed_at_all_places_but_one_is_not_proved(language: str, seed: int, which: int) -> None:
    done = injected(language, InjectionKind.RENAMED_LOCALS, 1, seed)
    name = done.inserted[0]
    pieces = done.source.split(name)
    at = 1 + which % (len(pieces) - 1)
    wrong = f"{name.join(pieces[:at])}other{name.join(pieces[at:])}"
    if len(pieces) > 2 and parse(wrong, language).ok:
        refused(language, InjectionKind.RENAMED_LOCALS, PROGRAMS[language], wrong)


def test_the_kinds_prove_only_what_they_are() -> None:
    logged = injected("javascript", InjectionKind.LOGGING).source
    wrapped = injected("javascript", InjectionKind.ERROR_WRAPPERS).source
    for kind in COMMENT_KINDS | {InjectionKind.RENAMED_LOCALS, InjectionKind.ERROR_WRAPPERS}:
        refused("javascript", kind, JAVASCRIPT, logged)
    refused("javascript", InjectionKind.LOGGING, JAVASCRIPT, wrapped)
    for kind in STATEMENT_KINDS:
        assert injector_for("go").prove(GO, GO, kind).holds
        assert injector_for("typescript").prove(TYPESCRIPT, TYPESCRIPT, kind).holds


# --- run --------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node to run the programs")
@pytest.mark.parametrize("kind", KINDS)
def test_the_edited_program_says_the_same(kind: InjectionKind, tmp_path: Path) -> None:
    assert _said(injected("javascript", kind).source, tmp_path) == _said(JAVASCRIPT, tmp_path)


def _said(source: str, folder: Path) -> list[str]:
    file = folder / "program.js"
    file.write_text(source, encoding="utf-8")
    done = subprocess.run(["node", str(file)], capture_output=True, text=True, timeout=60, check=True)
    said = [line for line in done.stdout.splitlines() if line.startswith("= ")]
    assert len(said) == 8
    return said
