"""What a broker may be asked for, checked before anything is started."""

from pathlib import Path
from typing import Any

import pytest

from elastream.core.errors import BadInput
from elastream.development.kafka.daemon import properties, server_settings, with_password
from elastream.development.kafka.folder import BrokerError, BrokerFolder
from elastream.development.kafka.local_broker import BrokerSettings, LocalBroker
from elastream.development.kafka.topics import create_topic


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"heap": "lots"}, "broker: heap: 'lots' is not a size of at least 128m, such as 512m or 2g"),
        ({"heap": "64m"}, "broker: heap: '64m' is not a size of at least 128m, such as 512m or 2g"),
        ({"port": 0}, "broker: port: 0 is not from 1 to 65535"),
        ({"port": 65536}, "broker: port: 65536 is not from 1 to 65535"),
        ({"password": ""}, "broker: password: it must be of letters and digits"),
        ({"password": 'a"b'}, "broker: password: it must be of letters and digits"),
        ({"patience_s": 0.0}, "broker: patience_s: 0 is not above 0 and below 3600"),
        ({"patience_s": float("nan")}, "broker: patience_s: nan is not above 0 and below 3600"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput) as refused:
        BrokerSettings(**wrong)
    assert str(refused.value) == told


def test_a_broker_that_was_not_entered_says_how_to() -> None:
    broker = LocalBroker()
    for use in (lambda: broker.bootstrap, lambda: broker.pid, broker.stop, broker.start, broker.pause):
        with pytest.raises(BrokerError, match="enter it first"):
            use()


def test_every_listener_is_on_loopback(tmp_path: Path) -> None:
    settings = server_settings(BrokerFolder(path=tmp_path), 1111, 2222)
    assert settings["listeners"] == "CLIENTS://127.0.0.1:1111,CONTROLLER://127.0.0.1:2222"
    assert settings["advertised.listeners"] == "CLIENTS://127.0.0.1:1111"
    secured = with_password(settings, 3333, "secret")
    assert secured["listeners"] == f"{settings['listeners']},SECURED://127.0.0.1:3333"


def test_a_password_is_not_in_what_settings_show() -> None:
    assert "secret" not in repr(BrokerSettings(password="secret"))


def test_a_backslash_in_a_setting_is_kept() -> None:
    assert properties({"log.dirs": r"/a b\c"}) == "log.dirs=/a b\\\\c\n"


@pytest.mark.parametrize("wrong", [0, -1])
def test_a_topic_has_a_partition_at_least(wrong: int) -> None:
    with pytest.raises(BadInput, match=f"topic events: {wrong} is not a number of partitions from 1"):
        create_topic("127.0.0.1:1", "events", partitions=wrong)
