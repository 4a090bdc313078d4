# SPDX-License-Identifier: Apache-2.0
# Makefile: the verbs; CMake does the work underneath.
JOBS ?= $(shell nproc)
MAKEFLAGS += --no-print-directory

all: build/Makefile
	@cmake --build build -j $(JOBS)

build/Makefile: CMakeLists.txt
	@cmake -S . -B build $(CMAKE_FLAGS)

.PHONY: all
