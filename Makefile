# Recipes name files relative to this folder, so that its path may hold spaces.
BIN := .venv/bin
CODE := $(wildcard src tests tools benchmarks examples experiments)
SUITE := $(BIN)/python tools/suite.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-full soak mutants bench evaluate lint format lock clean
# The steps of a target wait for each other, with -j as well.
.NOTPARALLEL:

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | awk -F '\t' '{ printf "make %-10s %s\n", $$1, $$2 }'

setup: ## make or refresh .venv (every target that needs it does so by itself)
	@tools/setup.sh

demo: setup ## real executors come and go under a running query; about four minutes and a half
	@$(BIN)/elastream demo

test: lint ## static checks, then every test but the long matrix
	@$(SUITE) --goal 12

test-full: lint ## static checks, then every test
	@$(SUITE) --full

soak: setup ## 100 random accidents on a running application, then every record is checked (SEED=1 ACTIONS=100)
	@$(BIN)/python -m tools.soak --seed $(or $(SEED),1) --actions $(or $(ACTIONS),100)

mutants: setup ## break the code on purpose and see whether the tests notice
	@$(BIN)/python tools/mutants.py

bench: setup ## run every benchmark
	@set -e; for script in $$(grep -l __main__ benchmarks/*.py); do \
		echo "== $$script"; $(BIN)/python -m "benchmarks.$$(basename "$$script" .py)"; \
	done

evaluate: setup ## run published evaluations again, score them against their tables, and write an index (OUT=results)
	@$(BIN)/python -m experiments --out "$(or $(OUT),results)"

lint: setup ## style, types and layers
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/mypy $(CODE)
	@$(BIN)/lint-imports --no-logo

format: setup ## rewrite the code in the house style
	@$(BIN)/ruff check --fix $(CODE)
	@$(BIN)/ruff format $(CODE)

lock: ## refresh the lock files
	@tools/setup.sh --lock

clean: ## remove what the other targets made
	rm -rf .venv .tools build dist .fuzz .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
