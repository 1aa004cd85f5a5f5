"""What has to be known of a cluster manager to change executors."""

from __future__ import annotations

from typing import Protocol, overload


class Conf(Protocol):
    """Settings of an application, as Spark's `SparkConf` gives them."""

    @overload
    def get(self, key: str, default: None, /) -> str | None: ...

    @overload
    def get(self, key: str, default: str, /) -> str: ...


class Manager(Protocol):
    """The facts of one cluster manager. They are values and promise nothing that Spark's own API does."""

    @property
    def starts_at_once(self) -> bool:
        """Whether executors are being started when a request returns: a lower total does not take them back."""

    @property
    def counts_leaving(self) -> bool:
        """Whether executors that were told to go count in the total that is asked for, until they are gone."""

    @property
    def remedy(self) -> str:
        """What to do where it has no room for an executor, in words: room means something else to each."""

    @property
    def sees_processes(self) -> bool:
        """Whether executors may run where the driver can see their processes, and so read what they use."""

    @property
    def takes_places(self) -> bool:
        """Whether we can say where an executor is added."""

    def expect_executors(self, conf: Conf) -> int | None:
        """How many an application that has just begun will have, or None if its settings do not say."""


def configured_instances(conf: Conf) -> int | None:
    """What was asked for when the application was started."""
    instances = conf.get("spark.executor.instances", None)
    return int(instances) if instances else None
