PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test fuzz soak bench

run: .venv/.project
	@status=0; $(BIN)/capgate check catalogue || status=$$?; \
	[ $$status -le 1 ] || exit $$status

test: .venv/.tox
	$(BIN)/tox run

# Both evaluators of the rule language on generated rules; MINUTES says how long, SEED where to begin.
fuzz: .venv/.test
	$(BIN)/python tests/reference/fuzz.py --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1)

# The long tests, whole: a million pairs through both evaluators. `make test` runs ten thousand of them.
soak: .venv/.test
	$(BIN)/python tests/reference/fuzz.py --rulesets 1000 --descriptors 1000 --seed $(or $(SEED),1)

# The gate beside hand-written code and policy engines, some minutes; BENCH=--write puts the table into bench/README.md.
bench: .venv/.bench
	$(BIN)/python -m bench $(BENCH)

.venv/.bench: setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

.venv/.test: setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@

.venv/.project: setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/.tox: tox.ini | $(BIN)/python
	$(BIN)/python -m pip install --quiet 'tox>=4.20'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'capgate needs Python 3.11 or later, and $(PYTHON) is not that: run make PYTHON=/path/to/python3.11' >&2; exit 1; }
	$(PYTHON) -m venv .venv
