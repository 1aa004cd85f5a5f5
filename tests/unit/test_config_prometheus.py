"""What may be asked of Prometheus, as it is set."""

import re
from pathlib import Path

import pytest

from elastream.config import PrometheusSettings, resolve
from elastream.config.prometheus import is_selector
from elastream.core.errors import BadInput
from elastream.registry import without_unit

DOCS = Path(__file__).parents[2] / "docs" / "prometheus.md"
URL = "http://prometheus:9090"


def settle(**flags: object) -> object:
    given = {f"prometheus.{name}": value for name, value in flags.items()}
    return resolve(given, {}, {}, None).settings.prometheus


@pytest.mark.parametrize(
    "promql", ["up", "job:up:sum", 'up{a="b"}', "{__name__=~'x.*'}", 'up {a="}[1m])"}', r'up{a="\""}', "up{}"]
)
def test_a_selector_names_series(promql: str) -> None:
    assert is_selector(promql)


@pytest.mark.parametrize("promql", ["sum(up)", "up[1m]", "up + up", "up offset 1m", 'up{a="b"} or down', "1", ""])
def test_anything_else_is_an_expression(promql: str) -> None:
    assert not is_selector(promql)


def test_nothing_is_asked_unless_it_is_set() -> None:
    assert getattr(settle(), "url") is None  # noqa: B009 (a model of pydantic behind a wider type)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"url": URL}, "url is set and no question"),
        ({"cpu": "c"}, "there is a question and no url"),
        ({"url": "file:///etc/passwd", "cpu": "c"}, "it must be an address"),
        ({"url": "ftp://host", "cpu": "c"}, "it must be an address"),
        ({"url": "http://host:99999", "cpu": "c"}, "it must be an address"),
        ({"url": "http://host/x?y=1", "cpu": "c"}, "it must be an address"),
        ({"url": "http://host\r\nX: y", "cpu": "c"}, "it must be an address"),
        ({"url": "http://ali:hunter2@host", "cpu": "c"}, "credentials do not stand in an address"),
        ({"url": URL, "cpu": "sum(c)"}, "prometheus.cpu_times"),
        ({"url": URL, "cpu": "c", "lag_times": "t"}, "lag_times is set and lag is not"),
        ({"url": URL, "cpu": "c", "executor_pattern": "("}, "no regular expression"),
        ({"url": URL, "cpu": "c", "executor_pattern": "(a)(b)"}, "2 groups"),
        ({"url": URL, "cpu": "c", "user": "ali"}, "user and password_file"),
        ({"url": URL, "cpu": "c", "executor_is": "pod"}, "'id' or 'host'"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_line(flags: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput) as refused:
        settle(**flags)
    assert said in str(refused.value)
    assert "hunter2" not in str(refused.value)


def examples() -> list[str]:
    blocks = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    return [block for block in blocks if block.startswith("prometheus:")]


@pytest.mark.parametrize("block", examples())
def test_what_the_page_shows_can_be_set(block: str, tmp_path: Path) -> None:
    file = tmp_path / "elastream.yaml"
    file.write_text(block)
    assert resolve({}, {}, {}, file).settings.prometheus.url == "http://prometheus.monitoring:9090"


def test_the_page_lists_every_setting_with_its_default() -> None:
    text = DOCS.read_text(encoding="utf-8")
    listed = set(re.findall(r"`(?:prometheus)?\.(\w+)`", "".join(re.findall(r"^\| (`prometheus[^|]*) \|", text, re.M))))
    assert listed == {without_unit(name) for name in PrometheusSettings.model_fields}
    assert len(examples()) == 3
