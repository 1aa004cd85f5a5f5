"""What is put in place of something that other threads of this process use as well, such as those of a JVM's client."""

import threading
from collections.abc import Callable


def only_here(fake: Callable[[float], None], really: Callable[[float], None]) -> Callable[[float], None]:
    """The fake for this thread, and for all others what really is."""
    here = threading.get_ident()

    def either(seconds: float) -> None:
        (fake if threading.get_ident() == here else really)(seconds)

    return either
