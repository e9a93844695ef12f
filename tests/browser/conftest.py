"""JupyterLab as a learner has it, in Debian's Chromium: fixtures for the browser tests."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest

from ..support.ready import ready_python
from .reduced import reduced

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
TOKEN = "learner"
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
# Chromium without its own traffic; root has no sandbox.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
POLLING = 100  # milliseconds; by itself a page is asked, and drawn, 60 times a second
PATIENCE = 120_000  # milliseconds: ends what never comes; a busy machine may be slow
# what File → Open from Path and closing all tabs do, without their questions
OPEN = """async path => {
    await jupyterapp.restored;
    const others = [...jupyterapp.shell.widgets("main")];  // the launcher
    const opened = await jupyterapp.commands.execute("docmanager:open", {path});
    others.forEach(tab => tab.dispose());
    await opened.context.ready;
    await opened.context.sessionContext.ready;
}"""
CLOSE = "() => [...jupyterapp.shell.widgets('main')].forEach(tab => tab.dispose())"
SETTINGS = {
    # no question about news at the first start, and every cell stays in the page
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """The address of a running JupyterLab, and the copy of the notebooks that it shows."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(NOTEBOOKS, home / "notebooks")
    for name, values in SETTINGS.items():
        path = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    kernel = home / "share" / "kernels" / "python3" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    command = [ready_python(), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    names = {"display_name": "Python 3 (ipykernel)", "language": "python"}
    kernel.write_text(json.dumps({"argv": command, **names, "metadata": {"debugger": True}}))
    port = free_port()
    log = (home / "log").open("w")
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *(f"--port={port}", f"--IdentityProvider.token={TOKEN}"),
            *(f"--notebook-dir={home / 'notebooks'}", "--KernelManager.transport=ipc"),
            "--LabApp.expose_app_in_browser=True",
        ],
        env={
            **os.environ,
            "GPULEARN_DEVICE": "cpu",
            "GPULEARN_PROGRESS": str(home / "progress.json"),
            "IPYTHONDIR": str(home / "ipython"),
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_PATH": str(home / "share"),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        },
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: answers(f"{address}/api?token={TOKEN}"), 180, "JupyterLab to start")
        yield address, home / "notebooks"
    finally:
        server.terminate()
        server.wait(PATIENCE / 1000)
        log.close()


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2) as reply:
            return reply.status == 200
    except OSError:
        return False


