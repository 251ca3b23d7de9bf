# Everything runs from a virtual environment of its own, made from the lock file; nothing else is installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed
# Two processes leave a third of two cores idle: tests of the cluster ring often wait. Each process has a control plane of its own (about 2 GB).
WORKERS ?= 3
SIDE_BY_SIDE := $(if $(filter-out 1,$(WORKERS)),--numprocesses $(WORKERS) --dist loadgroup --no-loadscope-reorder)

# make test KUBERNETES=1.32 PYTEST_ARGS=tests/cluster: the local cluster of an older Kubernetes (localcluster/releases.py).
ifdef KUBERNETES
export MOONSHIFT_KUBERNETES := $(KUBERNETES)
endif

.PHONY: test-part originals-suite node-tools images demo-cluster demo demo-metrics demo-traffic test test-fast test-full check audit docs-site bench bench-full bench-lua generate docs stats picture plots format cluster clean help
.DEFAULT_GOAL := help

help: ## Show all targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Moonshift needs Python 3.11 or newer, found " + sys.version.split()[0] + ": set PYTHON=/path/to/python3.11")'
	@echo "Installing the pinned dependencies into $(VENV) (once, about a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

cluster: $(READY) ## Build the local control plane (once, some minutes)
	@$(BIN)/python -m localcluster build

# Only if KUBECONFIG is an argument of make: a KUBECONFIG in the environment must not choose the cluster.
ELSEWHERE := $(if $(filter command%,$(origin KUBECONFIG)),--kubeconfig=$(KUBECONFIG))

node-tools: $(READY) ## Install the system's packages that a real node and images need (Debian, Ubuntu; as root)
	@missing=$$($(BIN)/python -m localcluster.node.tools); \
	if [ -n "$$missing" ]; then set -x; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	else echo "Everything that a real node needs is here."; fi

images: $(READY) ## Build both container images here (buildah, Debian's packages; as root)
	@$(BIN)/python -m demo.cluster.images

demo-cluster: $(READY) ## Install on a real node of this machine and release real pods through a real gateway (as root)
	@$(BIN)/python -m demo.cluster

demo: $(READY) ## Play a canary release with Istio routes on a real control plane (KEEP=1 keeps it; KUBECONFIG=FILE: on an existing cluster)
	@$(BIN)/python -m demo $(if $(KEEP),--keep) $(ELSEWHERE)

demo-metrics: $(READY) ## Play releases that a real Prometheus judges: one passes, one is held, one rolls back by itself
	@$(BIN)/python -m demo.metrics

demo-traffic: $(READY) ## Release under real traffic: Contour and Envoy in a network of their own (DEMO_ARGS="--gateway traefik", or istio); fails on a lost request
	@$(BIN)/python -m demo.traffic $(DEMO_ARGS)

# Tests that a person names are one run; all of them are three (tests/runs.py).
RUN_TESTS := $(BIN)/python -m $(if $(PYTEST_ARGS),tests.second_try,tests.runs)

test: $(READY) ## Run the tests, without the long ones, and demand every branch of decisions (WORKERS=N: in N processes side by side)
	@$(BIN)/python -m localcluster build --for-tests
	@$(RUN_TESTS) $(SIDE_BY_SIDE) $(PYTEST_ARGS)

test-full: $(READY) ## Run the long ones, too (kills at every write, every kind in a release, more examples), and list the rights that no test used
	@$(BIN)/python -m localcluster build --for-tests
	@folder=$$(mktemp -d) && \
	MOONSHIFT_PROFILE=thorough $(RUN_TESTS) -m "full or not full" --basetemp=$$folder/run $(SIDE_BY_SIDE) $(PYTEST_ARGS) && \
	$(if $(PYTEST_ARGS),true,$(BIN)/python -m tests.rights $$folder) && rm -rf $$folder

test-part: $(READY) ## Run the part of the long tests whose turn it is, as CI does (PART=N: another; python -m tests.long_parts --list)
	@$(BIN)/python -m localcluster build --for-tests
	@$(BIN)/python -m tests.long_parts $(if $(PART),--part $(PART)) -- $(SIDE_BY_SIDE) $(PYTEST_ARGS)

test-fast: $(READY) ## Run the tests that need no control plane
	@$(BIN)/python -m pytest tests/unit tests/component $(PYTEST_ARGS)

originals-suite: $(READY) ## Run the end-to-end tests of OpenKruise Rollouts, unmodified, on Moonshift (about ten minutes)
	@$(BIN)/python -m tests.originals_suite $(SUITE_ARGS)

