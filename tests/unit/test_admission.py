"""What the error of a call to a standalone master means. Messages are those of Spark 4.2."""

import pytest

from elastream.spark.admission import read_refusal

AWAIT = ("org.apache.spark.SparkException", "Exception thrown in awaitResult: ")
DROPPED = ("org.apache.spark.SparkException", "Message is dropped because Outbox is stopped")
SASL = (
    "java.lang.RuntimeException",
    "java.lang.RuntimeException: javax.security.sasl.SaslException: DIGEST-MD5",
)
OPEN = ("java.lang.RuntimeException", "java.lang.IllegalStateException: Expected SaslMessage, received something else")
CLOSED = ("java.net.ConnectException", "finishConnect(..) failed with error(-111): Connection refused")
SLOW = ("org.apache.spark.rpc.RpcTimeoutException", "Cannot receive any reply from 10.0.0.1:7077 in 120 seconds")
OTHER = ("java.lang.IllegalStateException", "RpcEnv has been stopped")


@pytest.mark.parametrize("cause", [DROPPED, SASL])
def test_another_secret_is_told_at_once(cause: tuple[str, str]) -> None:
    refusal = read_refusal([AWAIT, cause], has_secret=True)
    assert refusal is not None
    assert refusal.is_final
    assert refusal.reason.startswith("the master refuses this driver: the driver's secret is not the cluster's; name a")


def test_no_secret_is_told_at_once() -> None:
    refusal = read_refusal([AWAIT, OPEN], has_secret=False)
    assert refusal is not None
    assert refusal.is_final
    assert "it wants a secret" in refusal.reason


def test_who_does_not_listen_may_do_so_in_a_moment() -> None:
    refusal = read_refusal([AWAIT, ("java.io.IOException", "Failed to connect"), CLOSED], has_secret=False)
    assert refusal is not None
    assert not refusal.is_final
    assert "no master answers there" in refusal.reason


@pytest.mark.parametrize("cause", [SLOW, OTHER])
def test_what_says_nothing_for_sure_is_left_to_spark(cause: tuple[str, str]) -> None:
    assert read_refusal([AWAIT, cause], has_secret=False) is None
