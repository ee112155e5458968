# A thin front for Meson and Ninja. Every target installs the Debian packages that it lacks.
BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
MESON   ?= meson
JOBS    ?= $(shell nproc)

.PHONY: all demo check check-all bench results install packages clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) -j $(JOBS)

packages:
	@tools/packages build

$(BUILD)/build.ninja: | packages
	@$(MESON) setup $(BUILD) --prefix $(PREFIX) --buildtype debugoptimized

demo:
	@tools/packages build demo
	@$(MAKE) --no-print-directory all
	@tools/demo $(BUILD)

check:
	@tools/packages build check demo
	@$(MAKE) --no-print-directory all
	@tools/check $(BUILD)

check-all:
	@tools/packages build check demo slow
	@$(MAKE) --no-print-directory all
	@tools/check $(BUILD) --all

bench: | packages
	@[ -f $(BUILD)-release/build.ninja ] || $(MESON) setup $(BUILD)-release --buildtype release >/dev/null
	@ninja -C $(BUILD)-release -j $(JOBS) --quiet tarn src/shim/tarn-shim tools/bench/stamp tools/bench/brain tools/bench/tenants tools/bench/past tests/device/nvml/libnvidia-ml.so.1
	@tools/bench/run $(BUILD)-release

results: | packages
	@[ -f $(BUILD)-release/build.ninja ] || $(MESON) setup $(BUILD)-release --buildtype release >/dev/null
	@ninja -C $(BUILD)-release -j $(JOBS) --quiet tarn
	@tools/results $(BUILD)-release --write doc/results.md

install: $(BUILD)/build.ninja
	@$(MESON) configure $(BUILD) --prefix "$(PREFIX)"
	@ninja -C $(BUILD) -j $(JOBS)
	@DESTDIR="$(DESTDIR)" $(MESON) install -C $(BUILD) --no-rebuild --quiet
	@echo "installed below $(DESTDIR)$(PREFIX)"

clean:
	rm -rf $(BUILD) $(BUILD)-*
