"""What a standalone master says of itself on its page, which it shows only to those who have the key."""

import base64
import hashlib
import hmac
import http.client
import json
import time
from typing import Any

from elastream.daemons.ports import listens
from elastream.daemons.processes import Process

# It answers in milliseconds; one that is busy starting executors on a loaded machine may need longer.
PATIENCE_S = 5.0
# A token that got into other hands is soon worth nothing.
TOKEN_LASTS_S = 60


def master_page(web: str, master: Process, key: str) -> dict[str, Any]:
    """Workers, applications, cores and memory; nothing if it does not answer, or somebody else does in its place."""
    address = web.removeprefix("http://")
    port = int(address.rpartition(":")[2])
    if not listens(master, port):
        return {}
    # Not urllib, which would ask the proxy of the environment for it.
    line = http.client.HTTPConnection(address, timeout=PATIENCE_S)
    try:
        line.request("GET", "/json/", headers={"Authorization": f"Bearer {token(key, time.time())}"})
        answer = line.getresponse()
        page = json.loads(answer.read()) if answer.status == http.client.OK else {}
    except (OSError, ValueError, http.client.HTTPException):
        return {}
    finally:
        line.close()
    # It takes its port once, so that nobody else had it meanwhile if it has it still.
    return page if isinstance(page, dict) and listens(master, port) else {}


def token(key: str, now_s: float) -> str:
    """A JSON Web Token (RFC 7519) signed with HMAC-SHA256, which is what Spark's filter wants to see."""
    claims = [{"alg": "HS256", "typ": "JWT"}, {"exp": int(now_s) + TOKEN_LASTS_S}]
    signed = ".".join(_spell(json.dumps(part).encode()) for part in claims)
    secret = base64.urlsafe_b64decode(f"{key}==")
    return f"{signed}.{_spell(hmac.digest(secret, signed.encode(), hashlib.sha256))}"


def alive_workers(page: dict[str, Any]) -> int:
    return sum(worker.get("state") == "ALIVE" for worker in page.get("workers", ()))


def _spell(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
