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

# The long tests, whole; `make test` runs a fraction of each. A million pairs through both evaluators, 2,000 kills
# of the store and of whole hosts, 10,000 raced approval codes, a minute of swapped folders: some hours.
soak: .venv/.test
	$(BIN)/python tests/reference/fuzz.py --rulesets 1000 --descriptors 1000 --seed $(or $(SEED),1)
	CAPGATE_KILLS=2000 CAPGATE_HOST_KILLS=2000 CAPGATE_RACED_CODES=10000 CAPGATE_SWAP_SECONDS=60 $(BIN)/python -m pytest \
	  tests/host/test_store_kills.py tests/host/test_host_kills.py tests/host/test_approval_races.py tests/host/test_files_race.py

# The gate beside hand-written code and policy engines, and the server beside a constant answer, some minutes.
# BENCH=--write puts the tables into bench/README.md. The server's part needs wrk (Debian: apt-get install wrk).
bench: .venv/.bench
	$(BIN)/python -m bench $(BENCH)
	$(BIN)/python -m bench.http_load $(BENCH)
	$(BIN)/python -m bench.mediation $(BENCH)

.venv/.bench: setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[bench,host]'
	@touch $@

.venv/.test: setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[host,mcp,postgres,test]'
	@touch $@

.venv/.project: setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[host]'
	@touch $@

.venv/.tox: tox.ini | $(BIN)/python
	$(BIN)/python -m pip install --quiet 'tox>=4.20'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'capgate needs Python 3.11 or later, and $(PYTHON) is not that: run make PYTHON=/path/to/python3.11' >&2; exit 1; }
	$(PYTHON) -m venv .venv
