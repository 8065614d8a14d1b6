# SPDX-License-Identifier: MIT
#
# The short commands. What they do is in scripts/ and CMakeLists.txt.

PREFIX ?= /usr/local

.PHONY: build demo dashboard apple deb test test-all bench lint api format install uninstall clean

build:
	scripts/install-dependencies build
	scripts/build release -DHANGDOG_BUILD_BENCH=ON

demo:
	scripts/install-dependencies demo
	scripts/build --only hangdog --only hangdog-preload --only hangdog-serve --only hangdog-upload release
	scripts/demo

# The pages of hangdog serve: needs npm and its registry. Nothing else does.
dashboard:
	scripts/install-dependencies dashboard
	scripts/build-dashboard
	scripts/build --only hangdog --only hangdog-serve release

# The library for macOS and iOS. Needs npm and its registry, for the headers of these systems.
apple:
	scripts/install-dependencies apple
	scripts/build-apple

# Debian packages in build/packages, with the dashboard if make dashboard has built it.
deb:
	scripts/install-dependencies deb
	scripts/build-packages

# All but the slow ones: six minutes on two CPUs.
test:
	scripts/install-dependencies test
	scripts/run-tests --quick release

test-all: test
	scripts/run-tests --slow release

bench:
	scripts/install-dependencies bench
	scripts/build release -DHANGDOG_BUILD_BENCH=ON
	scripts/bench

lint:
	scripts/install-dependencies lint test bench
	scripts/lint

api:
	scripts/install-dependencies lint
	scripts/api

format:
	scripts/install-dependencies lint
	git ls-files -z --cached --others --exclude-standard -- '*.c' '*.h' '*.hpp' '*.cc' | xargs -0 -r clang-format-16 -i

install: build
	cmake --install build --prefix "$(patsubst ~/%,$(HOME)/%,$(PREFIX))"
	cp build/install_manifest.txt build/installed.txt

# What the last make install put in place. Reports stay.
uninstall:
	scripts/uninstall

clean:
	rm -rf build web/node_modules
