"""Listening sockets as the system knows them (Linux)."""

from ipaddress import ip_address
from pathlib import Path

LISTENING = "0A"
LOOPBACKS = {"127.0.0.1", "::1"}


def listening(pid: int) -> set[tuple[str, int]]:
    """Addresses and ports on which a process accepts connections; none of one that has ended."""
    try:
        held = {str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return set()
    return {
        (text(address), int(port, 16))
        for family in ("tcp", "tcp6")
        for _, local, _, state, *rest in map(str.split, Path(f"/proc/net/{family}").read_text().splitlines()[1:])
        for address, port in [local.split(":")]
        if state == LISTENING and f"socket:[{rest[5]}]" in held
    }


def text(address: str) -> str:
    """The kernel prints words of four bytes as this machine stores them, hence the turning round.

    A JVM's socket of the newer family may stand for an address of the older one.
    """
    words = [address[start : start + 8] for start in range(0, len(address), 8)]
    found = ip_address(b"".join(bytes.fromhex(word)[::-1] for word in words))
    return str(getattr(found, "ipv4_mapped", None) or found)
