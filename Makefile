# Everything needs only make, Rust and Python; the rest is installed into .venv, from requirements*.lock.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/.stamps
DEMO   ?= examples/dumbbell-50-flows.toml
OUT    ?= out/demo
# quick compiles in a third of the time of release, which wheels and benchmarks are built with; long simulations take about 10 % more.
PROFILE ?= quick
# The emulator works against the clock.
EMU_PROFILE ?= release
# SCALE=full measures more paths by kernels: half an hour and more.
SCALE  ?= quick
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name 'Cargo.toml')

# Tests share all cores.
PYTEST_OPTIONS ?= --numprocesses auto

# Property tests draw the same cases each time, so that a failure can be repeated; another number draws others.
PROPTEST_RNG_SEED ?= 1
export PROPTEST_RNG_SEED

# Of the slow tests in Python and of those with real packets: with PART=2/4, the second of four parts.
PART ?= 1/1

# A folder of packetdrill's scripts, as gtests/net/tcp of github.com/google/packetdrill.
SCRIPTS ?=

.PHONY: packetdrill help demo test test-all test-rust test-python test-slow-python test-lowest test-fingerprints test-real test-ns2 test-fuzz test-long bench validate ns2-answers validate-kernel validate-second-kernel bench-program install emu bench-emu reference doc gallery notebooks site screenshots wheel sdist deb check-tools check-lints check-deb check-ns2 check-traffic clean
.DELETE_ON_ERROR:

help:
	@echo "make demo      simulate $(DEMO); print a table, write a report"
	@echo "make test      tests and checks, Rust and Python, in minutes"
	@echo "make test-all  what takes long, sends real packets (as root) or runs ns-2 too"
	@echo "make test-lowest  with the lowest permitted versions of Python's packages"
	@echo "make test-long what takes longest and proves little in a second: before a release"
	@echo "make bench     speed and memory compared with ns-2 (if installed: scripts/install-packages)"
	@echo "make bench-emu speed of the emulator, with iperf3 (needs root)"
	@echo "make validate  runs ns-2 and compares results (scripts/install-packages)"
	@echo "make ns2-answers             what the tests compare with: runs ns-2 again, writes benches/ns2/answers.json"
	@echo "make validate-kernel         transfers by this machine's kernel compared with simulated ones (needs root)"
	@echo "make validate-second-kernel  the emulator compared with netem, congestion controls with User-Mode Linux's (needs root)"
	@echo "make packetdrill SCRIPTS=FOLDER  packetdrill's scripts against the simulated TCP"
	@echo "make install   set up .venv with the longhaul command"
	@echo "make emu       build the emulator, target/$(EMU_PROFILE)/longhaul-emu (Linux; it needs root to run)"
	@echo "make reference docs/reference/ and the man page, from the program itself"
	@echo "make doc       documentation of the crates, in target/doc"
	@echo "make site      the documentation as a site, in out/site; make gallery, make notebooks: its reports and notebooks"
	@echo "make screenshots  pictures of every report and page, looked through for contrast and what is cut off (needs chromium)"
	@echo "make wheel     a wheel for this machine, in out/dist; make sdist: the sources; make deb: emulator and accelerator as Debian packages"
	@echo "make clean     remove what was built"

demo: install
	$(BIN)/longhaul run $(DEMO) --report --force --out $(OUT)
	@echo
	@echo "Open $(OUT)/report.html in a browser. More: $(BIN)/longhaul --help, and the scenarios in examples/."

test: test-rust test-python

# What takes long, sends real packets or runs ns-2 as well; what cannot run here is reported as skipped, with the reason.
test-all: test doc test-fingerprints test-real test-ns2 test-slow-python

# What proves little in a second: many drawn inputs of parsers, large scales of studies. Before a release, and after changes there.
test-long: test-fuzz install $(STAMPS)/dev
	$(BIN)/pytest --numprocesses auto --dist worksteal --all --long -m long

test-rust: check-lints
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy -p longhaul-cc -p longhaul-path --no-default-features --locked -- -D warnings
	cargo clippy -p longhaul-pep --no-default-features --locked -- -D warnings
	cargo clippy -p longhaul-cc -p longhaul-path --no-default-features --features longhaul-units/serde --locked -- -D warnings
	cargo test --workspace --locked
	@scripts/ignored-tests crates

