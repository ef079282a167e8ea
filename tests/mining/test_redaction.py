"""What is taken out of briefs and diffs, what is not, and that a diff keeps its shape."""

import time

import pytest

from voirdire.edits.patch import parse
from voirdire.mining.redaction import SECRETS, redacted_diff, redacted_text

EXAMPLES = {
    "AWS key": "AKIA" + "ABCDEFGHIJ234567",
    "GitHub token": "ghp_" + "aB3" * 12,
    "GitLab token": "glpat-" + "aB3_-" * 4,
    "Slack token": "xoxb-" + "1234567890-abc",
    "Google key": "AIza" + "aB3_-" * 7,
    "Stripe key": "sk_live_" + "aB3d" * 6,
    "model API key": "sk-ant-" + "aB3_-" * 8,
    "npm token": "npm_" + "aB3" * 12,
    "PyPI token": "pypi-" + "aB3_-" * 12,
    "Hugging Face token": "hf_" + "aB3" * 11,
    "SendGrid key": "SG." + "aB3d" * 5 + "." + "aB3d" * 10,
    "JSON web token": "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "aB3_-" * 8,
    "authorization header": "Authorization: Bearer " + "abcdef0123456789",
    "password in a URL": "https://user:hunter2hunter@host.net/x",
    "assigned secret": "DB_PASSWORD = 'abcdef0123456789'",
}


def test_every_kind_has_an_example() -> None:
    assert EXAMPLES.keys() == SECRETS.keys()


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_secret_is_taken_out_and_counted(kind: str) -> None:
    done = redacted_text(f"before {EXAMPLES[kind]} after")
    assert done.removed == {kind: 1}
    assert f"[{kind} removed]" in done.text
    assert done.text.startswith("before ")
    assert done.text.endswith(" after") or kind == "password in a URL"


@pytest.mark.parametrize(
    "text",
    [
        "token = get_token()",
        "password = os.environ['PASSWORD']",
        "the password is a word",
        "sk-learn is a library",
        "https://host:8080/path",
        "mail someone@example.com or x@y.test",
        "logo@2x.png",
        "@app.route('/')",
        "y = x@self.weight(3)",
        "key = 'abcdefghijklmnopqrst'",
        "0123456789abcdef0123456789abcdef01234567",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted_text(text).text == text


@pytest.mark.parametrize("address", ["a@b.de", "first.last+tag@sub.company.co.uk", "x_y%z@a-b.io"])
def test_an_address_is_taken_out(address: str) -> None:
    done = redacted_text(f"({address}), <{address}>.")
    assert (done.text, done.removed) == ("([email removed]), <[email removed]>.", {"email": 2})


KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA\n-----END RSA PRIVATE KEY-----"


def test_a_private_key_goes_from_its_first_line_to_its_last() -> None:
    done = redacted_text(f"a\n{KEY}\nb")
    assert "MIIE" not in done.text
    assert (done.text.count("\n"), done.removed) == (5, {"private key": 1})
    assert done.text.endswith("\nb")


def diff_of(*body: str) -> str:
    """Return a diff of one file whose only hunk has these lines, its counts left to be counted again."""
    return "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n" + "".join(f"{line}\n" for line in body)


def test_a_diff_keeps_its_lines_and_marks() -> None:
    text = diff_of(" a", *(f"+{line}" for line in KEY.split("\n")), "-b", "+mail a@b.de")
    done = redacted_diff(text)
    assert done is not None
    assert [line[:1] for line in done.text.split("\n")] == [line[:1] for line in text.split("\n")]
    assert (done.removed, done.applies) == ({"email": 1, "private key": 1}, True)
    assert parse(done.text).added == 5


@pytest.mark.parametrize("mark", [" ", "-"])
def test_a_changed_line_of_the_base_means_that_the_diff_does_not_apply(mark: str) -> None:
    done = redacted_diff(diff_of(f"{mark}a@b.de", "+c"))
    assert done is not None
    assert not done.applies


def test_a_key_that_is_not_closed_ends_with_its_hunk() -> None:
    done = redacted_diff(diff_of("+-----BEGIN PRIVATE KEY-----", "+AAA") + "@@ -9,1 +9,1 @@ def f\n-b\n+c\n")
    assert done is not None
    assert "AAA" not in done.text
    assert done.text.endswith("@@ -9,1 +9,1 @@ def f\n-b\n+c\n")


def test_an_address_in_a_heading_goes_and_one_in_a_name_refuses_the_diff() -> None:
    done = redacted_diff(diff_of("+c").replace("@@\n", "@@ # a@b.de\n"))
    assert done is not None
    assert "@@ # [email removed]\n" in done.text
    assert done.applies
    assert redacted_diff(diff_of("+c").replace("b/x", "b/a@b.de")) is None


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "a.b." * 25_000 + "@",
        "@" * 100_000,
        "a@" * 50_000,
        "x@" + "a." * 50_000,
        "password=" * 11_000,
        "token='" * 14_000,
        "eyJ-" * 25_000,
        "://" + "a" * 100_000,
        "://a:" * 20_000,
        "-----BEGIN " * 9_000,
        "authorization:" * 7_000,
        "sk-" * 33_000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    redacted_text(text)
    assert time.process_time() - began < 2.0
