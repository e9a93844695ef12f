"""Fixtures that every test lives under."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that solves an exercise must not touch the progress of whoever runs it."""
    monkeypatch.setenv("GPULEARN_PROGRESS", str(tmp_path / "progress.json"))
