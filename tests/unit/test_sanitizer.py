"""Text from outside, made fit: without secrets, and visible."""

import logging

import pytest

from elastream.core.errors import BadInput, ObservationFailed
from elastream.core.log import log
from elastream.core.printable import MARK, one_line, visible
from elastream.core.sanitizer import Sanitizer, use_pattern
from elastream.core.secret_patterns import HIDDEN
from tests.secret_samples import HARMLESS, HOSTILE, OWN_PATTERN, OWN_SAMPLES, SAMPLES, Sample


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.text[:40])
def test_a_secret_is_hidden_and_the_rest_can_be_read(sample: Sample) -> None:
    fit = Sanitizer()
    line = fit.line(sample.text)

    assert sample.secret in sample.text
    assert sample.secret not in line
    assert HIDDEN in line
    assert fit.line(line) == line


@pytest.mark.parametrize(
    ("sentence", "hidden"),
    [
        ("apply failed: spark.my.Secret: hunter2, again", f"apply failed: spark.my.Secret: {HIDDEN}, again"),
        ("jdbc:pg://db?user=me&password=hunter2&ssl=1", f"jdbc:pg://db?user=me&password={HIDDEN}&ssl=1"),
        ('{"api_token": "hunter 2"}', f'{{"api_token": {HIDDEN}}}'),
        ("(password=hunter2)", f"(password={HIDDEN})"),
        ("a password=hun(ter)2, and more", f"a password={HIDDEN}, and more"),
        ("https://me:hunter2@db:8443/x", f"https://me:{HIDDEN}@db:8443/x"),
        ("Bearer hunter2 is refused", f"Bearer {HIDDEN} is refused"),
    ],
)
def test_only_the_secret_itself_is_hidden(sentence: str, hidden: str) -> None:
    assert Sanitizer().line(sentence) == hidden


@pytest.mark.parametrize("sentence", HARMLESS)
def test_what_is_no_secret_stays(sentence: str) -> None:
    assert Sanitizer().line(sentence) == sentence
    assert Sanitizer(OWN_PATTERN).line(sentence) == sentence


@pytest.mark.parametrize("sample", [*OWN_SAMPLES, *SAMPLES], ids=lambda sample: sample.text[:40])
def test_the_applications_own_pattern_adds_to_what_is_hidden(sample: Sample) -> None:
    assert sample.secret not in Sanitizer(OWN_PATTERN).line(sample.text)


def test_a_name_that_the_own_pattern_matches_may_stand_in_a_sentence() -> None:
    fit = Sanitizer(OWN_PATTERN)

    assert fit.line("customer orders are late") == "customer orders are late"
    assert fit.line("customer: joe") == f"customer: {HIDDEN}"


def test_what_stands_below_a_telling_key_is_hidden_at_any_depth_and_measurements_stay() -> None:
    data = {"a": {"Passwords": ["x", {"deep": "y"}]}, "tokens_per_s": 2.5, "pin": True, "plain": ("secret=x", None)}
    digits = {"api_token": 4711, "password": 17.5, "tokens": 3, "rate": 5}

    assert Sanitizer().data(data) == {
        "a": {"Passwords": [HIDDEN, {"deep": HIDDEN}]},
        "tokens_per_s": 2.5,
        "pin": True,
        "plain": [f"secret={HIDDEN}", None],
    }
    assert Sanitizer().data(digits) == {"api_token": HIDDEN, "password": HIDDEN, "tokens": 3, "rate": 5}


def test_keys_that_are_names_of_operators_hide_nothing() -> None:
    assert Sanitizer().texts({"tokenize": "up", "why": "secret=x"}) == {"tokenize": "up", "why": f"secret={HIDDEN}"}


def test_a_setting_is_hidden_by_its_name_or_as_spark_does_by_its_value() -> None:
    fit = Sanitizer(OWN_PATTERN)

    assert fit.setting("api_token", "hunter2, [3]") == HIDDEN
    assert fit.setting("url", "for customer joe") == HIDDEN
    assert fit.setting("url", "x?password=y&z=1") == f"x?password={HIDDEN}&z=1"
    assert fit.setting("max", 5) == 5


@pytest.mark.parametrize(
    "pattern", ["(?i)customer", "nothing|(?i)customer", r"(?iu)\QCustomer\E", "(?<who>[Cc]ustomer)", r"(?i)customer\z"]
)
def test_javas_ways_to_write_a_pattern_are_understood(pattern: str) -> None:
    assert Sanitizer(pattern).line("CUSTOMER=joe customer=joe").count("joe") == (pattern == "(?<who>[Cc]ustomer)")


@pytest.mark.parametrize(
    "pattern",
    [
        r"\p{Alpha}{3}tomer",
        r"\p{L}ustomer",
        "[a-z&&[^b]]ustomer",
        r"[\p{Alpha}\d]ustomer",
        r"(?d)\h?customer",
        r"\pLust",
    ],
)
def test_what_only_java_knows_hides_rather_too_much(pattern: str) -> None:
    assert "joe" not in Sanitizer(pattern).line("customer=joe")


@pytest.mark.parametrize("pattern", ["(", r"(?!\p{Alpha})key"])
def test_a_pattern_that_means_something_else_here_is_refused_in_a_line(pattern: str) -> None:
    with pytest.raises(BadInput, match=r"spark\.redaction\.regex: .* cannot be used"):
        Sanitizer(pattern)


def test_cost_grows_with_the_length_of_a_text_whatever_the_pattern() -> None:
    fit = Sanitizer("(?i).*password.*|.*secret.*")
    for text in ("a" * 200_000, "a=" * 50_000, "." * 100_000, "://a:" * 20_000, '"' * 100_000, "[" * 50_000):
        # With a cost that grows with the square, each of these would take minutes.
        fit.line(f"{text} end")


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_one_line_of_visible_characters(text: str) -> None:
    assert one_line(text).isprintable()
    assert one_line(text).encode()
    assert visible(text).replace("\n", "").replace("\t", "").isprintable()
    assert Sanitizer().line(text) == one_line(text)


def test_what_cannot_be_seen_is_marked_and_line_ends_are_spaces() -> None:
    assert one_line("a\x1b[31mb\nc") == f"a{MARK}[31mb c"
    assert visible("a\x1b[31mb\nc") == f"a{MARK}[31mb\nc"


def test_every_line_of_the_log_is_fit(caplog: pytest.LogCaptureFixture) -> None:
    use_pattern(OWN_PATTERN)
    with caplog.at_level(logging.INFO, logger="elastream"):
        log.warning("query %s has failed: %s", "acme-4711", "\x1b[2Jpassword=hunter2")

    assert caplog.messages == [f"query {HIDDEN} has failed: {MARK}[2Jpassword={HIDDEN}"]


def test_every_error_of_ours_is_fit() -> None:
    assert str(ObservationFailed("no look:\npassword=hunter2\x1b")) == f"no look: password={HIDDEN}"
