# Everything runs in .venv, which these commands make themselves. PYTHON chooses the interpreter (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Modules are compiled when they are first imported: most of what is installed never is.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: demo venv test test-integrations release-check check bench torture docs site format clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed  ## optimise a noisy function over 10,648 candidates
	@$(BIN)/ostinato demo

venv: $(VENV)/.tests  ## the environment that tests and benchmarks use, and nothing else

test: $(VENV)/.tests $(VENV)/.servers  ## the tests
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto

test-integrations: $(VENV)/.integrations  ## the tests of integrations, and the examples of their pages, with the real libraries (2 GB)
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest tests/integrations tests/test_readme.py -k "integrations"
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest tests/candidates/test_s3.py

release-check: $(VENV)/.pip  ## build wheel and sdist, install them in clean environments of every Python found, try and weigh them
	@$(PIP) --group release
	$(BIN)/python tests/release_check.py $(PYTHONS)

check: $(VENV)/.checks  ## format, lint, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: $(VENV)/.tests  ## the benchmarks: ratios against a naive version and against scikit-learn
	$(BIN)/python -m benchmarks

torture: $(VENV)/.tests $(VENV)/.servers  ## all seeds, draws and histories of the tests, and the long tests of docs/reliability.md (some hours)
	OSTINATO_THOROUGH=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.reliability

# Without a network; warnings are errors, and links within the site are checked.
SITE = rm -rf docs/_build && OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html && $(BIN)/python docs/_extensions/site_built.py docs/_build/html

docs: $(VENV)/.docs  ## the documentation site, with all stories of the gallery run (some minutes): docs/_build/html
	$(SITE)

site: $(VENV)/.docs  ## the same, without running the stories
	OSTINATO_GALLERY=0; export OSTINATO_GALLERY; $(SITE)

format: $(VENV)/.checks
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis docs/_build docs/api docs/project docs/reference docs/stories

$(VENV)/.pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Ostinato needs Python 3.11 or newer, and '$(PYTHON)' is not. Name another: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); echo "Could not make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@$(PIP) 'pip>=25.1'
	@touch $@

$(VENV)/.installed: $(VENV)/.pip pyproject.toml
	@echo "Setting up $(VENV) …"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.tests: $(VENV)/.installed
	@$(PIP) --group test
	@touch $@

$(VENV)/.docs: $(VENV)/.tests
	@$(PIP) --group docs
	@touch $@

$(VENV)/.integrations: $(VENV)/.tests
	@$(PIP) torch==2.13.0  # first, by itself: the build for processors, where the index has one
	@$(PIP) --group integrations
	@touch $@

# PostgreSQL and strace for the tests of studies, Node.js, curl and R for those of documents: installed where that is allowed; else those tests are skipped, and say so.
$(VENV)/.servers: $(VENV)/.pip
	@{ { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; } && command -v strace && command -v node && command -v curl && command -v Rscript && command -v chromium; } >/dev/null 2>&1 \
	|| { echo "Installing PostgreSQL, strace, Node.js, curl, R and Chromium …"; apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y postgresql strace nodejs curl r-base-core r-cran-jsonlite r-cran-curl chromium >/dev/null; } \
	|| echo "PostgreSQL, strace, Node.js, curl, R or Chromium could not be installed: their tests are skipped. On Debian and Ubuntu: apt-get install postgresql strace nodejs curl r-base-core r-cran-jsonlite r-cran-curl chromium"
	@touch $@

# All at once, so that versions are looked up once.
$(VENV)/.checks: $(VENV)/.pip pyproject.toml
	@echo "Setting up $(VENV) …"
	@$(PIP) --editable . --group test --group check --group docs
	@touch $(VENV)/.installed $(VENV)/.tests $(VENV)/.docs $@
