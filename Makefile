# make lab    JupyterLab with the notebooks      PORT=8890 ARGS="--no-browser" pass through
# make test   what a newcomer runs: a few minutes, no browser, no network
#             ARGS="-n 0 -k matmul" passes through
# make check  everything: format, lint, types, every test: what has to hold before a change lands
# make bench  how fast the SIMT machine and the ranks are, as ratios measured in one run, and
#             how long each notebook takes; the exit status says whether all bounds are met
# make matrix the bare install and its tests on each Python that is here, and once with the oldest
#             NumPy and Numba that pyproject.toml allows; ARGS="python3.12 python3.13" names others
# make site   the course as a static site in site/, from notebooks that it executes
#             and leaves in site-executed/; ARGS="--executed FOLDER" executes only those that neither
#             an earlier run nor a test run with GPULEARN_EXECUTED=FOLDER left there
# make conformance  how many of numba-cuda's own tests pass on the SIMT machine, by module, beside
#             Numba's simulator; ARGS=--raise notes it as what must pass from now on
# make suites how the machine does on public suites of CUDA programs with known mistakes, from
#             checkouts that are there: ARGS="scor=FOLDER dracc=FOLDER", tools/suites.py lists them
# make gpu    on a machine with an NVIDIA GPU: the tests of the kernels there, and all recordings;
#             installs nothing: GPU_PYTHON has torch, numba-cuda, numpy, matplotlib and pytest
#             ARGS=--rehearse tries every step on a CPU, ARGS=--list shows them
PORT ?= 8888
ARGS ?=

ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := .venv/Scripts
else
PYTHON ?= python3
BIN := .venv/bin
endif
GPU_PYTHON ?= $(PYTHON)
STAMP := .venv/installed
# worksteal keeps neighbors together: tests of one file share what is slow to set up
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
# several tests run at once, and so do the ranks of a notebook: a thread that waits must not keep a core busy (3 times faster)
test check site: export OMP_WAIT_POLICY = passive
test check site: export OPENBLAS_THREAD_TIMEOUT = 4
# hundreds of tests, and a first launch that is timed, start Python: without its caches each
# compiles the package anew
test check site bench: export PYTHONDONTWRITEBYTECODE =
CLEAN := --remove-empty-cells --preserve-cell-metadata-field tags
# JupyterLab refuses to run as root unless told so, and a container is root.
ROOT_OK := $(if $(filter 0,$(shell id -u 2>/dev/null)),--allow-root)
# Without a display there is no browser to open: print the address instead.
NO_BROWSER := $(if $(DISPLAY)$(WAYLAND_DISPLAY)$(filter Darwin,$(shell uname -s 2>/dev/null))$(filter Windows_NT,$(OS)),,--no-browser)

.PHONY: lab test check bench matrix suites site conformance format links gpu clean

lab: $(STAMP)
	$(BIN)/jupyter lab --notebook-dir=notebooks --port=$(PORT) $(ROOT_OK) $(NO_BROWSER) $(ARGS)

test: $(STAMP)
	$(PYTEST) -q -m "not full" tests $(ARGS)

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/nb-clean check $(CLEAN) notebooks
	$(BIN)/mypy
	$(PYTEST) $(ARGS)

# ARGS=--long adds thousands of random kernels
bench: $(STAMP)
	@status=0; \
	$(BIN)/python -m tools.bench.simt $(ARGS) || status=1; \
	$(BIN)/python -m tools.bench.ranks || status=1; \
	$(BIN)/python -m tools.bench.notebooks || status=1; \
	exit $$status

# without the stamp: each environment is made anew, and the standard library does it
matrix:
	$(PYTHON) -m tools.matrix --oldest $(ARGS)

site: $(STAMP)
	$(BIN)/python -m tools.site site $(ARGS)

conformance: $(STAMP)
	$(BIN)/python -m tests.simt.conformance $(ARGS)

suites: $(STAMP)
	$(BIN)/python -m tools.suites $(ARGS)

format: $(STAMP)
	$(BIN)/nb-clean clean $(CLEAN) notebooks
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# carries the repository's address to the badges and the set-up cells
links: $(STAMP)
	$(BIN)/python -m tools.links

# without the stamp: such a machine has its own packages, and maybe no network
gpu:
	$(GPU_PYTHON) -m tools.record $(ARGS)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m tools.install
	@touch $@

clean:
	rm -rf .venv
