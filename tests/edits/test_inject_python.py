"""Injections into Python: what is changed, what may not be, and proofs that can fail."""

import ast

import pytest

from voirdire.edits.injection import (
    COMMENT_KINDS,
    Injected,
    InjectionKind,
    NotInjected,
    Wanted,
    injector_for,
)
from voirdire.errors import UsageError

K = InjectionKind
PYTHON = injector_for("python")

PROGRAM = '''"""Module."""
from __future__ import annotations

import math  # for pi


class Circle:
    radius = 1.0

    def area(self, scale=1):
        # squared first
        square = self.radius ** 2
        result = math.pi * square
        if scale > 1:
            result *= scale
        return result


def table(rows, width=3):
    """Text of a table."""
    text = """
  first
 second"""
    for row in rows:
        cell = f"{row!r:>4}"
        text += cell if cell else \\
            "-"
    total = [cell * width for cell in rows]
    return text, total
'''


def injected(
    kind: InjectionKind, source: str = PROGRAM, *, dose: int = 30, lines: frozenset[int] | None = None
) -> Injected:
    done = PYTHON.inject(source, Wanted(kind, dose, 1, "Draw the table. Return its text.", lines))
    assert isinstance(done, Injected), done
    return done


@pytest.mark.parametrize("kind", K)
def test_every_kind_is_made_and_proved(kind: InjectionKind) -> None:
    done = injected(kind)
    assert done.source != PROGRAM
    assert done.places > 0
    proof = PYTHON.prove(PROGRAM, done.source, kind)
    assert proof.holds, proof.why_not
    assert done.lines_added == done.source.count("\n") - PROGRAM.count("\n")


@pytest.mark.parametrize("kind", K)
def test_a_proof_is_for_its_own_kind_of_change_alone(kind: InjectionKind) -> None:
    done = injected(kind)
    takes = {one for one in K if PYTHON.prove(PROGRAM, done.source, one).holds}
    allowed = {
        K.LOGGING: {K.LOGGING, K.SCAFFOLDING},
        K.ERROR_WRAPPERS: {K.ERROR_WRAPPERS, K.SCAFFOLDING},
    }
    inserted = COMMENT_KINDS - {K.COMMENTS_REMOVED}
    if kind in inserted:
        assert takes <= COMMENT_KINDS
    else:
        assert takes <= allowed.get(kind, {kind})


@pytest.mark.parametrize("kind", K)
def test_the_same_seed_gives_the_same_text_and_a_dose_is_the_greatest_number(kind: InjectionKind) -> None:
    assert injected(kind) == injected(kind)
    assert injected(kind, dose=1).places == 1
    assert isinstance(PYTHON.inject(PROGRAM, Wanted(kind, 0, 1, "Draw the table.")), NotInjected)


@pytest.mark.parametrize("kind", K)
def test_only_lines_that_may_be_touched_are(kind: InjectionKind) -> None:
    allowed = frozenset(range(11, 16))
    done = PYTHON.inject(PROGRAM, Wanted(kind, 30, 1, "Draw the table.", allowed))
    if isinstance(done, NotInjected):
        assert kind is K.DOCSTRINGS or done.reason
        return
    kept = [line for number, line in enumerate(PROGRAM.split("\n"), 1) if number not in allowed]
    lines = iter(done.source.split("\n"))
    assert all(line in lines for line in kept)
    assert done.source.split("\n")[:9] == PROGRAM.split("\n")[:9]
    assert done.source.endswith("\n".join(PROGRAM.split("\n")[17:]))


def test_the_edited_program_does_the_same() -> None:
    for kind in K:
        space: dict[str, object] = {"__name__": "made"}
        before: dict[str, object] = {"__name__": "made"}
        exec(compile(PROGRAM, "p", "exec"), before)
        exec(compile(injected(kind).source, "p", "exec"), space)
        assert space["table"](["a", "b"]) == before["table"](["a", "b"])  # type: ignore[operator]
        assert space["Circle"]().area(3) == before["Circle"]().area(3)  # type: ignore[operator]


def test_line_ends_and_a_missing_last_newline_stay() -> None:
    source = PROGRAM.rstrip("\n").replace("\n", "\r\n")
    for kind in (K.NEUTRAL_COMMENTS, K.SCAFFOLDING, K.DOCSTRINGS, K.COMMENTS_REMOVED):
        done = injected(kind, source)
        assert not done.source.endswith("\n")
        assert "\n" not in done.source.replace("\r\n", "")
        assert PYTHON.prove(source, done.source, kind).holds


def test_comments_that_the_interpreter_reads_are_kept() -> None:
    source = "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nx = 1  # one\n"
    assert (
        injected(K.COMMENTS_REMOVED, source).source
        == "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nx = 1\n"
    )


