# SPDX-License-Identifier: Apache-2.0
# What a newcomer types: make demo, make test. Every target sets up what it
# needs first (tools/setup.sh) and does nothing twice.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo build reports test test-study test-asan test-tsan fuzz bench bench-gpu test-gpu lint format dist clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build ## set up, build, train two models, ask whether another device helps (5 minutes after the build)
	@tools/demo.sh

build: ## set up, then build/bin/lockstep
	@tools/setup.sh study train
	@tools/build.sh release lockstep_cli

reports: build ## the HTML pages of what lies in results/, into build/reports
	@tools/reports.sh

test: ## set up, build everything, run all tests, then the study half alone
	@tools/setup.sh study train
	@tools/build.sh release
	@tools/test.sh release
	@$(MAKE) --no-print-directory test-study

test-study: ## the study half and its tests, without LibTorch
	@tools/setup.sh study
	@tools/build.sh study
	@tools/test.sh study

test-asan: ## kill, bit-equality and bad-input tests under ASan and UBSan
	@tools/setup.sh study train
	@tools/build.sh asan sanitized
	@tools/test.sh asan

test-tsan: ## groups, loader and study half under TSan
	@tools/setup.sh study train
	@tools/build.sh tsan sanitized
	@tools/test.sh tsan

fuzz: ## readers of recipes, hardware files, profiles and tables on made-up input, one minute
	@tools/setup.sh study fuzz
	@tools/fuzz.sh 60

bench: ## ratios to PyTorch on this machine (installs PyTorch into .venv-bench, 4.7 GB)
	@tools/setup.sh study train bench
	@tools/build.sh release lockstep_cli benches
	@tools/bench.sh

bench-gpu: ## ours and PyTorch's step side by side on this machine's GPU (python3 needs torch)
	@tools/setup.sh study train
	@tools/build.sh release lockstep_cli lockstep_cuda gpu_bench gpu_kernels_bench
	@python3 bench/gpu.py --out build/bench
	@build/bin/gpu_kernels_bench

test-gpu: ## kernels and captured steps on this machine's GPU, then each kernel once more under compute-sanitizer
	@tools/setup.sh study train
	@tools/build.sh release lockstep_cuda cuda_test
	@build/bin/cuda_test
	@compute-sanitizer --error-exitcode 9 build/bin/cuda_test --gtest_filter='*Gpu*:-ImageModels*:EmulatedOnGpu*'

lint: ## format, spelling, budgets of files and functions, clang-tidy
	@tools/setup.sh study train lint
	@tools/lint.sh

format: ## clang-format over our sources
	@tools/setup.sh lint
	@git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format-14 -i

dist: ## dist/lockstep-VERSION: a folder that runs wherever LibTorch is
	@tools/setup.sh study train
	@tools/build.sh release lockstep_cli
	@tools/dist.sh

clean: ## remove what was built; .venv stays
	rm -rf build build-* dist
