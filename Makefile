# make serve  - make the environment, install, migrate and serve at http://127.0.0.1:3000
# make serve-postgres - the same with a PostgreSQL of its own, nothing to install: to try what a team would run
# make test   - make the environment, install what tests need and run them all
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: serve serve-postgres test test-fast fuzz lint lock docs screenshots install install-test prove-image prove-dashboard release clean

serve: $(VENV)/.runtime
	$(BIN)/mcp-knowledge serve

serve-postgres: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python scripts/serve_postgres.py

install: $(VENV)/.runtime
install-test: $(VENV)/.test

$(VENV)/.runtime: requirements/runtime.txt requirements/build.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed: make install PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Installing into $(VENV); this takes a minute or two the first time."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/runtime.txt -r requirements/build.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.test: $(VENV)/.runtime requirements/test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/test.txt
	touch $@

# Everything: style, types, freshness of the docs, and every test. A test whose tools are missing here says so and is skipped.
test: lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup

# What is worth running at every change.
test-fast: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 -m "not slow"

# Ever new requests and messages against REST and MCP, on both databases: make fuzz MINUTES=30, or SEED=… of an earlier round.
MINUTES ?= 10
fuzz: $(VENV)/.test
	$(BIN)/python scripts/fuzz.py --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only "$(ONLY)")

lint: $(VENV)/.test
	$(BIN)/ruff format --check --quiet src tests benchmarks scripts
	$(BIN)/ruff check --quiet src tests benchmarks scripts
	$(BIN)/mypy
	$(BIN)/mypy tests/contract/conftest.py
	$(BIN)/mypy tests/browser/conftest.py
	$(BIN)/python scripts/docs.py --check
	$(BIN)/hadolint Dockerfile

docs: $(VENV)/.test
	$(BIN)/python scripts/docs.py

screenshots: $(VENV)/.test
	$(BIN)/python scripts/screenshots.py

# Ask a real Prometheus for every panel of the dashboard and every alarm (needs prometheus).
prove-dashboard: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python scripts/prove_dashboard.py

# Carry out the Dockerfile in a clean Debian and use what it makes, where no container engine runs (Linux, root, debootstrap).
prove-image: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python scripts/prove_image.py

# Build the wheel and the source archive of a commit, check them and try them without a network; publishes nothing.
release: $(VENV)/.test
	$(BIN)/python scripts/release.py

clean:
	rm -rf $(VENV) dist build

# Recompile the pinned, hashed requirements from pyproject.toml, for every platform at once (needs uv).
lock:
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --quiet -o requirements/runtime.txt
	uv pip compile pyproject.toml --extra otel --universal --python-version 3.11 --generate-hashes --no-header --quiet -c requirements/runtime.txt -o requirements/otel.txt
	uv pip compile --group build --universal --python-version 3.11 --generate-hashes --no-header --quiet -o requirements/build.txt
	uv pip compile --group test --universal --python-version 3.11 --generate-hashes --no-header --quiet -c requirements/runtime.txt -o requirements/test.txt
