"""The page of an attached application, and what somebody with the token does there."""

from pathlib import Path
from typing import Any

import pytest

from elastream.core.control import Control
from elastream.journal.resume import last_control
from tests.unit.service.asking import post
from tests.unit.test_attachment import Context, Pretended, Session, attached, pretended, wait_for

__all__ = ["pretended"]


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "appName", "shop", raising=False)


def test_whoever_has_the_token_pauses_a_run_at_its_page_and_a_restart_of_the_driver_stays_paused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    file = tmp_path / "token"
    settings: dict[str, Any] = {"journal__folder": str(tmp_path / "journal"), "policy_settings": {"workers": 5}}
    settings |= {"page": True, "page__token": str(file)}
    handle = attached(**settings)
    (platform,) = Pretended.made
    wait_for(lambda: platform.wanted == 5)
    assert handle.page is not None
    page, token = handle.page, file.read_text().strip()

    cookie = post(page, "/session", {"token": token}).cookie
    post(page, "/control", {"do": "bounds", "low": 2, "high": 4}, Cookie=cookie)
    wait_for(lambda: platform.wanted == 4)
    post(page, "/control", {"do": "pause"}, Cookie=cookie)
    wait_for(lambda: (last_control(tmp_path / "journal") or Control()).mode == "paused")
    assert handle.status().state == "paused"
    handle.detach()

    again = attached(Session("app-2"), **settings)
    wait_for(lambda: again.status().ticks > 2)
    assert again.status().state == "paused"
    assert Pretended.made[-1].wanted == 3
    assert "goes on as the run before was left at its page: paused, bounds 2..4" in caplog.text
    assert f"the token that controls it lies in {file}" in caplog.text
    assert token not in caplog.text
    again.detach()

    # Without a token nobody could take it back.
    settings = {key: value for key, value in settings.items() if not key.startswith("page")}
    assert attached(Session("app-3"), **settings).status().state == "running"
    wait_for(lambda: Pretended.made[-1].wanted == 5)
