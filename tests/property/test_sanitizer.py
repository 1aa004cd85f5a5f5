"""Text made fit stays so, and costs no character that matters."""

from hypothesis import example, given
from hypothesis import strategies as st

from elastream.core.sanitizer import Sanitizer
from tests.secret_samples import HARMLESS, HOSTILE, OWN_PATTERN, OWN_SAMPLES, SAMPLES

_PIECES = [sample.text for sample in (*SAMPLES, *OWN_SAMPLES)] + [*HARMLESS, *HOSTILE]
_BETWEEN = st.sampled_from([" ", ", ", "; ", ": ", "=", '"', "'", "(", ") ", "[", "\n", "\x1b", "&", "@", "//"])
TEXTS = st.lists(st.one_of(st.sampled_from(_PIECES), _BETWEEN, st.text(max_size=8))).map("".join)


@given(TEXTS)
@example("password=\"\" token='' secret=")
def test_fit_text_is_visible_and_is_not_changed_again(text: str) -> None:
    for fit in (Sanitizer(), Sanitizer(OWN_PATTERN)):
        line = fit.line(text)
        assert line.isprintable()
        assert fit.line(line) == line


@given(st.sampled_from([*SAMPLES]), st.sampled_from(HARMLESS), st.sampled_from(HARMLESS))
def test_a_secret_is_hidden_whatever_stands_around_it(sample: tuple[str, str], before: str, after: str) -> None:
    text, secret = sample

    assert secret not in Sanitizer().line(f"{before}; {text}; {after}")
