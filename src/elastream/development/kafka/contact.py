"""The first contact with a broker: who does not answer is told in a line, within seconds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from elastream.core.errors import ElastreamError

if TYPE_CHECKING:
    from confluent_kafka.admin._metadata import TopicMetadata

# An unreachable broker is to be told within ten seconds; one that has just been started answers in fewer.
REACH_S = 6.0
# In pieces, because librdkafka does not hear Ctrl-C.
TRY_S = 2.0


class Troubles:
    """What librdkafka says about its connections: `note` is its error callback."""

    def __init__(self) -> None:
        self.last = ""
        self.fatal = ""
        self.all_down = False

    def note(self, error: Any) -> None:
        if error.fatal():
            self.fatal = error.str()
        elif error.name() == "_ALL_BROKERS_DOWN":
            self.all_down = True
        else:
            self.last = error.str()


def list_topics(client: Any, bootstrap: str, troubles: Troubles) -> Mapping[str, TopicMetadata]:
    """All topics of a broker: asking for one by name may create it."""
    from confluent_kafka import KafkaException

    tries = round(REACH_S / TRY_S)
    for left in reversed(range(tries)):
        try:
            found: Mapping[str, TopicMetadata] = client.list_topics(timeout=TRY_S).topics
        except KafkaException as wrong:
            client.poll(0)
            if not left:
                why = troubles.last or wrong.args[0].str()
                raise ElastreamError(f"{bootstrap}: no Kafka broker answers: {_plain(why)}") from None
        else:
            return found
    raise AssertionError("the last try returns or raises")


def _plain(said: str) -> str:
    """librdkafka's line without the names of its threads."""
    return re.sub(r"^\[thrd:[^\]]*\]:?\s*", "", said)