test-python: install $(STAMPS)/dev $(STAMPS)/ray
	$(BIN)/ruff check python tests
	$(BIN)/ruff format --check python tests
	$(BIN)/mypy
	$(BIN)/pytest $(PYTEST_OPTIONS)

# The lowest versions that pyproject.toml permits of every package, also of what builds it: figures, tables, reports and sweeps, where
# changes of packages show.
LOWEST := $(abspath out/lowest)
LOWEST_TESTS := $(foreach name,cli_tables figures_and_reports outputs python_interface sweep values,tests/test_$(name).py)
test-lowest: check-tools
	rm -rf $(LOWEST) && $(PYTHON) -m venv $(LOWEST) && scripts/lowest-versions >$(LOWEST)/lowest.txt
	grep -E '^(pytest|pytest-xdist|scapy)==' requirements-dev.lock | $(LOWEST)/bin/pip install --quiet --disable-pip-version-check -r $(LOWEST)/lowest.txt -r /dev/stdin
	VIRTUAL_ENV=$(LOWEST) PIP_QUIET=1 $(LOWEST)/bin/maturin develop --profile $(PROFILE) --locked
	$(LOWEST)/bin/pytest --numprocesses auto --disable-warnings $(LOWEST_TESTS)
	$(LOWEST)/bin/pytest --all --disable-warnings tests/test_sweep_ray.py -k local_engine

# What of them `make test` skips. A part may have no test of a kind (exit status 5).
test-slow-python: install $(STAMPS)/dev $(STAMPS)/ray
	$(BIN)/pytest --numprocesses auto --dist worksteal --all --part $(PART) -m "slow and not alone and not long" || [ $$? = 5 ]
	$(BIN)/pytest --all --part $(PART) -m "slow and alone and not long" || [ $$? = 5 ]

test-real: check-tools
	@if missing=$$(scripts/can-send-packets); then scripts/real-packets $(PART); else \
	  scripts/ignored-tests crates/emu crates/pep; echo "$$missing" | sed 's/^/skipped, since /'; fi

test-ns2: check-tools
	@if command -v ns >/dev/null; then cargo test --workspace --locked --test red_against_ns2 -- --ignored; else \
	  echo "skipped: RED against ns-2: ns-2 is not installed (scripts/install-packages)"; fi

# Results of whole runs; `make test` has short ones.
test-fingerprints: check-tools
	cargo test --workspace --locked --test sim -- --ignored

test-fuzz: check-tools
	cargo test --workspace --locked --test targets -- --ignored

bench: install bench-program
	$(BIN)/python benches/bench.py

validate: check-ns2 install bench-program $(STAMPS)/dev
	$(BIN)/python benches/validate.py
	$(BIN)/python benches/validate_vegas.py
	LONGHAUL_NS2=check $(BIN)/pytest tests -k against_ns2

ns2-answers: check-ns2 install $(STAMPS)/dev
	LONGHAUL_NS2=record $(BIN)/pytest tests -k against_ns2

validate-kernel: check-traffic install emu
	$(BIN)/python benches/validate_kernel.py --scale $(SCALE)

validate-second-kernel: check-traffic install emu
	$(BIN)/python benches/validate_second_kernel.py netem --scale $(SCALE)
	$(BIN)/python benches/validate_second_kernel.py congestion --scale $(SCALE)

packetdrill: check-tools
	cargo run --locked -p longhaul-packetdrill -- --verbose $(SCRIPTS)

bench-program: check-tools
	cargo build --release --locked -p longhaul-sim --example bench_run

install: $(STAMPS)/longhaul

emu: check-tools
	cargo build --profile $(EMU_PROFILE) --locked --workspace --bin longhaul-emu

reference: install
	$(BIN)/python scripts/make-reference
	$(BIN)/python scripts/make-settings

# The documentation of the crates; a broken link or a missing text is an error.
doc: check-tools
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Reports and figures of the examples, for the site. The front page shows the first, with the causes tested.
GALLERY := geo-one-flow dumbbell-50-flows loss-sack-newreno satellite-pep rain-fade mixed-traffic queue-disciplines sttp-modern
gallery: install
	@for name in $(GALLERY); do \
	  $(BIN)/longhaul run examples/$$name.toml --report --quiet --force --out out/gallery/$$name && \
	  $(BIN)/longhaul plot out/gallery/$$name --kind throughput --png || exit 1; \
	done
	@$(BIN)/longhaul report out/gallery/$(firstword $(GALLERY)) --explain

