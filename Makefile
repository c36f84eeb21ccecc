# Every target sets up what it needs, in .venv; `make help` lists them.

PYTHON ?= python3
PYTEST_ARGS ?= -n auto

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHON

bin := .venv/bin
kernels := src/pymosaic/kernels src/pymosaic/pages/kernels
sources := $(wildcard $(foreach folder,$(kernels),$(addprefix $(folder)/*.,pyx pxd h)))
# The stamp carries the kind of build, so that changing the kind rebuilds.
kind := $(or $(if $(PYMOSAIC_SANITIZE),sanitize),$(if $(PYMOSAIC_DEBUG),debug),release)
installed := .venv/installed-$(kind)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(installed) ## Create .venv, build the kernels and install the package editable

.PHONY: demo
demo: $(installed) ## Write and read a 10,000-column table as Mosaic and as Parquet
	$(bin)/python examples/demo.py

.PHONY: test
test: $(installed) ## Run all tests (PYTEST_ARGS="-x tests/unit" for some)
	@scripts/ensure-system java
	$(bin)/python -m pytest $(PYTEST_ARGS)

.PHONY: bench
bench: $(installed) ## Compare with other formats (BENCH_ARGS="--quick" or "--help" for more)
	$(bin)/python -m benchmarks $(BENCH_ARGS)

.PHONY: bench-pages
bench-pages: $(installed) ## Compare the page codec with pylance (BENCH_ARGS="--study" for sizes)
	$(bin)/python -m benchmarks.pages $(BENCH_ARGS)

.PHONY: check
check: $(installed) ## Lint, check formatting and types, build the sdist and the wheel
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy
	rm -rf dist
	$(bin)/python -m build --quiet
	$(bin)/python scripts/check_wheel.py dist/*.whl

.PHONY: format
format: $(installed) ## Format the code and sort imports
	$(bin)/ruff check --fix
	$(bin)/ruff format

.PHONY: sanitize
sanitize: ## Run the tests on kernels built with the address and undefined behaviour sanitizers
	$(MAKE) setup PYMOSAIC_SANITIZE=1
	scripts/with-sanitizers $(bin)/python -m pytest $(PYTEST_ARGS)

.PHONY: clean
clean: ## Remove .venv, caches and everything built
	rm -rf .venv build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf src/*.egg-info $(addsuffix /*.so,$(kernels))
	find src tests benchmarks examples scripts -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/tools: pyproject.toml scripts/ensure-system
	@scripts/ensure-system python compiler
	$(PYTHON) -m venv .venv
	$(bin)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(bin)/python -m pip install --quiet --group dev
	@touch $@

$(installed): .venv/tools setup.py $(sources)
	@rm -f .venv/installed-*
	$(bin)/python -m pip install --quiet --no-build-isolation --editable .
	@touch $@
