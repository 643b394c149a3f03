# For a newcomer: every target works alone, from a fresh clone, on Debian 12 as root or with sudo.
# The build itself is meson.build; HACKING.md tells more.

.PHONY: build setup demo demo-hdfs test test-all bench check fuzz install clean
DESTDIR ?=
PREFIX ?= /usr/local

build: setup			# the default; leaves build/olddog
	scripts/build build

setup:				# packages and the Python environment, when missing
	scripts/setup

demo:				# a real model trained through the loader, killed, resumed, recomputed; with figures
	scripts/demo

demo-hdfs:			# the same data in a real HDFS of four processes: read, trained on while a DataNode is killed
	scripts/demo-hdfs

test:				# what a change must pass: 15 minutes on two cores
	scripts/setup tests/packages.txt
	scripts/test

test-all:			# everything: full counts, races, new fuzz inputs, the demo
	scripts/setup demo/packages.txt tests/packages.txt
	scripts/test --all

bench: build			# figures beside the peers, on this machine: half an hour; bench/NAME asks one question
	bench/all

check: setup			# layers, limits, symbols, banned words; seconds
	scripts/check

fuzz: setup			# SECONDS=60 of new inputs for every parser
	scripts/fuzz

install: setup			# under DESTDIR/PREFIX; Python finds the package by PYTHONPATH=PREFIX/lib/olddog/python
	rm -rf build-install
	scripts/build build-install --prefix=$(PREFIX) --buildtype=release -Dtests=disabled \
		-Dpython.platlibdir=$(PREFIX)/lib/olddog/python
	DESTDIR=$(DESTDIR) ninja -C build-install install

clean:				# what was built here; the cache stays (see scripts/env.sh)
	rm -rf build build-*
