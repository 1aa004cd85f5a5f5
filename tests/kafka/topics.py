"""What tests do to topics, and nobody else: removed, and given more partitions."""

from elastream.development.kafka.topics import PATIENCE_S, admin_of, count_led, finish, wait_until


def delete_topic(bootstrap: str, name: str) -> None:
    """Remove a topic and all that is in it."""
    admin = admin_of(bootstrap)
    finish(admin.delete_topics([name], request_timeout=PATIENCE_S)[name], f"{name}: cannot be removed", bootstrap)
    wait_until(admin, bootstrap, name, lambda topic: topic is None)


def add_partitions(bootstrap: str, name: str, total: int) -> None:
    """Let a topic have that many partitions, more than it has; what is there stays where it is."""
    admin = admin_of(bootstrap)
    from confluent_kafka.cimpl import NewPartitions

    done = admin.create_partitions([NewPartitions(name, total)], request_timeout=PATIENCE_S)[name]
    finish(done, f"{name}: cannot have {total} partitions", bootstrap)
    wait_until(admin, bootstrap, name, lambda topic: topic is not None and count_led(topic) >= total)
