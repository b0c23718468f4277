# Everything that is done here, one target each. The first two do all of their own set-up.
.PHONY: try test lint bench cluster-bench docs clean help
.DEFAULT_GOAL := help

PYTHON := .venv/bin/python

try: ## Install Andante and run it: on a small web that it serves itself, or make try URL=https://...
	@tools/setup
	@$(PYTHON) tools/try.py $(URL)

test: ## Lint, types, import contract, and all tests (about twenty minutes)
	@tools/setup test
	@tools/check
	@$(PYTHON) -m pytest --cov --cov-report=term:skip-covered

lint: ## Lint, types and import contract only
	@tools/setup test
	@tools/check

bench: ## Compare with wget2, Scrapy and Crawlee
	@tools/setup bench
	@PYTHONPATH=tests $(PYTHON) benchmarks/crawl.py $(ARGS)

cluster-bench: ## Compare with scrapy-redis, on a network of its own (as root)
	@tools/setup bench
	@PYTHONPATH=tests $(PYTHON) benchmarks/cluster.py $(ARGS)

docs: ## Make docs/reference/ from the code
	@tools/setup test
	@$(PYTHON) tools/reference.py

clean: ## Remove what was made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage build dist benchmarks/.cache

help: ## Say what there is
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16
