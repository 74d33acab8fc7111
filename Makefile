# Everything here works on a fresh machine: each target first makes what it needs, which is an
# environment in .venv and a Java 17+. `make help` lists the targets.
# Plain POSIX sh and GNU make 3.81, so that macOS needs nothing else.

SHELL := /bin/sh
BIN := .venv/bin
STAMP := .venv/.installed
WITH_JAVA := JAVA_HOME="$$(sh scripts/ensure-java.sh)" && export JAVA_HOME

.PHONY: help demo test test-live lint pytest fuzz soak soak-hours soak-sinks soak-objects bench diff-flink docs clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(STAMP) ## run the ready-made application: card fraud found in a stream of payments
	@$(WITH_JAVA) && $(BIN)/scurry warm-up && $(BIN)/scurry demo

test: lint pytest ## check style, types and layers, then run all tests

lint: $(STAMP) ## check style, types and layers only
	@echo "==> style: ruff check"
	@$(BIN)/ruff check .
	@echo "==> format: ruff format --check"
	@$(BIN)/ruff format --check .
	@echo "==> types: mypy --strict"
	@$(BIN)/mypy
	@echo "==> layers: lint-imports"
	@$(BIN)/lint-imports --no-logo

# SCURRY_REQUIRE_SERVERS=1 makes a server that cannot be had (a Kafka broker, say) a failure; without
# it the tests that need the server are skipped, loudly.
# `lint` goes first even under `make -j`: a style error should not wait for Spark.
# Tests write many small files, so these lie in memory where the system has a place for that.
pytest: lint $(STAMP) ## run all tests, after lint
	@sh scripts/install_servers.sh
	@echo "==> tests: pytest, two processes"
	@$(WITH_JAVA) && $(BIN)/scurry warm-up && \
	  TMPDIR="$$(sh scripts/test-directory.sh)" $(BIN)/python -m pytest -n 2 --dist loadgroup

test-live: $(STAMP) ## run tests/spark with all jobs in the live engine
	@$(WITH_JAVA) && $(BIN)/scurry warm-up && $(BIN)/python -m pytest tests/spark --engine live

PROGRAMS ?= 10000
fuzz: $(STAMP) ## run random programs, PROGRAMS=n of them, and compare them with a model of Flink
	@$(WITH_JAVA) && $(BIN)/scurry warm-up && \
	  $(BIN)/python -m tests.fuzz.fuzz --programs $(PROGRAMS) $(if $(SEED),--seed $(SEED))

KILLS ?= 100
soak: $(STAMP) ## kill a job at random, KILLS=n times, ENGINE=live too; look for anything lost or doubled
	@$(WITH_JAVA) && $(BIN)/scurry warm-up && $(BIN)/python -m tests.faults.soak \
	  --kills $(KILLS) $(if $(ENGINE),--engine $(ENGINE))

HOURS ?= 1
soak-hours: $(STAMP) ## run a job for HOURS=n hours; see whether memory, files and descriptors grow
	@$(WITH_JAVA) && $(BIN)/scurry warm-up && $(BIN)/python -m tests.faults.soak_hours \
	  --hours $(HOURS) $(if $(ENGINE),--engine $(ENGINE))

soak-sinks: $(STAMP) ## the same between Kafka, Postgres and files; OUTAGES=s has the servers go away, too
	@sh scripts/install_servers.sh
	@$(WITH_JAVA) && $(BIN)/scurry warm-up && \
	  $(BIN)/python -m tests.faults.sinks_soak --kills $(KILLS) $(if $(OUTAGES),--outages $(OUTAGES))

soak-objects: $(STAMP) ## kill a job whose checkpoint is in S3, or with ON=hdfs in HDFS, KILLS=n times, for MINUTES=n at most
	@$(WITH_JAVA) && $(BIN)/scurry warm-up && \
	  $(BIN)/python -m tests.faults.object_soak --kills $(KILLS) --on $(or $(ON),s3) \
	  --minutes $(or $(MINUTES),0)

bench: $(STAMP) ## measure: all of benchmarks/, or one with NAME=<name>
	@$(WITH_JAVA) && $(BIN)/scurry warm-up && \
	if [ -n "$(NAME)" ]; then names="$(NAME)"; else \
	  names=$$(ls benchmarks/[!_]*.py 2>/dev/null | sed 's|.*/||; s|\.py$$||'); fi; \
	if [ -z "$$names" ]; then echo "benchmarks/ holds no benchmark" >&2; exit 1; fi; \
	for name in $$names; do \
	  echo "==> benchmark: $$name"; \
	  $(BIN)/python -m "benchmarks.$$name" || exit 1; \
	done

# PyFlink lives in an environment of its own: SCURRY_PYFLINK_PYTHON names its interpreter.
diff-flink: ## run the SQL scenarios on PyFlink, as streams and in batch mode, and compare
	@if [ -z "$(SCURRY_PYFLINK_PYTHON)" ]; then \
	  echo "set SCURRY_PYFLINK_PYTHON to the python of an environment with apache-flink" >&2; exit 1; fi
	@$(WITH_JAVA) && $(SCURRY_PYFLINK_PYTHON) scripts/flink_scenarios.py && \
	  $(SCURRY_PYFLINK_PYTHON) scripts/flink_scenarios.py --batch

docs: $(STAMP) ## write the generated tables of docs/
	@$(BIN)/python scripts/pyflink_table.py
	@$(BIN)/python scripts/options_page.py
	@$(BIN)/python scripts/functions_page.py
	@$(BIN)/python scripts/queries_page.py
	@$(BIN)/python scripts/metrics_page.py
	@$(BIN)/python scripts/api_pages.py
	@$(BIN)/python scripts/sql_statements_page.py
	@$(BIN)/python scripts/pattern_pictures.py

clean: ## remove the environment, build products and caches
	rm -rf .venv build dist site .hypothesis .import_linter_cache .mypy_cache .pytest_cache \
	  .ruff_cache spark-warehouse metastore_db derby.log
	find src tests benchmarks scripts -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# Rebuilt only when the list of packages or the way of installing them changes.
$(STAMP): pyproject.toml scripts/ensure-venv.sh
	@sh scripts/ensure-venv.sh
	@touch $@
