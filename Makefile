# The front door. `make help` lists it. Every target does its own set-up and is quick the second time.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.NOTPARALLEL:

# The Python that .venv is made from: any CPython >= 3.10 with headers.
PYTHON ?= python3
export PYTHON
VENV := .venv/bin
JOBS := $(shell nproc)

.PHONY: help build demo test test-cpp test-python test-pythons test-arm test-sanitize test-threads fuzz fuzz-races bench bench-check wheel format tidy clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## set up and build; afterwards .venv/bin/python imports cudasim and .venv/bin/cudasim is the program
	@scripts/set_up.sh build
	@scripts/build.sh

demo: build ## an unchanged numba.cuda script on a photograph, then the same kernel with a bug
	@scripts/demo.sh

test: ## all tests on one Python: GoogleTest, then pytest
	@scripts/set_up.sh test
	@scripts/build.sh tests
	@$(MAKE) --no-print-directory test-cpp test-python

test-cpp: # (after `make test` built everything)
	ctest --test-dir build/release --output-on-failure -j $(JOBS) --no-tests=error

test-python: # (after `make test` built everything)
	@scripts/test_python.sh

test-pythons: ## the tests of Python mode, of debuggers and a sample on every CPython found, PYTHONS="3.12 /path/python"
	@scripts/set_up.sh build
	@scripts/build.sh
	@PYTHONS="$(PYTHONS)" scripts/test_pythons.sh $(if $(EXCEPT_VENV),--except-venv)

test-arm: ## the engine's tests for 64-bit Arm, cross-compiled and run under qemu-user
	@scripts/set_up.sh build
	@scripts/test_arm64.sh

test-sanitize: ## the engine's tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/set_up.sh test
	cmake --preset sanitize >/dev/null
	cmake --build --preset sanitize --target cudasim_tests
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ctest --preset sanitize -j $(JOBS) --no-tests=error

test-threads: ## the tests of the driver and of streams under ThreadSanitizer
	@scripts/set_up.sh test
	cmake --preset threads >/dev/null
	cmake --build build/threads --target driver_test streams_test
	build/threads/tests/simulator/driver/driver_test --gtest_brief=1
	build/threads/tests/simulator/streams/streams_test --gtest_brief=1

FUZZ_SECONDS ?= 600

fuzz: ## the readers of image files, of records and of the debugger's messages against random changes of their seeds, FUZZ_SECONDS=600 each
	@scripts/set_up.sh fuzz
	cmake --preset fuzz >/dev/null
	cmake --build --preset fuzz
	@mkdir -p build/fuzz/corpus build/fuzz/record_corpus build/fuzz/gpu_launch_corpus build/fuzz/message_corpus
	build/fuzz/tests/simulator/image/image_reader_fuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=16384 \
	    -timeout=90 -print_final_stats=1 -artifact_prefix=build/fuzz/ build/fuzz/corpus tests/simulator/image/seeds
	build/fuzz/tests/simulator/driver/record_reader_fuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=65536 \
	    -timeout=90 -print_final_stats=1 -artifact_prefix=build/fuzz/ build/fuzz/record_corpus tests/simulator/driver/seeds
	build/fuzz/tests/simulator/records/gpu_launch_fuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=65536 \
	    -timeout=90 -print_final_stats=1 -artifact_prefix=build/fuzz/ build/fuzz/gpu_launch_corpus tests/simulator/records/seeds
	build/fuzz/tests/debugger/debugger_message_fuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=8192 \
	    -timeout=90 -print_final_stats=1 -artifact_prefix=build/fuzz/ build/fuzz/message_corpus tests/debugger/dap/seeds

fuzz-races: ## 10,000 random launches for the race detector, each beside a slow detector that is plainly right
	@scripts/set_up.sh test
	@scripts/build.sh tests
	CUDASIM_FUZZ_RACES=10000 build/release/tests/simulator/checks/checks_test
	CUDASIM_FUZZ_RACES=10000 $(VENV)/python -m pytest -q tests/python/checks/test_random_races.py

bench: ## speed, each number beside its peer's in the same run; writes build/bench.json
	@scripts/set_up.sh bench
	@scripts/build.sh
	$(VENV)/python -m bench --numba .venv-numba/bin/python --json build/bench.json

bench-check: ## the same, and fails beyond twice a bar's ratio
	@scripts/set_up.sh bench
	@scripts/build.sh
	$(VENV)/python -m bench --numba .venv-numba/bin/python --json build/bench.json --check

wheel: ## a wheel with LLVM inside in dist/, tested in a fresh virtual environment
	@scripts/set_up.sh build
	@scripts/build.sh
	@scripts/wheel.sh

format: ## clang-format and ruff over the project's own files
	@scripts/set_up.sh format
	git ls-files '*.cpp' '*.h' | xargs $(VENV)/clang-format -i
	$(VENV)/python -m ruff check -q --fix frontend/python tests bench examples scripts
	$(VENV)/python -m ruff format -q frontend/python tests bench examples scripts

tidy: ## clang-tidy over the C++ files that differ from main, ALL=1 over all (an hour)
	@scripts/set_up.sh tidy
	@scripts/build.sh
	@scripts/tidy.sh $(if $(ALL),--all)

clean: ## remove what was built (not .venv and .venv-numba)
	rm -rf build dist
