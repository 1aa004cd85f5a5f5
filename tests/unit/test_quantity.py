import pytest

from elastream.core.errors import BadInput
from elastream.core.quantity import Quantity, parse_quantity, spell_number, spell_seconds


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("200k", 200_000.0, ""),
        ("2.2M", 2_200_000.0, ""),
        ("1_000", 1000.0, ""),
        ("1e6", 1_000_000.0, ""),
        ("-3", -3.0, ""),
        ("90m", 5400.0, "s"),
        ("1h30m", 5400.0, "s"),
        ("250ms", 0.25, "s"),
        ("2d", 172_800.0, "s"),
        ("5%", 0.05, "%"),
    ],
)
def test_a_number_is_read_with_its_suffix(text: str, value: float, unit: str) -> None:
    quantity = parse_quantity(text)
    assert (quantity.value, quantity.unit) == (value, unit)


@pytest.mark.parametrize("text", ["", "k", "5x", "1k2k", "1h5", "5 m 3", "nan", "inf", "1e999", "--1", "5M%"])
def test_what_is_not_a_number_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        parse_quantity(text)


def test_an_unknown_suffix_is_answered_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match=r"'5x' has an unknown suffix 'x'; known are k, M, G, ms, s, m, h, d, %"):
        parse_quantity("5x")


def test_numbers_are_spelled_short() -> None:
    assert [spell_number(n) for n in (0, 5, 1500, 200e3, 2.2e6, 2502e3, 0.1)] == [
        "0",
        "5",
        "1.5k",
        "200k",
        "2.2M",
        "2502k",
        "0.1",
    ]
    assert [spell_seconds(s) for s in (0, 1, 90, 300, 5400, 7200, 2.5)] == [
        "0s",
        "1s",
        "90s",
        "5m",
        "90m",
        "2h",
        "2.5s",
    ]


def test_a_share_is_spelled_in_per_cent() -> None:
    assert str(Quantity(0.05, "%")) == "5%"


@pytest.mark.parametrize(
    "text", ["1e-500099999999999999999999999999", "1e99999999999999999999k", "2e-99999999999999999999s"]
)
def test_an_exponent_that_no_number_has_is_no_number(text: str) -> None:
    with pytest.raises(BadInput, match="is not a number"):
        parse_quantity(text)


def test_a_duration_of_any_length_can_be_spelt() -> None:
    for seconds in (1e300, 3.6e33, 5e-324, 3600.0):
        assert parse_quantity(spell_seconds(seconds)).value == seconds
