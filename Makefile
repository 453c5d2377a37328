# One command each: make demo, make test. `make` alone lists them.
# The system's Python, if it is new enough and complete: distributions compile theirs with profiles,
# and loops of Python run up to twice as fast in it as in one that was built by default.
SYSTEM := /usr/bin/python3
COMPLETE := import ensurepip, sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell $(SYSTEM) -c '$(COMPLETE)' 2>/dev/null && echo $(SYSTEM) || echo python3)
VENV := .venv/bin
SETUP := $(PYTHON) -m tools.setup
# Bytecode is kept, whatever the shell says: all processes of the tests load the same modules.
export PYTHONDONTWRITEBYTECODE :=
# Further words for pytest: make test ARGS="tests/unit -x"; for parity, a seed; for bench, --quick
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test fuzz operators chromium locks models parity quality teach serve wheel release lint bench clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: ## install and build everything into this folder
	@$(SETUP) all

demo: ## train the Iris model on WebNN in the bundled Chromium, shown in the terminal
	@$(SETUP) site
	@$(VENV)/python -m tools.demo

test: ## set up, lint, then run every test; types are checked by one of them
	@$(SETUP) all
	@$(MAKE) --no-print-directory style
	@$(VENV)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(ARGS)

.PHONY: browsers
browsers: ## journeys through all pages in Firefox, WebKit and Chromium, docs/browsers.md anew; ARGS="firefox iris"
	@$(SETUP) all
	@$(VENV)/python -m tools.browsers $(ARGS)

fuzz: ## random graphs, texts, files and tables for five minutes; ARGS="--minutes 60"
	@$(SETUP) site
	@$(VENV)/python -m tools.fuzz $(ARGS)

operators: ## record what NumPy and each Chromium pass and get wrong, for tests and documents; ARGS="-k says"
	@$(SETUP) site
	@$(VENV)/python -m tools.operators $(ARGS)
	@$(VENV)/python -m tools.generated

chromium: ## take the Chromium whose version package.json has: lock and unpack it, record what it does
	@npm install --package-lock-only --ignore-scripts --no-audit --no-fund --cache .cache/npm --no-update-notifier
	@$(MAKE) --no-print-directory operators

.PHONY: documents
documents: ## write the generated documents anew, from the source
	@$(SETUP) tools
	@$(VENV)/python -m tools.generated

.PHONY: pictures
pictures: ## draw the pictures of documents whose programs have changed
	@$(SETUP) tools
	@$(VENV)/python -m tools.docs.pictures

.PHONY: docs
docs: ## build the documentation site into build/docs; links and anchors are checked
	@$(SETUP) tools
	@$(VENV)/python -m tools.docs

.PHONY: handouts
handouts: ## print the lessons of the course to build/handouts, a PDF each, for a class
	@$(SETUP) site
	@$(VENV)/python -m tools.handouts

.PHONY: jupyter
jupyter: ## build JupyterLite with the notebooks into build/jupyter, for make serve
	@$(SETUP) site
	@$(VENV)/python -m tools.jupyter

locks: ## write the lock files of Python's packages anew, with the newest releases in their ranges
	@$(PYTHON) -m tools.renew_locks $(ARGS)

models: ## fetch packages with trained models into .cache, for tests that use them
	@$(VENV)/python -m tools.models

parity: ## compare operators, gradients and training with PyTorch, StableHLO with XLA, arrays with JAX
	@$(PYTHON) -m tools.parity live $(ARGS)
	@$(PYTHON) -m tools.parity xla.live
	@$(PYTHON) -m tools.parity arrays.live $(ARGS)

.PHONY: array-api
array-api: ## run the array API's test suite, which lies in SUITE; ARGS="--max-examples 20"
	@$(PYTHON) -m tools.array_api $(SUITE) $(ARGS)

teach: ## what reviews and trainings say of planted mistakes, or of sound set-ups; ARGS="leaking_column", ARGS=--corpus
	@$(SETUP) tools
	@$(VENV)/python -m tools.teach $(ARGS)

quality: ## scores with default settings, beside scikit-learn and PyTorch, installed into .cache
	@$(PYTHON) -m tools.quality quality $(ARGS)

.PHONY: parity-fixtures
parity-fixtures: ## write the fixtures of tests/parity anew from PyTorch; ARGS="pretrained" only those of a folder
	@$(PYTHON) -m tools.parity write_fixtures $(ARGS)

serve: ## serve the site on localhost
	@$(SETUP) site
	@$(VENV)/python -m tools.serve

wheel: ## build dist/webnnm-*.whl
	@$(SETUP) wheel
	@ls -l dist/*.whl

release: ## build what is published into build/release: the wheel, and the npm package webnnm-runtime
	@$(SETUP) site
	@$(VENV)/python -m tools.release

.PHONY: check
check: ## a contributor's first minute: style, types, the laws, generated files, one way through every layer
	@$(SETUP) all
	@$(MAKE) --no-print-directory style
	@$(VENV)/python -m pytest -q -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder tests/laws tests/browser/test_every_layer.py
	@$(VENV)/python -m tools.figures

.PHONY: figures
figures: ## list figures of documents whose command is unknown, or that are older than the code
	@$(SETUP) tools
	@$(VENV)/python -m tools.figures

lint: ## check style and types of Python and JavaScript
	@$(SETUP) tools
	@$(MAKE) --no-print-directory style types

.PHONY: style types
style:
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .

types:
	@$(VENV)/pyrefly check
	@node_modules/.bin/tsc --project tsconfig.json

.PHONY: words
words: ## count names that need translation: functions named by a participle, vague locals
	@$(SETUP) tools
	@$(VENV)/python -m tools.words

bench: ## measure size, start-up and speed, beside PyTorch, TensorFlow.js and jax-js in .cache
	@$(SETUP) site
	@$(VENV)/python -m tools.measure
	@$(VENV)/python -m tools.page_budget
	@$(VENV)/python -m tools.bench $(ARGS)

clean: ## remove everything that the other commands made
	rm -rf .venv node_modules .cache build dist .pytest_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
