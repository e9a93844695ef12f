"""What tests of figures share."""

import pytest


@pytest.fixture
def figures_of(monkeypatch):
    """Give it a module of figures: a list of those that it makes, before they become bytes."""

    def collect(module):
        figures, whole = [], module.show
        monkeypatch.setattr(module, "show", lambda fig, alt: figures.append(fig) or whole(fig, alt))
        return figures

    return collect
