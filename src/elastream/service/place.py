"""Where a page is served, and to whom."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

from elastream.core.errors import BadInput
from elastream.daemons.ports import LOOPBACK, connection_owner
from elastream.service.access import Access
from elastream.service.token_file import read_token

OWN_NAMES = frozenset({"localhost", LOOPBACK})


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePlace:
    """An address, the names that it is asked by, and the file of the token."""

    host: str = LOOPBACK
    port: int | None = None
    """None: 8620, or the next that is free."""
    names: tuple[str, ...] = ()
    """Other names of this host, such as that of a proxy in front of it."""
    token: Path | None = None

    @property
    def address(self) -> str:
        """What the host's name leads to."""
        try:
            return socket.gethostbyname(self.host)
        except OSError as wrong:
            raise BadInput(f"page.host: {self.host}: {wrong.strerror}; name an address of this machine") from None

    @property
    def is_open(self) -> bool:
        """Whether others than this machine can reach it."""
        return not ipaddress.ip_address(self.address).is_loopback

    @property
    def shown_host(self) -> str:
        """By which name somebody may look for it."""
        return socket.gethostname() if ipaddress.ip_address(self.address).is_unspecified else self.host

    def open_access(self) -> Access:
        """Who may look and act there; BadInput where others could look without a token."""
        is_open = self.is_open
        if is_open and self.token is None:
            raise BadInput(
                f"page.host: {self.host}: whoever reaches this machine could look; name a file for the token "
                f"(page.token), or leave the page on {LOOPBACK}"
            )
        names = {*OWN_NAMES, self.host, *self.names}
        if is_open:
            names |= {socket.gethostname(), socket.getfqdn()}
        token = None if self.token is None else read_token(self.token)
        return Access(token=token, names=frozenset(map(str.lower, names)), is_open=is_open, find_user=connection_owner)
