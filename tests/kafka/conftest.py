"""One broker for all tests that need Kafka.

    @pytest.mark.needs("kafka")
    def test_something(broker: LocalBroker, topic: str) -> None:
        create_topic(broker.bootstrap, topic, partitions=4)

It is started by the first test that asks for it. A test may stop, kill or pause it, and leaves it running.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest

from elastream.development.kafka.local_broker import BrokerSettings, LocalBroker
from tests.kafka.records import PASSWORD, SHORT_LIVED


@pytest.fixture(scope="session")
def broker() -> Iterator[LocalBroker]:
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(*SHORT_LIVED)
            broker = stack.enter_context(LocalBroker(BrokerSettings(password=PASSWORD)))
        yield broker


@pytest.fixture
def topic() -> str:
    """A name that no other test uses."""
    return f"topic-{uuid4().hex}"