def test_a_brief_cannot_leave_its_comment() -> None:
    brief = 'Stop here.\nimport os; os.system("x")\r# type: ignore */ """ \x0c end of the line'
    done = PYTHON.inject(PROGRAM, Wanted(K.BRIEF_COMMENTS, 30, 1, brief))
    assert isinstance(done, Injected)
    assert ast.dump(ast.parse(done.source)) == ast.dump(ast.parse(PROGRAM))
    assert PYTHON.inject(PROGRAM, Wanted(K.BRIEF_COMMENTS, 3, 1, "?!")) == NotInjected(
        "there is no brief to echo"
    )


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "def f(:\n",
        "x = " + "-" * 5000 + "1\n",
        "\x00",
        "def f():\n\treturn 1\n        x\n",
    ],
)
def test_what_is_no_program_has_a_reason(source: str) -> None:
    for kind in K:
        assert isinstance(PYTHON.inject(source, Wanted(kind, 3, 1, "Draw the table.")), NotInjected)
    assert isinstance(PYTHON.stub(source, Wanted(K.LOGGING, 3, 1)), NotInjected)
    assert not PYTHON.prove(source, source + "# c\n", K.NEUTRAL_COMMENTS).holds


def test_a_language_without_an_injector_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="cobol"):
        injector_for("cobol")


@pytest.mark.parametrize(
    "body",
    [
        "def f():\n    x = 1\n    return locals()\n",
        "def f():\n    x = 1\n    return eval('x')\n",
        "def f():\n    global x\n    x = 1\n    return x\n",
        "def f(x):\n    x = x + 1\n    return x\n",
        "def f():\n    x = 1\n    def g():\n        return x\n    return g\n",
        "def f():\n    x = 1\n    return lambda: x\n",
        "def f():\n    x = 1\n    class A:\n        y = x\n    return A\n",
        "def f():\n    import os as x\n    return x\n",
        "def f():\n    try:\n        pass\n    except E as x:\n        return x\n",
        "def f():\n    x = 1\n    return f'{x=}'\n",
        "def f(v):\n    match v:\n        case {'a': x}:\n            return x\n",
        "def f():\n    return [x for x in y]\n",
        "x = 1\n",
    ],
)
def test_variables_that_something_else_can_see_are_not_renamed(body: str) -> None:
    done = PYTHON.inject(body, Wanted(K.RENAMED_LOCALS, 9, 1))
    assert isinstance(done, NotInjected), getattr(done, "source", "")


def test_a_variable_is_renamed_everywhere_in_its_function_and_nowhere_else() -> None:
    source = (
        "x = 0\ndef f(a):\n    x = a.x + g(x=1)\n    x += sum(x for _ in a)\n    del x\n    return f'{a}'\n"
        "def g(x):\n    return x\n"
    )
    done = injected(K.RENAMED_LOCALS, source)
    assert (
        "    x_value = a.x + g(x=1)\n    x_value += sum(x_value for _ in a)\n    del x_value\n" in done.source
    )
    assert done.source.startswith("x = 0\n")
    assert done.source.endswith("def g(x):\n    return x\n")


# --- proofs that fail -----------------------------------------------------------------------------------------

