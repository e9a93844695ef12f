"""Fixtures that every test lives under."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# no test depends on how fast this machine is, or on what else it does
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def _own_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that solves an exercise must not touch the progress of whoever runs it."""
    monkeypatch.setenv("GPULEARN_PROGRESS", str(tmp_path / "progress.json"))
