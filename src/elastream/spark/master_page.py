"""What a standalone master says of itself on its page."""

import http.client
import json
from typing import Any

# It answers in milliseconds; one that is busy starting executors on a loaded machine may need longer.
PATIENCE_S = 5.0


def master_page(web: str) -> dict[str, Any]:
    """Workers, applications, cores and memory; nothing if it does not answer."""
    # Not urllib, which would ask the proxy of the environment for it.
    line = http.client.HTTPConnection(web.removeprefix("http://"), timeout=PATIENCE_S)
    try:
        line.request("GET", "/json/")
        page = json.loads(line.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        return {}
    finally:
        line.close()
    return page if isinstance(page, dict) else {}


def alive_workers(page: dict[str, Any]) -> int:
    return sum(worker.get("state") == "ALIVE" for worker in page.get("workers", ()))
