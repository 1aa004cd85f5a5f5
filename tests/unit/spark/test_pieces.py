from elastream.spark.jvm.listener import read_pieces

PY4J_WRITES_AT_ONCE = 8_192


class JvmBuilder:
    """Notes how much was asked for at a time."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[int] = []

    def length(self) -> int:
        return len(self.text)

    def substring(self, start: int, end: int) -> str:
        self.asked.append(end - start)
        return self.text[start:end]


def test_a_long_look_is_read_whole_in_pieces_that_py4j_writes_at_once() -> None:
    for length in (0, 1, 6_999, 7_000, 7_001, 530_003):
        text = "".join(chr(32 + number % 90) for number in range(length))
        builder = JvmBuilder(text)
        assert read_pieces(builder) == text
        assert all(0 < size < PY4J_WRITES_AT_ONCE for size in builder.asked)
