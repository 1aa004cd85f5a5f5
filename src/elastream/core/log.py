"""What all of Elastream logs to. A line may quote others: it is made fit here, whoever handles it."""

import logging

from elastream.core.sanitizer import sanitizer


class SafeRecords(logging.Filter):
    """Makes every record fit to be shown and stored."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let all pass."""
        record.msg, record.args = sanitizer().line(record.getMessage()), None
        return True


log = logging.getLogger("elastream")
log.addFilter(SafeRecords())