PLAIN = "import logging\n\n\ndef f(a, b):\n    c = a + b\n    d = c * 2\n    return d\n"


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        (K.NEUTRAL_COMMENTS, "    c = a + b\n", "    # add\n    c = a - b\n"),
        (K.NEUTRAL_COMMENTS, "    c = a + b\n", "    c = a + b  # add\n"),
        (K.NEUTRAL_COMMENTS, "    c = a + b\n", "    # add\n    c = (a + b)\n"),
        (K.NEUTRAL_COMMENTS, "    c = a + b\n", "    '''add'''\n    c = a + b\n"),
        (K.COMMENTS_REMOVED, "    d = c * 2\n", ""),
        (K.LOGGING, "    d = c * 2\n", "    print('d')\n    d = c * 2\n"),
        (K.LOGGING, "    d = c * 2\n", "    logging.debug('root')\n    d = c * 2\n"),
        (K.LOGGING, "    d = c * 2\n", "    logging.getLogger(__name__).warning('x')\n    d = c * 2\n"),
        (K.LOGGING, "    d = c * 2\n", "    logging.getLogger(__name__).debug(f'{a}')\n    d = c * 2\n"),
        (K.LOGGING, "    d = c * 2\n", "    logging.getLogger(__name__).debug('%s', g())\n    d = c * 2\n"),
        (K.LOGGING, "    d = c * 2\n", "    logging.getLogger(__name__).debug('%s', d)\n    d = c * 2\n"),
        (
            K.LOGGING,
            "    c = a + b\n    d = c * 2\n",
            "    logging.getLogger(__name__).debug('x')\n    d = c * 2\n    c = a + b\n",
        ),
        (K.LOGGING, "    d = c * 2\n", "    logging.getLogger(__name__).debug('x')\n"),
        (
            K.LOGGING,
            "    d = c * 2\n",
            "    if a:\n        logging.getLogger(__name__).debug('x')\n    d = c * 2\n",
        ),
        (K.LOGGING, "    return d\n", "    logging.getLogger(__name__).debug('x')\n    return c\n"),
        (K.LOGGING, "import logging\n", "import logging\nlogging = None\n"),
        (
            K.ERROR_WRAPPERS,
            "    d = c * 2\n",
            "    try:\n        d = c * 2\n    except Exception:\n        pass\n",
        ),
        (K.ERROR_WRAPPERS, "    d = c * 2\n", "    try:\n        d = c * 2\n    except:\n        raise\n"),
        (
            K.ERROR_WRAPPERS,
            "    d = c * 2\n",
            "    try:\n        d = c * 2\n    except Exception as d:\n        raise\n",
        ),
        (
            K.ERROR_WRAPPERS,
            "    d = c * 2\n",
            "    try:\n        d = c * 2\n    except Exception:\n        raise ValueError\n",
        ),
        (
            K.ERROR_WRAPPERS,
            "    d = c * 2\n",
            "    try:\n        d = c * 2\n    except Exception:\n        raise\n    finally:\n        d = 0\n",
        ),
        (
            K.ERROR_WRAPPERS,
            "    d = c * 2\n",
            "    try:\n        d = c * 2\n    except Exception:\n        d = 0\n        raise\n",
        ),
        (K.DOCSTRINGS, "    c = a + b\n", "    '''Add.'''\n    c = a * b\n"),
        (K.DOCSTRINGS, "    d = c * 2\n", "    '''Add.'''\n    d = c * 2\n"),
        (K.RENAMED_LOCALS, "    d = c * 2\n    return d\n", "    e = c * 2\n    return d\n"),
        (K.RENAMED_LOCALS, "    d = c * 2\n    return d\n", "    c = c * 2\n    return c\n"),
        (K.RENAMED_LOCALS, "    d = c * 2\n    return d\n", "    len = c * 2\n    return len\n"),
        (K.RENAMED_LOCALS, "    d = c * 2\n    return d\n", "    a = c * 2\n    return a\n"),
        (K.RENAMED_LOCALS, "def f(a, b):\n    c = a + b\n", "def f(x, b):\n    c = x + b\n"),
        (K.SCAFFOLDING, "    d = c * 2\n", "    # double\n    d = c * 3\n"),
    ],
)
def test_a_change_of_what_the_program_does_is_not_proved(kind: InjectionKind, old: str, new: str) -> None:
    assert old in PLAIN
    proof = PYTHON.prove(PLAIN, PLAIN.replace(old, new), kind)
    assert not proof.holds
    assert proof.why_not


def test_an_inserted_import_may_not_hide_what_the_name_means() -> None:
    source = "def f(logging):\n    return logging\n"
    after = "def f(logging):\n    import logging\n    logging.getLogger(__name__).debug('x')\n    return logging\n"
    assert not PYTHON.prove(source, after, K.LOGGING).holds
    assert PYTHON.inject(source, Wanted(K.LOGGING, 3, 1)) == NotInjected(
        "the name 'logging' means something else here"
    )


def test_a_log_call_needs_its_import_first() -> None:
    source = "def f():\n    return 1\n"
    after = "def f():\n    logging.getLogger(__name__).debug('x')\n    import logging\n    return 1\n"
    assert not PYTHON.prove(source, after, K.LOGGING).holds
    good = "def f():\n    import logging\n    logging.getLogger(__name__).debug('x')\n    return 1\n"
    assert PYTHON.prove(source, good, K.LOGGING).holds


def test_nothing_changed_is_no_proof() -> None:
    assert PYTHON.prove(PLAIN, PLAIN, K.LOGGING).why_not == "nothing was changed"
    assert not PYTHON.prove(PLAIN, PLAIN + "\n", K.LOGGING).holds


def test_what_a_person_might_write_is_proved() -> None:
    after = (
        'import logging\n\nlogger = logging.getLogger(__name__)\n\n\ndef f(a, b):\n    logger.debug("adding %s and %s", a, b)\n'
        "    c = a + b\n    try:\n        d = c * 2\n    except Exception:\n"
        '        logger.debug("doubling failed", exc_info=True)\n        raise\n    # done\n    return d\n'
    )
    proof = PYTHON.prove(PLAIN, after, K.SCAFFOLDING)
    assert proof.holds, proof.why_not
    assert not PYTHON.prove(PLAIN, after, K.LOGGING).holds


# --- the control ----------------------------------------------------------------------------------------------


def test_emptied_functions_keep_their_docstrings_and_parse() -> None:
    done = PYTHON.stub(PROGRAM, Wanted(K.LOGGING, 1, 1))
    assert isinstance(done, Injected)
    assert done.places == 2
    assert '    """Text of a table."""\n    return None\n' in done.source
    assert "        return None\n" in done.source
    assert "math.pi" not in done.source
    some = PYTHON.stub(PROGRAM, Wanted(K.LOGGING, 1, 1, lines=frozenset(range(11, 17))))
    assert isinstance(some, Injected)
    assert some.places == 1