check: $(READY) ## Lint, types, layers, spelling, generated code
	@$(BIN)/python -m pip check --disable-pip-version-check
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/codespell controller luaworker localcluster demo tests docs deploy examples *.md Makefile
	@$(BIN)/python -m protos.generate --check

generate: $(READY) ## Write every generated file: protocol, tables of the documents, types of scripts
	@$(BIN)/python -m protos.generate
	@$(BIN)/python -m demo.cluster.locks
	@$(BIN)/python -m demo.cluster.chart
	@$(BIN)/python -m demo.cluster.status_schema
	@$(BIN)/python -m tests.unit.domain.rollout.transition_table
	@$(BIN)/python -m tests.unit.lua_configuration.library_docs
	@$(BIN)/python -m tests.unit.lua_configuration.matrix --update
	@$(BIN)/python -m tests.unit.lua_configuration.capabilities --update
	@$(BIN)/python -m tests.unit.lua_configuration.gateway_pages
	@$(BIN)/python -m tests.unit.lua_configuration.asking_page --update
	@$(BIN)/python -m tests.trouble.document
	@$(BIN)/python -m tests.unit.telemetry.catalogue
	@$(BIN)/python -m tests.unit.documents.event_table
	@$(BIN)/python -m tests.gitops.argocd
	@$(BIN)/python -m tests.gitops.ignoring
	@$(BIN)/python -m tests.monitoring.dashboards

docs: generate ## The same

picture: $(READY) ## Draw the dashboard of docs/metrics.md again from a real Prometheus (matplotlib comes into build/)
	@test -d build/matplotlib || $(BIN)/python -m pip install --quiet --disable-pip-version-check --target build/matplotlib matplotlib==3.11.2
	@PYTHONPATH=build/matplotlib $(BIN)/python -m tests.monitoring.picture

# The site and the audit have virtual environments of their own: neither runs or builds the product.
.venv-%/.installed: requirements-%.lock
	@echo "Installing $< into .venv-$* (once) ..."
	@$(PYTHON) -m venv .venv-$*
	@.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	@touch $@

docs-site: .venv-docs/.installed ## Build one site of all documents in build/site; fails at a broken link
	@.venv-docs/bin/python -m tests.unit.documents.site
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build -f build/mkdocs.yml

LOCKS := requirements.lock $(wildcard deploy/docker/*.lock) requirements-docs.lock requirements-audit.lock

audit: .venv-audit/.installed ## Scan the manifests (Checkov), and look up known vulnerabilities of every pinned package (needs PyPI)
	@.venv-audit/bin/python .venv-audit/bin/checkov --config-file deploy/checkov.yaml
	@for lock in $(LOCKS); do echo "$$lock"; .venv-audit/bin/pip-audit --disable-pip --require-hashes --strict --progress-spinner off -r $$lock || exit 1; done

stats: $(READY) ## Count lines, files, long functions, terms of the glossary, the shape of the source, and packaged Lua
	@$(BIN)/python -m tests.unit.documents.stats
	@$(BIN)/python -m tests.unit.documents.shape
	@$(BIN)/python -m tests.unit.lua_configuration.stats

format: $(READY) ## Format the code
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

bench: $(READY) ## Measure the figures and write docs/benchmarks.md; fails if a figure misses its goal
	@$(BIN)/python -m localcluster build
	@$(BIN)/python -m tests.bench --write docs/benchmarks.md

bench-full: $(READY) ## The same, scripts in the worker, ten thousand Rollouts, a thousand releases at once, and a soak (more than an hour)
	@$(BIN)/python -m localcluster build
	@$(BIN)/python -m tests.bench --large --write docs/benchmarks.md; usual=$$?; \
	$(BIN)/python -m tests.bench_lua --write; worker=$$?; \
	$(BIN)/python -m tests.bench.scale; scale=$$?; $(MAKE) --no-print-directory plots && exit $$((usual | worker | scale))

plots: $(READY) ## Draw the plots of docs/benchmarks: the cost against the size (MEASURE=1: measure a release first)
	@test -d build/matplotlib || $(BIN)/python -m pip install --quiet --disable-pip-version-check --target build/matplotlib matplotlib==3.11.2
	@$(if $(MEASURE),$(BIN)/python -m tests.bench.sizes)
	@PYTHONPATH=build/matplotlib $(BIN)/python -m tests.bench.plots
	@PYTHONPATH=build/matplotlib $(BIN)/python -m tests.bench.scale.plots

bench-lua: $(READY) ## Measure the cost of isolating scripts; fails if a ratio misses its goal
	@$(BIN)/python -m tests.bench_lua

clean: ## Remove generated files and environments (not the cached control plane)
	rm -rf $(VENV) .venv-docs .venv-audit build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
