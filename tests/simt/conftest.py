"""What the tests of the machine share.

Without numba-cuda, what Numba's own, older CUDA target does not have is left out.
"""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from simt.host.work.queue import work_queue


@pytest.fixture(autouse=True)
def _work_is_done() -> Iterator[None]:
    """What a test has put on streams does not wait for the next one's."""
    yield
    work_queue.finish()


if find_spec("numba_cuda") is None:
    collect_ignore = [
        f"test_{subject}.py"
        for subject in (
            "elementwise", "error_classes", "extensions", "frozen", "language", "libdevice",
            "number_types", "switch", "ufuncs",
        )
    ]  # fmt: skip

    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        """That target fails over `max` and `min` itself: told once, in whatever test is first."""
        told = "ignore:Numba could not be asked.*Signature mismatch"
        for item in items:
            item.add_marker(pytest.mark.filterwarnings(told))
