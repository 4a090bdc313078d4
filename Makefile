# SPDX-License-Identifier: Apache-2.0
# Makefile: the verbs; CMake does the work underneath. `make help` lists them.
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
MINUTES ?= 30
TORCH_CPU ?= https://download.pytorch.org/whl/cpu # smaller; else the one of PyPI
WERROR ?= $(if $(CI),ON,OFF)
POCL = POCL_DEVICES='basic basic' SITU_OPENCL_DEVICES=all POCL_CACHE_DIR=build/pocl
MAKEFLAGS += --no-print-directory

# $(call build,FOLDER,OPTIONS,TARGETS): configures and builds; CMake's make must not see ours.
build = cmake -S . -B $(1) -DSITU_WERROR=$(WERROR) $(2) >/dev/null && \
  env -u MAKEFLAGS -u MFLAGS cmake --build $(1) -j $(JOBS) $(if $(3),--target $(3)) -- -s

## all: install what is missing and build (the default)
all: setup
	@$(call build,build,)

## demo: run every example on simulated GPUs and show what it prints
demo: all
	@tools/demo.sh

## test: build, run every test, and the C tests again under ASan and UBSan
test: setup-test
	@$(call build,build,)
	@$(call build,build-asan,'-DSITU_SANITIZE=address;undefined')
	@python3 tools/test.py build build-asan

## quick: the unit tests and a sample of the Python tests, after every edit (under a minute)
quick: setup-test
	@$(call build,build,)
	@python3 tools/test.py build -L 'unit|cli|tools|quick'

## test-opencl: every op on OpenCL, with PoCL for two GPUs (several minutes, the first time)
test-opencl: setup-test
	@$(call build,build,)
	@env $(POCL) build/situ selftest --device /gpu:1 --op '*' --seconds 3600
	@env $(POCL) build/situ selftest --device /gpu:0

## oclgrind: kernels in a simulator that watches every access, and whether it finds planted faults
oclgrind: setup-oclgrind
	@$(call build,build,)
	@python3 -B tests/kernel/oclgrind.py build/situ .

## test-cuda: the CUDA back end on a driver that stands in for two GPUs: every op, planted faults
test-cuda: setup-test
	@tools/nvrtc.sh build/nvrtc
	@$(call build,build,)
	@python3 tools/test.py build -C All -L cuda

## kernels: every kernel by every compiler that is here: C, OpenCL C, NVRTC to PTX, ptxas
kernels: setup-test
	@tools/nvrtc.sh build/nvrtc
	@$(call build,build,,situ_objects)
	@tools/kernels.sh build

## asan: the C tests under ASan and UBSan only
asan: setup-test
	@$(call build,build-asan,'-DSITU_SANITIZE=address;undefined')
	@python3 tools/test.py build-asan

## tsan: the C tests under the thread sanitizer
tsan: setup-test
	@$(call build,build-tsan,-DSITU_SANITIZE=thread)
	@python3 tools/test.py build-tsan

## fresh: the README's commands on a minimal Debian 12 in a chroot (as root; FRESH='make' for others)
fresh:
	@tools/fresh.sh $(if $(FRESH),"$(FRESH)")

## check: layers, sizes, names, doc strings, format, types, clang-tidy, cppcheck
check: setup-check
	@$(call build,build,)
	@tools/check.sh

## format: let clang-format decide about blanks
format: setup-check
	@tools/format.sh

## fuzz: every tests/fuzz/fuzz_*.c for FUZZ_SECONDS (60) each
fuzz: setup-fuzz
	@$(call build,build-fuzz,-DCMAKE_C_COMPILER=clang-16 -DSITU_FUZZ=ON,fuzz)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz.sh build-fuzz

## faults: let each allocation, file operation, thread and device call of many programs fail (10 minutes)
faults: setup
	@$(call build,build,)
	@.venv/bin/python -B tests/faults/faults.py build $(FAULTS)

## soak: several programs in several threads for MINUTES (30): memory, threads, files and results
soak: setup
	@$(call build,build,)
	@SITU_CUDA=0 SITU_OPENCL_DEVICES=none .venv/bin/python -B tests/soak/soak.py --minutes $(MINUTES)

## bench: measure; prints a table and writes build/bench.json (BENCH='--quick --only run')
bench: setup setup-bench
	@$(call build,build,)
	@$(call build,build,,bench)
	@python3 bench/run.py $(BENCH)

## bench-peers: install the systems that make bench compares with, in a folder of their own
bench-peers: setup-peers
	@python3 -m venv .venv-bench
	@.venv-bench/bin/pip install -q --retries 0 --index-url $(TORCH_CPU) torch 2>/dev/null || true
	@.venv-bench/bin/pip install -q -r bench/peers.txt

## docs: the manual of the C API and of the ops in build/docs
docs: all
	@python3 tools/docs.py build/docs

## wheel: the Python package as one file in build/wheel, to be installed by pip
wheel: setup
	@$(call build,build,,situ_archive situ_headers situ_venv)
	@tools/wheel.sh .venv/bin/python build/wheel build

## wheels: manylinux wheels for CPython 3.9 to 3.13 in build/wheels (WHEELS='3.11' for some)
wheels: setup setup-wheels
	@JOBS=$(JOBS) tools/wheels/wheels.sh build/wheels $(WHEELS)

## test-wheels: install each wheel in a new environment with NumPy alone; images, linear algebra, training
test-wheels:
	@tools/wheels/test.sh build/wheels $(WHEELS)

## install: headers, libraries and the command below PREFIX (/usr/local)
install: all
	@cmake --install build --strip --prefix $(PREFIX)

## release: check the tree, its version and CHANGELOG.md, test, then tag (VERSION=x.y.z)
release:
	@tools/release.sh "$(VERSION)"

## clean: remove every build folder
clean:
	rm -rf build build-asan build-tsan build-fuzz build-wheel build-wheels

## help: this list
help:
	@sed -n 's/^## /  make /p' Makefile

# Each verb installs only the packages it needs that are missing.
setup:
	@tools/setup.sh build
setup-%:
	@tools/setup.sh build $*

.PHONY: all demo quick test test-opencl test-cuda oclgrind kernels asan tsan fresh check format fuzz faults soak bench bench-peers docs wheel wheels test-wheels install release clean help setup
