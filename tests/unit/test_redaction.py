import pytest

from elastream.config import HIDDEN, Redaction
from elastream.core.errors import BadInput


@pytest.mark.parametrize(
    ("sentence", "hidden"),
    [
        ("password=hunter2", f"password={HIDDEN}"),
        ("apply failed: spark.my.Secret: hunter2, again", f"apply failed: spark.my.Secret: {HIDDEN}, again"),
        ("jdbc:pg://db?user=me&password=hunter2&ssl=1", f"jdbc:pg://db?user=me&password={HIDDEN}&ssl=1"),
        ('{"api_token": "hunter 2"}', f'{{"api_token": {HIDDEN}}}'),
        ("fs.s3a.access.key = hunter2", f"fs.s3a.access.key = {HIDDEN}"),
        ("token: Bearer hunter2", f"token: {HIDDEN}"),
        ("password=1234", f"password={HIDDEN}"),
        ("token=12ab", f"token={HIDDEN}"),
    ],
)
def test_the_value_of_a_telling_key_is_hidden(sentence: str, hidden: str) -> None:
    assert Redaction().text(sentence) == hidden
    assert Redaction().text(hidden) == hidden


@pytest.mark.parametrize(
    "sentence",
    [
        "no useful time measured for tokenize",
        "tokens_per_s=41.5, tokens: 1200.",
        "the tokens are 3",
        "arrival: 41,200/s",
    ],
)
def test_what_is_no_secret_stays(sentence: str) -> None:
    assert Redaction().text(sentence) == sentence


def test_text_below_a_telling_key_is_hidden_at_any_depth_and_numbers_stay() -> None:
    data = {"a": {"Passwords": ["x", {"deep": "y"}, 3]}, "tokens_per_s": 2.5, "plain": ("secret=x", None)}

    assert Redaction().data(data) == {
        "a": {"Passwords": [HIDDEN, {"deep": HIDDEN}, 3]},
        "tokens_per_s": 2.5,
        "plain": [f"secret={HIDDEN}", None],
    }


def test_spark_may_have_another_pattern() -> None:
    redaction = Redaction("(?i)pin|credential")

    assert redaction.text("PIN=1234 password=x") == f"PIN={HIDDEN} password=x"


def test_a_pattern_that_cannot_be_used_is_one_line() -> None:
    with pytest.raises(BadInput, match=r"spark.redaction.regex: '\(' cannot be used"):
        Redaction("(")


def test_a_long_word_costs_no_more_than_its_length() -> None:
    word = "a" * 20_000

    assert Redaction().text(word + " secret") == word + " secret"
