"""Fences by the rules of CommonMark, and the readings of an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from voirdire.errors import UsageError
from voirdire.languages.fences import Reading, blocks, extract

PYTHON = ("python", "py")


def codes(answer: str) -> list[str]:
    return [block.code for block in blocks(answer)]


def test_a_fence_is_closed_by_one_at_least_as_long() -> None:
    assert codes("````\n```\nx\n`````\n") == ["```\nx\n"]


def test_triple_backticks_in_a_docstring_survive_in_a_longer_fence() -> None:
    code = 'def f():\n    """\n    ```\n    f()\n    ```\n    """\n'
    assert codes(f"Here:\n\n````python\n{code}````\nDone.") == [code]


def test_tildes_and_backticks_do_not_close_each_other() -> None:
    assert codes("~~~\n```\nx\n~~~\n") == ["```\nx\n"]


def test_up_to_three_spaces_of_indentation_are_taken_off_the_content() -> None:
    assert codes("   ```\n   if a:\n       b\n  c\n   ```\n") == ["if a:\n    b\nc\n"]


def test_four_spaces_are_no_fence() -> None:
    assert codes("    ```\n    x\n    ```\n") == []


def test_tabs_of_the_code_stay() -> None:
    assert codes("```\nif a:\n\tb\n```\n") == ["if a:\n\tb\n"]


@pytest.mark.parametrize(
    ("info", "tag"),
    [
        ("python", "python"),
        ("Python3 title=x", "python3"),
        ("{.py #id}", "py"),
        ("python:app.py", "python"),
        ("", ""),
    ],
)
def test_the_first_word_of_the_info_string_is_the_tag(info: str, tag: str) -> None:
    (block,) = blocks(f"```{info}\nx\n```")
    assert (block.tag, block.info, block.line, block.closed) == (tag, info, 1, True)


def test_backticks_in_the_info_string_make_it_no_fence() -> None:
    assert codes("``` a`b\nx\n") == []


def test_an_unclosed_last_fence_runs_to_the_end() -> None:
    (block,) = blocks("text\n```python\nx = 1\ny = 2")
    assert (block.code, block.closed, block.line) == ("x = 1\ny = 2\n", False, 2)


def test_a_fence_in_a_list_item_ends_where_the_item_ends() -> None:
    assert codes("1. Do:\n   ```\n   x\n\n   y\n   ```\n2. next\n") == ["x\n\ny\n"]
    assert codes("- ```\n  x\n\nafter\n```\ny\n```\n") == ["x\n\n", "y\n"]


def test_a_fence_in_a_quote() -> None:
    assert codes("> ```py\n> x\n> ```\n") == ["x\n"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end(end: str) -> None:
    assert codes(end.join(["```py", "x", "y", "```", "```", "z", "```"])) == ["x\ny\n", "z\n"]


def test_other_characters_that_break_lines_elsewhere_do_not_break_code() -> None:
    assert codes("```\na = '\u2028'\f\n```") == ["a = '\u2028'\f\n"]


@pytest.mark.parametrize("fence", ["```", "````", "~~~"])
def test_a_whole_answer_in_a_markdown_fence_is_read_inside(fence: str) -> None:
    answer = f"{fence}markdown\nHere:\n\n```python\nx = 1\n```\n{fence}\n"
    assert extract(answer, tags=PYTHON).code(Reading.LAST) == "x = 1\n"


def test_text_after_the_code_in_a_wrapped_answer_changes_nothing() -> None:
    answer = "```md\n```python\nx = 1\n```\nThis sets x.\n```"
    assert [block.tag for block in blocks(answer)] == ["python"]


def test_an_html_tag_alone_on_a_line_hides_nothing() -> None:
    assert codes("<answer>\n```python\nx\n```\n</answer>") == ["x\n"]


OUTPUT_AFTER = "```python\nx = 1\nprint(x)\n```\nOutput:\n```\n1\n```\n"


def test_the_readings_of_an_answer_with_an_output_block() -> None:
    found = extract(OUTPUT_AFTER, tags=PYTHON)
    assert found.code(Reading.LAST) == "1\n"
    assert found.code(Reading.LAST_TAGGED) == found.code(Reading.FIRST) == "x = 1\nprint(x)\n"
    assert found.candidates(Reading.ANY) == ("1\n", "x = 1\nprint(x)\n")
    assert found.code(Reading.WHOLE) == OUTPUT_AFTER
    assert found.differ


def test_one_tagged_block_reads_the_same_everywhere() -> None:
    assert not extract("```py\nx\n```", tags=PYTHON).differ


def test_without_any_block_the_whole_answer_is_the_code() -> None:
    found = extract("x = 1\n", tags=PYTHON)
    assert {found.candidates(reading) for reading in Reading} == {("x = 1\n",)}
    assert found.taken(Reading.LAST) is Reading.WHOLE
    fenced = extract("```\nout\n```\n", tags=PYTHON)
    assert fenced.taken(Reading.LAST) is Reading.LAST
    assert fenced.code(Reading.LAST_TAGGED) == ""


def test_which_block_parses_is_not_known_without_a_parser() -> None:
    with pytest.raises(UsageError, match="before parsing"):
        extract(OUTPUT_AFTER, tags=PYTHON).code(Reading.ANY)


def test_an_empty_closed_last_block_stays_the_last() -> None:
    assert extract("```py\nx\n```\n```\n```", tags=PYTHON).code(Reading.LAST) == ""


# --- beside another reader of the same rules --------------------------------------------------------

LINES = st.sampled_from(
    [
        "```",
        "````",
        "~~~",
        "```python",
        "~~~ js",
        "``` a`b",
        "text",
        "",
        "",
        "- item",
        "1. x",
        "7) y",
        "> q",
        ">",
        "> ```",
        "- ```py",
        "  ```",
        "    ```",
        "\tx",
        "```  ",
        "`````",
        "* * *",
        "---",
        "  - z",
        "      deep",
        "# h",
    ]
)


@given(st.lists(LINES, min_size=1, max_size=8))
def test_fences_are_where_another_implementation_finds_them(lines: list[str]) -> None:
    """markdown-it-py as the oracle, without its HTML blocks; it drops white space at the very end."""
    answer = "\n".join(lines)
    reader = MarkdownIt("commonmark", {"html": False}).disable("html_block")
    expected = [
        (token.content.rstrip(), token.info.strip())
        for token in reader.parse(answer)
        if token.type == "fence"
    ]
    found = [(block.code.rstrip(), block.info) for block in blocks(answer)]
    if len(expected) == len(found) + 1 and not expected[-1][0]:
        expected.pop()  # a last fence with nothing behind it is no block of ours
    assert found == expected