# The notebooks with what their cells show, for the site.
notebooks: install
	$(BIN)/python scripts/show-notebooks out/notebooks

# The documentation site, in out/site; a broken link is an error.
site: gallery notebooks $(STAMPS)/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Pictures of every kind of report and of the site's pages, in out/screenshots, at two widths and in both colour schemes; poor contrast and
# what is cut off are errors. It needs chromium; EMULATOR=FILE adds the report of an emulated result, as root.
EMULATOR ?=
screenshots: install
	$(BIN)/python scripts/screenshots out/screenshots $(if $(EMULATOR),--emulator $(EMULATOR))

$(STAMPS)/site: requirements-site.lock $(STAMPS)/packages
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-site.lock
	@touch $@

# A wheel for this machine, and the sources; release workflows build the others.
wheel: $(STAMPS)/packages
	$(BIN)/maturin build --release --locked --out out/dist
sdist: $(STAMPS)/packages
	$(BIN)/maturin sdist --out out/dist

# The emulator and the accelerator as Debian packages, in out/deb (needs cargo-deb: cargo install --locked cargo-deb).
# Compiled with the features of the whole workspace, as everything else: what is there is not compiled again. DEB_PROFILE=test packs
# what the tests have compiled.
DEB_PROFILE ?= release
DEB_DOCUMENTS := docs/glossary.md
deb: check-deb
	@rm -rf out/deb out/packages && mkdir -p out/deb
	$(if $(filter test,$(DEB_PROFILE)),cargo test --test emu --test pep --no-run,cargo build --profile $(DEB_PROFILE) --bin longhaul-emu --bin longhaul-pep) --workspace --locked
	scripts/package-documents out/packages/longhaul-emu docs/emulator.md docs/reference/scenario*.md $(DEB_DOCUMENTS)
	scripts/package-documents out/packages/longhaul-pep docs/accelerator.md docs/setup.md docs/hop.md $(DEB_DOCUMENTS)
	scripts/package-documents out/packages CHANGELOG.md
	set -e; for name in longhaul-emu longhaul-pep; do \
	  gzip -9nc out/packages/CHANGELOG.md >out/packages/$$name/changelog.gz; \
	  program=target/$(if $(filter test dev,$(DEB_PROFILE)),debug,$(DEB_PROFILE))/$$name; \
	  $$program man >out/packages/$$name/$$name.1; \
	  for shell in bash zsh fish; do $$program completion $$shell >out/packages/$$name/$$shell; done; \
	  cargo deb -p $$name --locked --no-build --strip --profile $(DEB_PROFILE:test=dev) --output out/deb; done

bench-emu: check-traffic emu
	$(PYTHON) benches/bench_emu.py --emulator target/$(EMU_PROFILE)/longhaul-emu

# The compiled module is rebuilt when a Rust source changes; Python sources are used where they are.
$(STAMPS)/longhaul: $(STAMPS)/packages pyproject.toml $(RUST_SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 $(BIN)/maturin develop --profile $(PROFILE) --locked
	@touch $@

$(STAMPS)/packages: requirements.lock | check-tools
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/dev: requirements-dev.lock $(STAMPS)/packages
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@touch $@

# Where Ray cannot be installed, the test of sweeps on a Ray cluster is skipped.
$(STAMPS)/ray: requirements-ray.lock $(STAMPS)/packages
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-ray.lock && touch $@ || \
	  echo "note: Ray cannot be installed here: sweeps on a Ray cluster are not tested"

# What a target needs beside that, it names itself: what is missing is an error before anything is compiled.
CHECK := PYTHON='$(PYTHON)' scripts/check-tools
check-tools:
	@$(CHECK) python rust cc
check-lints:
	@$(CHECK) python rust cc rustfmt clippy
check-deb:
	@$(CHECK) python rust cc cargo_deb
check-ns2:
	@$(CHECK) ns2
check-traffic:
	@$(CHECK) root ip iperf3

clean:
	rm -rf $(VENV) out
	cargo clean
