# Every target sets up what it needs, in .venv; `make help` lists them.

PYTHON ?= python3
PYTEST_ARGS ?= -n auto --dist loadgroup

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Kernels of these kinds are built beside the installed ones, by targets of their own.
unexport PYMOSAIC_SANITIZE PYMOSAIC_COVERAGE
export PYTHON

bin := .venv/bin
kernels := src/pymosaic/kernels src/pymosaic/pages/kernels
sources := $(wildcard $(foreach folder,$(kernels),$(addprefix $(folder)/*.,pyx pxd h)))
# The stamp carries the kind of build, so that changing the kind rebuilds.
kind := $(if $(PYMOSAIC_DEBUG),debug,release)
installed := .venv/installed-$(kind)
# The second environment: the oldest supported versions, and PyPaimon, which needs them.
paimon := .venv-paimon/bin
paimon_installed := .venv-paimon/installed

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(installed) ## Create .venv, build the kernels and install the package editable

.PHONY: demo
demo: $(installed) ## A wide table through Spark, Polars and DuckDB, compared with Parquet; one minute
	@scripts/ensure-system java
	$(bin)/python examples/demo.py

.PHONY: test
test: $(installed) ## Run all tests (PYTEST_ARGS="-x tests/file" for some)
	@scripts/ensure-system java chromium
	$(bin)/python -m pytest $(PYTEST_ARGS)
	$(if $(filter command line environment,$(origin PYTEST_ARGS)),,@$(MAKE) --no-print-directory test-paimon)

# What may depend on the versions of pyarrow, numpy and pandas; the rest runs in .venv only. Left out
# of datasets: what kills processes and simulates interleavings, which depends on no version.
oldest_tests := $(addprefix tests/,test_*.py format arrow kernels io filters file conformance)
oldest_tests += $(filter-out %/test_kill.py %/test_interleavings.py %/test_committed_states.py,$(wildcard tests/datasets/test_*.py))

.PHONY: test-paimon
test-paimon: $(paimon_installed) ## Test Paimon tables, and files and datasets with the oldest versions, in .venv-paimon
	@scripts/ensure-system java
	$(paimon)/python -m pytest $(or $(PAIMON_ARGS),-n auto --dist loadgroup tests/paimon src/pymosaic/paimon tests/compat $(oldest_tests))

.PHONY: paimon-histories
paimon-histories: $(paimon_installed) ## Compare random histories of Paimon tables with PyPaimon (HISTORY_ARGS="--runs 1000")
	$(paimon)/python -m tests.paimon.histories $(HISTORY_ARGS)

.PHONY: paimon-kills
paimon-kills: $(paimon_installed) ## Kill writers of Paimon tables, and let two write at once (KILL_ARGS="--kills 1000")
	$(paimon)/python -m tests.paimon.kills $(KILL_ARGS)

# An environment for each version of Spark, with the package as .venv has it.
SPARK ?= 4.3
spark_env := .venv-spark-$(SPARK)

.PHONY: test-spark
test-spark: $(installed) $(spark_env)/tools ## Run the tests of Spark on a version of it (SPARK=4.0, 4.1, 4.2 or 4.3)
	@scripts/ensure-system java
	$(spark_env)/bin/python -m pytest $(or $(SPARK_TESTS),tests/spark)

$(spark_env)/tools: pyproject.toml | $(installed)
	$(bin)/python -m venv --clear $(spark_env)
	cp -r .venv/lib/python*/site-packages/*pymosaic_format-* $(spark_env)/lib/python*/site-packages
	$(spark_env)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(spark_env)/bin/python -m pip install --quiet pymosaic-format --group test-spark 'pyspark[connect]==$(SPARK).*'
	@touch $@

.PHONY: test-ray
test-ray: $(installed) .venv-ray/tools ## Run the tests of Ray datasets, in .venv-ray
	.venv-ray/bin/python -m pytest tests/ray src/pymosaic/interop/ray.py

.venv-ray/tools: pyproject.toml | $(installed)
	$(bin)/python -m venv --clear .venv-ray
	cp -r .venv/lib/python*/site-packages/*pymosaic_format-* .venv-ray/lib/python*/site-packages
	.venv-ray/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-ray/bin/python -m pip install --quiet pymosaic-format --group test-ray
	@touch $@

.PHONY: bench
bench: $(installed) ## Compare with other formats (BENCH_ARGS="--quick" or "--help" for more)
	$(if $(findstring --cases paimon,$(BENCH_ARGS)),@$(MAKE) --no-print-directory bench-paimon,$(bin)/python -m benchmarks $(BENCH_ARGS))

.PHONY: bench-guard
bench-guard: $(installed) ## Compare with the recorded run, and fail if anything is 15 % slower (BENCH_ARGS=--record)
	$(bin)/python -m benchmarks.guard $(BENCH_ARGS)

.PHONY: bench-paimon
bench-paimon: $(paimon_installed) ## Compare Paimon tables with PyPaimon (BENCH_ARGS="--grown-rows 1000000")
	$(paimon)/python -m benchmarks.paimon $(BENCH_ARGS)

.PHONY: bench-spark
bench-spark: $(installed) ## Compare Spark on Mosaic with Spark on Parquet
	@scripts/ensure-system java
	$(bin)/python -m benchmarks.spark $(BENCH_ARGS)

.PHONY: bench-pages
bench-pages: $(installed) ## Compare the page codec with pylance (BENCH_ARGS="--study" for sizes)
	$(bin)/python -m benchmarks.pages $(BENCH_ARGS)

.PHONY: docs
docs: $(installed) ## Build the documentation site into build/site
	NO_MKDOCS_2_WARNING=1 $(bin)/python -m mkdocs build --quiet --strict

.PHONY: check
check: $(installed) docs ## Lint, check formatting and types, build the site and try its search and its layout, build sdist and wheel, try the wheel
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(bin)/pyright
	@scripts/ensure-system chromium
	$(bin)/python scripts/check_site.py build/site
	$(bin)/python scripts/check_types.py
	rm -rf dist
	$(bin)/python -m build --quiet
	$(bin)/python scripts/check_distribution.py dist/*.whl

# auditwheel renames the wheel to the oldest C library that it runs on.
.PHONY: release
release: $(installed) ## Build the sdist and a manylinux wheel in dist, and try both in clean environments
	rm -rf dist build/wheel
	$(bin)/python -m build --quiet --sdist
	$(bin)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel dist/*.tar.gz
	PATH="$(CURDIR)/$(bin):$$PATH" $(bin)/auditwheel repair --wheel-dir dist build/wheel/*.whl
	$(bin)/python scripts/check_distribution.py dist/*

.PHONY: format
format: $(installed) ## Format the code and sort imports
	$(bin)/ruff check --fix
	$(bin)/ruff format

.PHONY: corruption
corruption: $(installed) ## Damage every test file in every way and read it (CORRUPTION_ARGS="--sample 20")
	$(bin)/python -m tests.corruption.matrix $(CORRUPTION_ARGS)

# Kernels of another kind are built beside the ordinary ones, which stay as they are.
.PHONY: fuzz
fuzz: $(installed) build/fuzz/coverage.so ## Fuzz reading and writing (FUZZ_ARGS="--runs 100000" or "--help")
	PYMOSAIC_COVERAGE=1 $(bin)/python setup.py -q build --build-lib build/fuzz/lib --build-temp build/fuzz/temp
	$(bin)/python -m tests.fuzz --kernels build/fuzz $(FUZZ_ARGS)

.PHONY: fuzz-spark
fuzz-spark: $(installed) ## Compare random queries over Mosaic with the same without files (FUZZ_ARGS="--queries 5000 --seed 7")
	@scripts/ensure-system java
	$(bin)/python -m tests.spark.fuzzing $(FUZZ_ARGS)

# Left out: benchmarks and interop (DuckDB, Polars and other formats bring allocators that the
# sanitizer takes for errors), wide (hours), load (it measures memory, most of which is then the
# sanitizer's), Spark (a JVM) and the picture of a file (a browser).
sanitized_tests := $(addprefix tests/,test_*.py format arrow kernels io filters file pages) tests/conformance tests/property tests/io_pattern tests/faults tests/fuzz

.PHONY: sanitize
sanitize: $(installed) ## Run tests and fuzzing on kernels with the address and undefined behaviour sanitizers
	PYMOSAIC_SANITIZE=1 $(bin)/python setup.py -q build --build-lib build/sanitize/lib --build-temp build/sanitize/temp
	PYTHONPATH=build/sanitize/lib scripts/with-sanitizers \
		$(bin)/python -m pytest $(PYTEST_ARGS) $(sanitized_tests)
	PYTHONPATH=build/sanitize/lib scripts/with-sanitizers \
		$(bin)/python -m tests.fuzz --plain --work build/sanitize --runs 20000 $(FUZZ_ARGS)

.PHONY: kill
kill: $(installed) ## Kill and interrupt writers at random moments (KILL_ARGS="--kills 1000 --seed 2")
	$(bin)/python -m tests.faults.kills $(KILL_ARGS)
	$(bin)/python -m tests.faults.interrupts --strict

.PHONY: stream-kills
stream-kills: $(installed) ## Kill drivers, executors and workers of two streams at random moments (STREAM_ARGS="--kills 20")
	$(bin)/python -m tests.spark.stream_kills --cluster $(STREAM_ARGS)

.PHONY: stress
stress: $(installed) ## Read, append, compact, overwrite and vacuum one dataset at once (STRESS_ARGS="--minutes 1")
	$(bin)/python -m tests.datasets.stress $(STRESS_ARGS)

.PHONY: load
load: $(installed) ## Write and read 5 GB in bounded memory, open files thousands of times, start workers
	$(bin)/python -m tests.load.memory $(LOAD_ARGS)
	$(bin)/python -m tests.load.cycles
	$(bin)/python -m tests.load.workers

build/fuzz/coverage.so: tests/fuzz/coverage.c
	@mkdir -p $(@D)
	$(CC) -O2 -Wall -shared -fPIC -o $@ $<

.PHONY: clean
clean: ## Remove .venv, caches and everything built
	rm -rf .venv .venv-paimon .venv-ray .venv-spark-* build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
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

.venv-paimon/tools: pyproject.toml
	$(PYTHON) -m venv .venv-paimon
	$(paimon)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(paimon)/python -m pip install --quiet --group paimon
	@touch $@

# The editable installation of .venv, so that kernels are compiled once: they know Arrow's C data
# interface and no version of pyarrow.
$(paimon_installed): .venv-paimon/tools $(installed)
	cp -R .venv/lib/python*/site-packages/*pymosaic* .venv-paimon/lib/python*/site-packages
	@touch $@
