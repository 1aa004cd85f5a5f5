import pytest

from elastream.core.callform import Argument, Call, Number, Operation, Range, parse_call, parse_expression, quoted
from elastream.core.errors import BadInput
from elastream.core.quantity import Quantity


def test_a_call_keeps_its_arguments_keys_and_columns() -> None:
    call = parse_call("worker-loss(2, at=10m, of='pool a', hard=true)", what="fault")
    assert call == Call(
        "worker-loss",
        (
            Argument(None, Quantity(2.0), 13),
            Argument("at", Quantity(600.0, "s"), 16),
            Argument("of", "pool a", 24),
            Argument("hard", True, 37),
        ),
        1,
    )


def test_a_bare_name_is_a_call_without_arguments() -> None:
    assert parse_call(" kanis-cosine ", what="workload") == Call("kanis-cosine", (), 2)
    assert parse_call("trace(dsp_taxi_300s)", what="workload").arguments[0].value == Call("dsp_taxi_300s", (), 7)


def test_a_range_has_two_ends() -> None:
    call = parse_call("sine(1..2.5M)", what="workload")
    assert call.arguments[0].value == Range(Quantity(1.0), Quantity(2.5e6))


def test_multiplication_binds_tighter_than_addition() -> None:
    tree = parse_expression("a + 2 * (b + c)", what="workload")
    assert tree == Operation(
        "+",
        (
            Call("a", (), 1),
            Operation("*", (Number(Quantity(2.0), 5), Operation("+", (Call("b", (), 10), Call("c", (), 14)), 10)), 5),
        ),
        1,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "fault: column 1: expected a name, found the end"),
        ("loss(", "fault: column 6: expected a value, found the end"),
        ("loss(1", "fault: column 7: expected ',' or ')', found the end"),
        ("loss(1 2)", "fault: column 8: expected ',' or ')', found '2'"),
        ("loss(at=)", "fault: column 9: expected a value, found ')'"),
        ("loss(1..x)", "fault: column 9: expected a number, found 'x'"),
        ("loss(at=1, 2)", "fault: column 12: expected a setting such as name=value, since one came before, found '2'"),
        ("loss) ", "fault: column 5: expected '+', '*' or the end, found ')'"),
        ("loss('x)", "fault: column 6: a string without its closing quote"),
        ("loss(§)", "fault: column 6: unexpected '§'"),
        ("loss(at=5x)", "fault: column 9: '5x' has an unknown suffix 'x'; known are k, M, G, ms, s, m, h, d, %"),
    ],
)
def test_a_mistake_is_told_in_one_line_with_its_column(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_call(text, what="fault")
    assert str(caught.value) == message


def test_deep_nesting_is_refused_and_does_not_exhaust_the_stack() -> None:
    with pytest.raises(BadInput, match="more than 50 levels"):
        parse_expression("(" * 5000 + "1", what="workload")
    with pytest.raises(BadInput, match="more than 50 levels"):
        parse_expression("a(" * 5000, what="workload")


def test_text_is_not_run_as_python() -> None:
    with pytest.raises(BadInput):
        parse_expression("__import__('os').system('true')", what="workload")


@pytest.mark.parametrize("text", ["plain", 'with "quotes"', "back\\slash", "two\nlines", "'", ""])
def test_a_quoted_text_reads_back(text: str) -> None:
    assert parse_call(f"f({quoted(text)})", what="call").arguments[0].value == text
