# A thin front for Meson and Ninja. Every target installs the Debian packages that it lacks.
BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
MESON   ?= meson
JOBS    ?= $(shell nproc)

# A clone that was moved: Meson's build folders have the old paths in them.
define renew
ifneq ($(wildcard $(1)/meson-info/meson-info.json),)
ifeq ($(shell grep -scF '"source": "$(CURDIR)"' $(1)/meson-info/meson-info.json),0)
$$(info $(1) was set up for another folder; it is set up again)
$$(shell rm -rf "$(1)")
endif
endif
endef
$(eval $(call renew,$(BUILD)))
$(eval $(call renew,$(BUILD)-release))

.PHONY: all demo check check-all check-slow check-slurm check-kube check-frameworks bench results hardware portable wheel arm64 deb tarball install packages clean

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
	@tools/packages build check demo wheel
	@$(MAKE) --no-print-directory all
	@tools/check $(BUILD)

# check-all: check, then the slow suites; check-slow: these alone.
check-all check-slow:
	@tools/packages build check demo wheel deb portable arm64 slow slurm kube
	@tools/kube/build || echo '$@: the tests on Kubernetes are skipped'
	@$(MAKE) --no-print-directory all
	@tools/check $(BUILD) --$(@:check-%=%)

# On a real Slurm that the tests start here; needs root. Part of check-all.
check-slurm:
	@tools/packages build check demo slurm
	@if [ -f $(BUILD)/build.ninja ] && ! [ -e $(BUILD)/src/engine/tarn-engine-slurm.so -a -e $(BUILD)/src/cli/pmix/tarn-pmix ]; then $(MESON) setup --wipe $(BUILD) >/dev/null; fi
	@$(MAKE) --no-print-directory all
	@$(MESON) test -C $(BUILD) --no-rebuild --print-errorlogs --timeout-multiplier 3 --suite slurm

# On a real Kubernetes that the tests start here; needs root, and Go to build it the first time. Part of check-all.
check-kube:
	@tools/packages build check kube
	@tools/kube/build
	@$(MAKE) --no-print-directory all
	@$(MESON) test -C $(BUILD) --no-rebuild --print-errorlogs --timeout-multiplier 3 --suite kube

# Transformers, Accelerate, Lightning, JAX and mpi4py from PyPI, in tarn as outside; several GiB the first time. Part of check-all.
check-frameworks:
	@tools/packages build check
	@$(MAKE) --no-print-directory all
	@$(MESON) test -C $(BUILD) --no-rebuild --print-errorlogs --timeout-multiplier 3 --suite frameworks

# BENCH: options of tools/bench/run, such as --write doc/results-bench.md or the names of figures.
bench: | packages
	@[ -f $(BUILD)-release/build.ninja ] || $(MESON) setup $(BUILD)-release --buildtype release >/dev/null
	@ninja -C $(BUILD)-release -j $(JOBS) --quiet tarn tarnd src/shim/tarn-shim tools/bench/stamp tools/bench/brain tools/bench/tenants tools/bench/past tests/device/nvml/libnvidia-ml.so.1
	@tools/bench/run $(BUILD)-release $(BENCH)

results: | packages
	@[ -f $(BUILD)-release/build.ninja ] || $(MESON) setup $(BUILD)-release --buildtype release >/dev/null
	@ninja -C $(BUILD)-release -j $(JOBS) --quiet tarn tarnd
	@tools/results $(BUILD)-release --write doc/results.md

# A folder that tries tarn on a machine with GPUs; see doc/hardware.md.
HARDWARE ?= tarn-hardware
hardware: all
	@tools/hardware $(BUILD) $(HARDWARE)

# Programs for any system with glibc 2.28 or later, for the wheel and the archive.
portable: all
	@tools/packages wheel portable
	@JOBS=$(JOBS) tools/portable $(BUILD)/portable

# The Python package with the programs; see doc/install.md.
wheel: portable
	@tools/wheel $(BUILD)/wheel $(BUILD) $(BUILD)/portable

# The same for arm64 (aarch64), with cross compilers; its unit tests run in qemu.
arm64: | packages
	@tools/packages wheel portable arm64
	@JOBS=$(JOBS) tools/arm64 $(BUILD)-arm64 -Dslurm=disabled
	@JOBS=$(JOBS) tools/portable $(BUILD)-arm64/portable aarch64
	@tools/tarball $(BUILD)-arm64/build $(BUILD)-arm64/portable $(BUILD)-arm64/tarball
	@tools/wheel $(BUILD)-arm64/wheel $(BUILD)-arm64/build $(BUILD)-arm64/portable

# Debian packages, checked with lintian; see doc/install.md.
deb:
	@tools/packages build deb
	@PATH="/usr/lib/ccache:$$PATH" JOBS=$(JOBS) tools/deb $(BUILD)/deb

# An archive that runs from any folder; see doc/install.md.
tarball: portable
	@tools/tarball $(BUILD) $(BUILD)/portable $(BUILD)/tarball

install: $(BUILD)/build.ninja
	@$(MESON) configure $(BUILD) --prefix "$(PREFIX)"
	@ninja -C $(BUILD) -j $(JOBS)
	@DESTDIR="$(DESTDIR)" $(MESON) install -C $(BUILD) --no-rebuild --quiet
	@echo "installed below $(DESTDIR)$(PREFIX)"

clean:
	rm -rf $(BUILD) $(BUILD)-*
