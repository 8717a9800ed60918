# Everything runs from .venv, which the first target that needs it makes: no other set-up.
#
#   make test ARGS='-k apt'                  more for pytest
#   make bench JAX=1                         with JAX in the comparison
#   make PYTHON=/path/to/python3.13 test     another Python than python3.11 or python3

ARGS    ?=
PYTHON  ?=
WORKERS ?= 2

BIN   := .venv/bin
READY := .venv/ready
PIP   := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install -q -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo paper test check bench figures tournament constraints clean
.DELETE_ON_ERROR:

help: ## this list
	@echo "cutline: which of these noisy options clear the bar?"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name what; do \
		printf '  make %-12s %s\n' "$$name" "$$what"; done

demo: $(READY) ## the main job: a durable campaign over real flaky tests, in seconds, into out/
	$(BIN)/cutline demo --out out

paper: $(READY) ## the paper's experiments: figures, table and checks, into out/
	$(BIN)/cutline paper --out out

test: check ## all that CI does: check, then the tests and every example in code and docs
	$(BIN)/pytest -n $(WORKERS) --dist loadfile $(ARGS)

check: $(READY) ## format, lint, types, import direction
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/check_imports.py

bench: $(READY) $(if $(JAX),.venv/ready-bench) ## how fast the simulator is (JAX=1: against JAX too)
	$(BIN)/python benchmarks/simulate.py $(ARGS)

figures: $(READY) ## the figures of the README and the docs, into docs/figures/
	$(BIN)/cutline demo --out docs/figures
	$(BIN)/cutline paper --games 100000 --out docs/figures
	$(BIN)/cutline examples --games 4000 --out docs/figures
	$(BIN)/cutline theory --experiment three-groups --games 100000 --plot docs/figures/bounds.png
	$(BIN)/cutline plan --arms 200 --share 0.1 --at-most 0.01 --precision 0.005 --plot docs/figures/planning.png
	$(BIN)/python -m cutline.figures.calibration --out docs/figures
	$(BIN)/python -m cutline.figures.batches --out docs/figures

tournament: $(READY) ## every rule on every problem of the suite, into docs/ (half an hour)
	$(BIN)/cutline tournament --out docs

clean: ## remove .venv, out/ and all caches
	rm -rf .venv out build dist __pycache__ .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# A python3.11 on the PATH need not run (a pyenv shim), so each candidate is tried.
define FIND_PYTHON
python=; \
for candidate in $(or $(PYTHON),python3.11 python3); do \
	if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		python=$$candidate; break; \
	fi; \
done; \
if [ -z "$$python" ]; then \
	echo "make: cutline needs Python 3.11 or newer; tried $(or $(PYTHON),python3.11 and python3)." >&2; \
	echo "      Install one, or name one: make PYTHON=/path/to/python3" >&2; exit 1; \
fi; \
if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	echo "make: $$python cannot make virtual environments (no venv or ensurepip)." >&2; \
	echo "      On Debian or Ubuntu, as root: apt-get install python3-venv" >&2; exit 1; \
fi
endef

$(READY): pyproject.toml constraints.txt
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
		$(FIND_PYTHON); \
		echo "making .venv with $$("$$python" --version)"; \
		"$$python" -m venv --clear .venv; \
	}
	@echo "installing cutline and its tools into .venv (a minute the first time)"
	@$(PIP) -e '.[dev]'
	@touch $@

.venv/ready-bench: $(READY)
	@echo "installing JAX into .venv"
	@$(PIP) -e '.[dev,bench]'
	@touch $@

constraints: ## renew constraints.txt with the newest versions, on Python 3.11
	@set -e; $(FIND_PYTHON); \
	fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	echo "resolving with $$("$$python" --version)"; \
	"$$python" -m venv "$$fresh"; \
	"$$fresh/bin/python" -m pip install -q -e '.[dev,bench]'; \
	{ sed '/^[^#]/,$$d' constraints.txt; \
	  "$$fresh/bin/python" -m pip freeze --exclude-editable; } > "$$fresh/constraints.txt"; \
	cp "$$fresh/constraints.txt" constraints.txt
