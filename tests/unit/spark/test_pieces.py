from elastream.spark.jvm.listener import read_pieces
from tests.unit.spark.java_builder import JavaBuilder

PY4J_WRITES_AT_ONCE = 8_192


def test_a_long_look_is_read_whole_in_pieces_that_py4j_writes_at_once() -> None:
    for length in (0, 1, 6_999, 7_000, 7_001, 530_003):
        text = "".join(chr(32 + number % 90) for number in range(length))
        builder = JavaBuilder(text)
        assert read_pieces(builder) == text
        assert all(0 < size < PY4J_WRITES_AT_ONCE for size in builder.asked)
