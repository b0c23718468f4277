# Everything that is done here, one target each. The first two do all of their own set-up.
.PHONY: try test test-all soak coverage lint bench cluster-bench wheel docs clean help
.DEFAULT_GOAL := help

PYTHON := .venv/bin/python
# Half of their time tests wait: for a server, a lease, a rate.
WORKERS := $(shell expr $$(nproc) \* 3 / 2)
SEEDS := 3000
TIMES := 20
PYTEST = $(PYTHON) -m pytest --numprocesses=$(WORKERS) --dist=worksteal

try: ## Install Andante and run it: on a small web that it serves itself, or make try URL=https://...
	@tools/setup
	@$(PYTHON) tools/try.py $(URL)

test: ## Lint, types, import contract, and the tests that take no longer than a few minutes together
	@tools/setup test
	@tools/check
	@$(PYTEST) -m "not slow" $(ARGS)

test-all: test ## The same, and the slow tests
	@$(PYTEST) -m slow $(ARGS)

soak: ## Thousands of seeds and hundreds of kills, as root: hours, by hand; make soak SEEDS=9 TIMES=1 for less
	@tools/setup test
	@$(PYTHON) -m andante simulate --cluster --seeds $(SEEDS)
	@PYTHONPATH=tests $(PYTHON) benchmarks/cluster_failures.py --small --times $(TIMES)
	@KILL_SEEDS=$(TIMES) $(PYTEST) -m slow tests/e2e/test_kill.py $(ARGS)

coverage: ## What part of the code all tests together run
	@tools/setup test
	@$(PYTEST) --cov --cov-report=term:skip-covered $(ARGS)

lint: ## Lint, types and import contract only
	@tools/setup test
	@tools/check

bench: ## Compare with wget2, Scrapy and Crawlee
	@tools/setup bench
	@PYTHONPATH=tests $(PYTHON) benchmarks/crawl.py $(ARGS)

cluster-bench: ## Compare with scrapy-redis, on a network of its own (as root)
	@tools/setup bench
	@PYTHONPATH=tests $(PYTHON) benchmarks/cluster.py $(ARGS)

wheel: ## Build a wheel and a source distribution into dist/, and try the wheel in an empty environment
	@tools/setup test
	@$(PYTHON) tools/wheel.py

docs: ## Make docs/reference/ from the code
	@tools/setup test
	@$(PYTHON) tools/reference.py

clean: ## Remove what was made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage build dist benchmarks/.cache

help: ## Say what there is
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16