def wait_until(condition, seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds:g} s for {what}"
        time.sleep(0.2)


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium; without it a person's run skips, and a run that requires it fails."""
    if CHROMIUM is None:
        message = "no Chromium: `apt-get install chromium` brings it"
        if os.environ.get("GPULEARN_REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield opened
        opened.close()


class Notebook:
    """One notebook in JupyterLab, used as a learner uses it."""

    def __init__(self, page, name: str) -> None:
        self.page, self.name = page, name
        page.evaluate(OPEN, f"{name}.ipynb")
        self.wait_for_idle()

    def wait_for_idle(self, seconds: float = 300) -> None:
        """Wait until the status bar says that the kernel has nothing to do."""
        self.page.wait_for_function(
            r"/\| Idle/.test(document.querySelector('#jp-main-statusbar')?.innerText ?? '')",
            polling=POLLING,
            timeout=seconds * 1000,
        )

    def run_all(self) -> None:
        """Run → Run All Cells, and wait for the last cell's number."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        last = self.page.locator(".jp-CodeCell .jp-InputPrompt").last
        self.page.wait_for_function(
            r"prompt => /\[\d+\]/.test(prompt.innerText)",
            arg=last.element_handle(),
            polling=POLLING,
            timeout=300_000,
        )
        self.wait_for_idle()

    def cell(self, text: str):
        """The code cell whose source begins with `text`."""
        begins = re.compile("^" + re.sub(r"([().])", r"\\\1", text))
        source = self.page.locator(".cm-content").filter(has_text=begins)
        return self.page.locator(".jp-CodeCell").filter(has=source)

    def type_into(self, cell, lines, *, by_keys: bool = False) -> None:
        """Replace a cell's source, one line after the other, as the editor indents.

        A line that begins with `\\b` takes one indent back.
        By keys the page draws each letter, which takes most of a test: a line comes at once.
        """
        editor = cell.locator(".cm-content").element_handle()  # of which the text may not tell
        editor.click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press("Delete")
        for number, line in enumerate(lines):
            if number:
                self.page.keyboard.press("Enter")
            if line.startswith("\b"):
                self.page.keyboard.press("Backspace")
            write = self.page.keyboard.type if by_keys else self.page.keyboard.insert_text
            write(line.removeprefix("\b"))
        self.page.keyboard.press("Escape")
        typed = [line.strip() for line in editor.inner_text().splitlines()]
        wanted = [line.strip(" \b") for line in lines]
        assert list(filter(None, typed)) == list(filter(None, wanted))

    def run(self, cell) -> str:
        """Run one cell and return what stands under it, as one line."""
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        # idle alone does not tell a cell that has run from one that has not begun
        self.page.wait_for_function(
            r"([prompt, before]) => /\[\d+\]/.test(prompt.innerText) && prompt.innerText != before",
            arg=[prompt.element_handle(), before],
            polling=POLLING,
            timeout=300_000,
        )
        self.wait_for_idle()
        outputs = cell.locator(".jp-OutputArea-output").all_inner_texts()
        return " ".join(" ".join(outputs).split())

    def answer(self, stub: str, lines, *, by_keys: bool = False) -> str:
        """Type an answer over the stub that begins so, run it, and return what its check says."""
        name = stub.removeprefix("@cuda.jit").removeprefix("def ").removesuffix(" = ")
        cell = self.cell(stub)
        self.type_into(cell, lines, by_keys=by_keys)
        assert self.run(cell) == ""
        said = self.run(self.cell(f'gl.check("{name}"'))
        assert "Traceback" not in said
        self.screenshot(f"{name}-{'right' if said.startswith('✓') else 'wrong'}-answer")
        return said

    def widget(self, text: str):
        """What stands under a cell: all of it, the picture, and the sentence that says it."""
        output = self.cell(text).locator(".jp-OutputArea")
        return output, output.locator("img"), output.locator("p[role=status]")

    def has_only_unsolved(self) -> None:
        """The exercise reports in a few lines that it is unsolved, and nothing else fails."""
        failed = ".jp-mod-error, .jp-OutputArea-output[data-mime-type*=stderr]"
        errors = [text.strip() for text in self.page.locator(failed).all_inner_texts()]
        assert [error.split(":")[0] for error in errors] == ["NotSolvedYet"]
        assert all(len(error.splitlines()) <= 3 for error in errors)  # and no stack trace

    def hides_nothing_on_the_right(self) -> None:
        """No output is wider than the page, where its last columns would be out of sight."""
        wide = self.page.locator(".jp-OutputArea-output").evaluate_all(
            "all => all.filter(o => o.scrollWidth > o.clientWidth + 1).map(o => o.innerText)"
        )
        assert wide == []

    def screenshot(self, name: str, cell=None) -> None:
        """Keep a picture, of a cell or of all, where GPULEARN_SCREENSHOTS names a folder."""
        if folder := os.environ.get("GPULEARN_SCREENSHOTS"):
            self.page.mouse.move(0, 0)  # what lies under it is drawn in another color
            (cell or self.page).screenshot(path=Path(folder) / f"{name}.png")


@pytest.fixture(scope="session")
def learner(browser):
    """One learner's browser, in which JupyterLab stays loaded."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@pytest.fixture(scope="module")
def notebook(lab, learner, request):
    """The notebook that a module names in CELLS, as the only one in JupyterLab, and run.

    Behind its name stand the beginnings of cells: it has only those, and what they need.
    """
    address, home = lab
    name, *begins = request.module.CELLS
    part = reduced(nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4), begins)
    nbformat.write(part, home / f"{name}.ipynb")
    failed = request.session.testsfailed
    try:
        opened = Notebook(page_of(learner, address), name)
        opened.run_all()
        yield opened
    finally:
        for page in learner.pages:
            if request.session.testsfailed > failed:  # then it may show anything
                page.close()
            else:
                page.evaluate(CLOSE)
        end_kernels(address)


def page_of(learner, address: str):
    """JupyterLab, which takes longer to load than most tests; without a notebook."""
    if not learner.pages:
        page = learner.new_page()
        page.goto(f"{address}/lab?token={TOKEN}&reset")
        page.wait_for_function("window.jupyterapp?.restored", polling=POLLING)
    return learner.pages[0]


def end_kernels(address: str) -> None:
    """End every kernel: each holds half a gigabyte, and closing a page leaves it running."""
    with urllib.request.urlopen(
        f"{address}/api/kernels?token={TOKEN}", timeout=PATIENCE / 1000
    ) as reply:
        kernels = json.load(reply)
    for kernel in kernels:
        end = urllib.request.Request(
            f"{address}/api/kernels/{kernel['id']}?token={TOKEN}", method="DELETE"
        )
        urllib.request.urlopen(end, timeout=PATIENCE / 1000).close()
