# coopd: one Makefile for all of it.  `make help` lists the targets.
#
# Sources are found by wildcard: a new file needs no line here.  All that is made stays in $(BUILD):
#
#	coopd		the server; its objects are in plain/
#	coopctl		the operator's command line (tools/coopctl)
#	test/coopd	the same sources under the sanitizers, with a clock that tests can move
#	test/coopctl	the same
#	test/tests	all Criterion tests, linked with the server's objects
#	test/fuzz/X	fuzz target X with a plain main, which replays its corpus
#	fuzz/X		fuzz target X as a libFuzzer program
#	bench/X		benchmark program X
#	soak/		the soak test (soak), and what its last run reported (report.txt, report.svg)
#	gen/		C made from sql/, migrations/ and files that the binary carries
#	lint/ docs/	what the checks leave behind, and the README as it should read
#
# To be set on the command line: BUILD=dir  CC=clang  V=1 (show commands)  JOBS=n  TESTS='suite/pattern'
# ARGS='...' (for run and bench)  FUZZ_SECONDS=n  WERROR= (a compiler newer than ours warns about more)
# MINUTES=n  LOAD=n  SEED=n  SANITIZE=1 (for soak)
# DESTDIR= prefix= sysconfdir= (for install)  CFLAGS= CPPFLAGS= LDFLAGS= (added to our own)

BUILD  ?= build
JOBS   ?= $(shell nproc)
WERROR ?= -Werror
FUZZ_SECONDS ?= 60
MINUTES ?= 20
LOAD    ?= 1
SEED    ?= 1
prefix       ?= /usr/local
sysconfdir   ?= $(if $(filter /usr /usr/local,$(prefix)),/etc,$(prefix)/etc)

ifeq ($(origin CC),default)
CC := gcc
endif
FUZZ_CC ?= clang

# A recipe is one script, and the first failing command ends it.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

# As many jobs as processors, unless told otherwise, or started by a make that was.
ifeq ($(filter -j%,$(MAKEFLAGS))$(filter-out 0,$(MAKELEVEL)),)
MAKEFLAGS += -j$(JOBS)
endif

ifeq ($(V),1)
say =
else
.SILENT:
say = $(info $(1)	$(2))
endif

# --- Packages -------------------------------------------------------------------------------------------------------
#
# Installed while this file is read, because what follows asks pkg-config about them.  Only the targets that promise
# it install anything; plain `make` says what is missing.

NEEDS_run     := build
NEEDS_test    := build test
NEEDS_torture := build test
NEEDS_lint    := build lint
NEEDS_format  := lint
NEEDS_fuzz    := build fuzz
NEEDS_bench   := build bench
NEEDS_deb     := build deb
NEEDS_check-packages := build deb chroot
NEEDS_coverage := build test coverage
NEEDS_tsan    := build test
NEEDS_check   := build test lint
NEEDS_nightly := build test lint fuzz coverage
NEEDS_soak    := build test

NEEDS := $(sort $(foreach goal,$(patsubst lint-%,lint,$(MAKECMDGOALS)),$(NEEDS_$(goal))))
ifneq ($(NEEDS),)
$(shell tools/setup $(NEEDS) >&2)
ifneq ($(.SHELLSTATUS),0)
$(error Not all that is needed is installed; see above)
endif
endif

# What the page takes from npm is embedded when it is there, so it comes before that is looked at.  Nothing depends on it.
$(if $(filter run,$(MAKECMDGOALS)),$(shell tools/web-packages page >&2))
$(if $(filter test,$(MAKECMDGOALS)),$(shell tools/web-packages test >&2))

MODULES := libmicrohttpd gnutls libwebsockets libuv libsodium sqlite3 libssl libcrypto jansson inih zlib
CTL_MODULES := libcurl ncursesw jansson libwebsockets libuv libsodium libssl libcrypto zlib
ifneq ($(filter-out clean help format,$(or $(MAKECMDGOALS),all)),)
PKG_CFLAGS := $(shell pkg-config --cflags $(MODULES))
PKG_LIBS   := $(shell pkg-config --libs $(MODULES))
CTL_CFLAGS := $(shell pkg-config --cflags $(CTL_MODULES))
CTL_LIBS   := $(shell pkg-config --libs $(CTL_MODULES))
ifneq ($(.SHELLSTATUS),0)
$(error Libraries are missing (see above): tools/setup installs them, and so does `make run`)
endif
endif

# --- Sources --------------------------------------------------------------------------------------------------------

SRC        := $(sort $(wildcard src/*.c src/*/*.c))
CTL_SRC    := $(sort $(wildcard tools/coopctl/*.c))
SQL        := $(sort $(wildcard sql/*.sql))
MIGRATIONS := $(sort $(wildcard migrations/*.sql))
EMBEDDED   := src/cloud/openapi.json $(sort $(wildcard src/admin/openapi/*.json)) \
	      $(sort $(wildcard web/*.html web/*.js web/*.css web/*.svg)) \
	      $(wildcard $(addprefix web/node_modules/uplot/dist/,uPlot.esm.js uPlot.min.css))
GEN_H      := $(BUILD)/gen/query.h $(BUILD)/gen/migration.h $(BUILD)/gen/embed.h
GEN_C      := $(GEN_H:.h=.c)

# Support code lies beside the tests that share it.  A fake is a library that a test puts before the C library of a
# program it starts; a probe is such a program, which is less than the whole server.
TEST_SRC  := $(sort $(wildcard tests/*_test.c tests/*/*_test.c tests/*/*/*_test.c) \
	       $(wildcard tests/support/*.c tests/scenario/*.c))
FAKES     := $(patsubst tests/fake/%.c,$(BUILD)/test/%.so,$(wildcard tests/fake/*.c))
PROBE_SRC := $(wildcard tests/*/*_probe.c)
PROBES    := $(addprefix $(BUILD)/test/,$(notdir $(PROBE_SRC:.c=)))
FUZZ_SRC  := $(wildcard tests/fuzz/*_fuzz.c)
FUZZ_HELP := $(filter-out $(FUZZ_SRC) tests/fuzz/replay.c,$(wildcard tests/fuzz/*.c)) \
	     $(wildcard tests/support/*_check.c)
FUZZ_NAMES := $(FUZZ_SRC:tests/fuzz/%_fuzz.c=%)
BENCH_SRC := $(wildcard tests/bench/*.c)
SOAK_SRC  := $(filter-out %_test.c,$(wildcard tests/soak/*.c))

ALL_C := $(SRC) $(CTL_SRC) $(sort $(wildcard tests/*.c tests/*/*.c tests/*/*/*.c))
ALL_H := $(sort $(wildcard src/*.h src/*/*.h tools/*/*.h tests/*.h tests/*/*.h tests/*/*/*.h))

# --- Flags ----------------------------------------------------------------------------------------------------------

MACHINE  := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
BRANCHES := $(if $(filter x86_64 i686,$(MACHINE)),-fcf-protection) \
	    $(if $(filter aarch64,$(MACHINE)),-mbranch-protection=standard)
# The third level sees sizes that are known only while running; an older compiler or C library says that it has none.
FORTIFY  := $(if $(shell $(CC) -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -include string.h -E -x c /dev/null 2>&1 >/dev/null),2,3)

BASE := -std=c11 -D_GNU_SOURCE -iquote src -iquote $(BUILD) \
	-pthread -g $(PKG_CFLAGS)
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wcast-qual \
	-Wwrite-strings -Wvla -Wformat=2
STRICT := $(WARN) -Wconversion
HARDEN := -fPIE -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(FORTIFY) $(BRANCHES)
# gcc sees conversions and uninitialised values under the sanitizers that are none: the plain build is the strict one.
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
TEST_LEVEL := -O1
TESTING  := $(SANITIZERS) -DCOOP_TEST_CLOCK $(TEST_LEVEL) -iquote tests -iquote tools

PLAIN_FLAGS = $(BASE) $(STRICT) $(WERROR) -O2 $(HARDEN) $(CPPFLAGS) $(CFLAGS)
TEST_FLAGS  = $(BASE) $(WARN) $(TESTING) $(CPPFLAGS) $(CFLAGS)
CTL_FLAGS   = -iquote tools $(CTL_CFLAGS)
FUZZ_FLAGS  = $(BASE) $(WARN) $(TESTING) -fsanitize=fuzzer-no-link $(CPPFLAGS) $(CFLAGS)

LINK := -Wl,--as-needed
# gcc's shared libubsan takes no notice of log_path beside libasan; clang links both into the program anyway.
RUNTIME := $(if $(findstring clang,$(CC)),,-static-libasan -static-libubsan)
PLAIN_LINK = -pthread -pie -Wl,-z,relro,-z,now,-z,noexecstack $(LINK) $(LDFLAGS)
TEST_LINK  = -pthread $(SANITIZERS) $(RUNTIME) $(LINK) $(LDFLAGS)
FUZZ_LINK  = -pthread $(SANITIZERS) -fsanitize=fuzzer $(LINK) $(LDFLAGS)
LIBS := $(PKG_LIBS) -ldl -lpthread
comma := ,

# $(call remember,FILE,TEXT): FILE holds its name and TEXT, and changes only when TEXT does.  What depends on such a
# file is made again when the flags, or the list of sources, are not the ones it was made with.
remember = $(if $(subst x$(strip $(1): $(2)),,x$(file <$(1))), \
	     $(shell mkdir -p $(dir $(1)))$(file >$(1),$(strip $(1): $(2))))

ifneq ($(filter-out clean help format,$(or $(MAKECMDGOALS),all)),)
$(call remember,$(BUILD)/plain/flags,$(CC) $(PLAIN_FLAGS) $(PLAIN_LINK))
$(call remember,$(BUILD)/test/flags,$(CC) $(TEST_FLAGS) $(TEST_LINK))
$(call remember,$(BUILD)/fuzz/flags,$(FUZZ_CC) $(FUZZ_FLAGS) $(FUZZ_LINK))
$(call remember,$(BUILD)/gen/sources,$(SQL) $(MIGRATIONS) $(EMBEDDED))
$(call remember,$(BUILD)/plain/sources,$(SRC))
$(call remember,$(BUILD)/plain/coopctl-sources,$(CTL_SRC))
$(call remember,$(BUILD)/test/sources,$(SRC) $(TEST_SRC) $(FUZZ_HELP))
endif

# --- The server -----------------------------------------------------------------------------------------------------

.PHONY: all run install clean help
all: $(BUILD)/coopd $(BUILD)/coopctl

# $(call objects,DIR): the objects of the server in DIR, but for main.
objects = $(filter-out $(BUILD)/$(1)/src/main.o,$(SRC:%.c=$(BUILD)/$(1)/%.o)) \
	  $(GEN_C:$(BUILD)/%.c=$(BUILD)/$(1)/%.o)

# $(call compile,COMPILER AND FLAGS)
define compile
$(call say,CC,$@)
mkdir -p $(@D)
$(1) -MMD -MP -c -o $@ $<
endef

# $(call link,COMPILER AND FLAGS,LIBRARIES)
define link
$(call say,LINK,$@)
mkdir -p $(@D)
$(1) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(2)
endef

define archive
$(call say,AR,$@)
rm -f $@
ar rcs $@ $(filter %.o,$^)
endef

$(BUILD)/plain/%.o: %.c $(BUILD)/plain/flags | $(GEN_H)
	$(call compile,$(CC) $(PLAIN_FLAGS))
$(BUILD)/plain/tools/%.o: tools/%.c $(BUILD)/plain/flags
	$(call compile,$(CC) $(PLAIN_FLAGS) $(CTL_FLAGS))
$(BUILD)/plain/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/plain/flags | $(GEN_H)
	$(call compile,$(CC) $(PLAIN_FLAGS))
$(BUILD)/coopd: $(BUILD)/plain/src/main.o $(call objects,plain) $(BUILD)/plain/sources
	$(call link,$(CC) $(PLAIN_LINK),$(LIBS))
$(BUILD)/coopctl: $(CTL_SRC:%.c=$(BUILD)/plain/%.o) $(BUILD)/plain/libcoopd.a $(BUILD)/plain/coopctl-sources
	$(call link,$(CC) $(PLAIN_LINK),$(CTL_LIBS))
$(BUILD)/plain/libcoopd.a: $(call objects,plain) $(BUILD)/plain/sources
	$(archive)

$(BUILD)/gen/query.h $(BUILD)/gen/query.c &: tools/sqlgen $(SQL) $(BUILD)/gen/sources
	$(call say,GEN,$@)
	tools/sqlgen queries $(BUILD)/gen $(SQL)
$(BUILD)/gen/migration.h $(BUILD)/gen/migration.c &: tools/sqlgen $(MIGRATIONS) $(BUILD)/gen/sources
	$(call say,GEN,$@)
	tools/sqlgen migrations $(BUILD)/gen $(MIGRATIONS)
$(BUILD)/gen/embed.h $(BUILD)/gen/embed.c &: tools/embed $(EMBEDDED) $(BUILD)/gen/sources
	$(call say,GEN,$@)
	tools/embed $(BUILD)/gen $(EMBEDDED)

run: $(BUILD)/coopd
	exec $(BUILD)/coopd $(ARGS)

install: $(BUILD)/coopd $(BUILD)/coopctl
	DESTDIR="$(DESTDIR)" tools/install $(BUILD) "$(prefix)" "$(sysconfdir)"

ifneq ($(and $(filter clean,$(MAKECMDGOALS)),$(filter-out clean,$(MAKECMDGOALS))),)
$(error clean is a command of its own: jobs run side by side here)
endif

# By name, so that BUILD=/some/where/precious loses nothing of its own.
clean:
	rm -rf $(addprefix $(BUILD)/,coopd coopctl plain test fuzz bench soak gen lint docs deb packages coverage tsan)
	[ ! -d $(BUILD) ] || rmdir --ignore-fail-on-non-empty $(BUILD)

help:
	echo "make            build $(BUILD)/coopd and $(BUILD)/coopctl"
	echo "make run        install what the build needs, build, start the server (ARGS='--data DIR ...')"
	echo "make test       install what tests need, build, run all tests (TESTS='suite/pattern' narrows)"
	echo "make torture    kill the server at every call of an upload or a restore, let every call fail (ARGS=restore narrows)"
	echo "make coverage   which lines of src/ the tests run, by folder; fails under the bars of tools/coverage (TESTS= adds to it)"
	echo "make tsan       the tests of what has threads under the thread sanitizer (TESTS= chooses)"
	echo "make check      lint, then test"
	echo "make nightly    all checks one after the other, and what each came to: lint test coverage tsan fuzz torture"
	echo "make lint       all static checks; parts: lint-compile lint-tidy lint-cppcheck lint-purity"
	echo "                lint-includes lint-headers lint-format lint-words lint-hardening lint-docs"
	echo "make format     clang-format on every source"
	echo "make docs       rewrite the generated blocks of README.md"
	echo "make fuzz       run each fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS)"
	echo "make bench      measure against the reference relay"
	echo "make soak       everything at once for MINUTES=$(MINUTES), LOAD=$(LOAD); SANITIZE=1 takes the sanitizers' build"
	echo "make install    DESTDIR= prefix=$(prefix) sysconfdir=$(sysconfdir)"
	echo "make deb        build the Debian package, in $(BUILD)/deb"
	echo "make check-packages   build, install, start and remove it in fresh Debian 12 and 13 (root; ARGS='bookworm' narrows)"
	echo "make clean      remove what was made"
	echo "V=1 shows the commands; BUILD=dir builds elsewhere; CC=clang builds with clang"

# --- Packages for Debian --------------------------------------------------------------------------------------------

.PHONY: deb check-packages
deb:
	tools/packaging/deb $(BUILD)

check-packages:
	tools/packaging/check $(BUILD) $(ARGS)

# --- Tests ----------------------------------------------------------------------------------------------------------

.PHONY: test torture

TEST_OBJECTS := $(TEST_SRC:tests/%.c=$(BUILD)/test/obj/%.o)
REPLAYS      := $(FUZZ_NAMES:%=$(BUILD)/test/fuzz/%)

$(BUILD)/test/src/%.o: src/%.c $(BUILD)/test/flags | $(GEN_H)
	$(call compile,$(CC) $(TEST_FLAGS))
$(BUILD)/test/tools/%.o: tools/%.c $(BUILD)/test/flags
	$(call compile,$(CC) $(TEST_FLAGS) $(CTL_FLAGS))
$(BUILD)/test/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/test/flags | $(GEN_H)
	$(call compile,$(CC) $(TEST_FLAGS))
$(BUILD)/test/obj/%.o: tests/%.c $(BUILD)/test/flags | $(GEN_H)
	$(call compile,$(CC) $(TEST_FLAGS) $(shell pkg-config --cflags criterion))
$(BUILD)/test/coopd: $(BUILD)/test/src/main.o $(call objects,test) $(BUILD)/plain/sources
	$(call link,$(CC) $(TEST_LINK),$(LIBS))
$(BUILD)/test/libcoopctl.a: $(patsubst %.c,$(BUILD)/test/%.o,$(filter-out %/main.c,$(CTL_SRC))) $(BUILD)/plain/coopctl-sources
	$(archive)
$(BUILD)/test/coopctl: $(BUILD)/test/tools/coopctl/main.o $(BUILD)/test/libcoopctl.a $(BUILD)/test/libcoopd.a
	$(call link,$(CC) $(TEST_LINK),$(CTL_LIBS))
$(BUILD)/test/libcoopd.a: $(call objects,test) $(BUILD)/plain/sources
	$(archive)
# What tests/support/scarce.c refuses now and then.
SCARCE := mem_new pool_take map_put json_object_new
$(BUILD)/test/tests: $(TEST_OBJECTS) $(call objects,test) $(BUILD)/test/libcoopctl.a $(BUILD)/test/sources
	$(call link,$(CC) $(TEST_LINK) $(addprefix -Wl$(comma)--wrap=,$(SCARCE)),$(LIBS) $(CTL_LIBS) $(shell pkg-config --libs criterion))
# Our own calls for memory go through tests/faults, which lets one of them fail.
FAILING := malloc calloc realloc strdup strndup realpath open_memstream vasprintf asprintf
$(BUILD)/test/coopd-faults: $(BUILD)/test/obj/faults/wrap_alloc.o $(BUILD)/test/src/main.o $(call objects,test) $(BUILD)/plain/sources
	$(call link,$(CC) $(TEST_LINK) $(FAILING:%=-Wl$(comma)--wrap=%),$(LIBS))
$(FAKES): $(BUILD)/test/%.so: tests/fake/%.c $(BUILD)/test/flags
	$(call say,CC,$@)
	mkdir -p $(@D)
	$(CC) $(BASE) $(WARN) -iquote tests -O1 -fPIC -shared -MMD -MP -o $@ $< -ldl
$(foreach probe,$(PROBE_SRC),$(eval $(BUILD)/test/$(notdir $(probe:.c=)): $(probe:tests/%.c=$(BUILD)/test/obj/%.o)))
$(PROBES): $(BUILD)/test/libcoopd.a
	$(call link,$(CC) $(TEST_LINK),$(LIBS))
$(REPLAYS): $(BUILD)/test/fuzz/%: $(BUILD)/test/obj/fuzz/%_fuzz.o $(BUILD)/test/obj/fuzz/replay.o \
		$(FUZZ_HELP:tests/%.c=$(BUILD)/test/obj/%.o) $(BUILD)/test/libcoopd.a
	$(call link,$(CC) $(TEST_LINK),$(LIBS))

# What a test finds in its environment.
TEST_ENV = TESTS_DIR=$(abspath tests) COOPD_BIN=$(abspath $(BUILD)/test/coopd) COOPD_PLAIN_BIN=$(abspath $(BUILD)/coopd) \
	   COOPD_FAULTS_BIN=$(abspath $(BUILD)/test/coopd-faults) \
	   SHOTS_DIR=$(abspath $(BUILD)/test/e2e) COOPCTL_BIN=$(abspath $(BUILD)/test/coopctl) SOAK_BIN=$(abspath $(BUILD)/soak/soak)

# One more than processors, as a test waits for a quarter of its time.
TEST_JOBS   ?= $(shell expr $(JOBS) + 1)
# In memory where there is such a folder: thousands of small databases come and go.
TEST_TMPDIR ?= $(shell [ -d /dev/shm ] && [ -w /dev/shm ] && echo /dev/shm || echo /tmp)

# Criterion does not notice leaks, nor reports of a server that a test started: the sanitizers write to files instead,
# and one that is left behind is a failure.  Nor does it mind when no test ran at all.
test: $(BUILD)/coopd $(BUILD)/test/coopd $(BUILD)/test/coopd-faults $(BUILD)/test/coopctl $(BUILD)/test/tests $(BUILD)/soak/soak $(FAKES) $(PROBES) $(REPLAYS)
	logs=$(abspath $(BUILD)/test/sanitizer)
	rm -rf "$$logs"
	mkdir -p "$$logs"
	export $(TEST_ENV)
	export TMPDIR=$$(mktemp -d $(TEST_TMPDIR)/coopd.XXXXXX)
	trap 'rm -rf "$$TMPDIR"' EXIT
	chmod 1777 "$$TMPDIR" # some tests are somebody else for a moment
	export ASAN_OPTIONS=log_path=$$logs/report:detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
	export LSAN_OPTIONS=log_path=$$logs/report UBSAN_OPTIONS=log_path=$$logs/report:print_stacktrace=1
	export TSAN_OPTIONS=log_path=$$logs/report:suppressions=$(abspath tests/threads.supp):die_after_fork=0:second_deadlock_stack=1
	# Into a file and not a pipe: a server that a test left running would hold a pipe open for ever.
	log=$(BUILD)/test/log
	status=0
	$(BUILD)/test/tests -j$(TEST_JOBS) --timeout 300 --verbose=1 $(if $(TESTS),--filter '$(TESTS)') >$$log 2>&1 || status=$$?
	grep -avE '^\[(RUN |PASS)\]|^\[SKIP\].*Test is disabled$$|^\[====\] Running' $$log || true
	# Of the closing line; what does not pass has failed or crashed.
	counts=$$(sed -n 's/.*Tested: \([0-9]*\) | Passing: \([0-9]*\) .*/\1 \2/p' $$log | tail -n 1)
	read -r tested passed <<<"$$counts"
	failed=$$(($${tested:-0} - $${passed:-0}))
	passed=$${passed:-0}
	if [ "$${tested:-0}" -eq 0 ]; then
		echo "FAILED: no test ran"
		failed=1
	elif [ $$status -ne 0 ] && [ $$failed -eq 0 ]; then
		echo "FAILED: the test program ended with status $$status"
		failed=1
	fi
	count() { if "$$@"; then passed=$$((passed + 1)); else failed=$$((failed + 1)); fi; }
	for program in $(if $(TESTS),,$(REPLAYS)); do
		count tools/fuzz-run replay $$program
	done
	$(if $(TESTS),,count tools/lint docs $(BUILD))
	if [ -n "$$(ls "$$logs")" ]; then
		echo "FAILED: the sanitizers reported:"
		tail -n 200 "$$logs"/*
		failed=$$((failed + 1))
	fi
	echo "the slowest:"
	sed -nE 's/^\[(PASS|FAIL)\] (.*): \(([0-9.]+)s\)$$/\3 s \2/p' $$log | sort -rn | sed -n '1,12p'
	# Once more, where nobody has to look for them.
	grep -aE '^\[(FAIL|CRASH)\]' $$log || true
	echo "$$passed passed, $$failed failed"
	[ $$failed -eq 0 ]

torture: $(BUILD)/coopd $(BUILD)/test/coopd $(BUILD)/test/coopd-faults $(BUILD)/test/tests $(FAKES)
	$(TEST_ENV) TESTS_BIN=$(abspath $(BUILD)/test/tests) tests/torture/run $(ARGS)

# The same tests over other builds, each in a folder of its own, made by this file with other flags.
.PHONY: coverage tsan check nightly
COVERAGE := $(BUILD)/coverage
# What is done by more than one thread.
THREADED := @(log|random|clock|jobs|store|ask|blob|copies|durable|readers|upload|splice|http|loop|udp|ws|tcp|lobby|master|rest|vault|cloud|update|health|api|admin|bans|control|events|metrics|slow|full|failed|few|folder|greeting|killed)*/*

# A whole run counts anew; a narrowed one adds to what the last runs have counted.
coverage:
	$(if $(TESTS),,[ ! -d $(COVERAGE) ] || find $(COVERAGE) -name '*.gcda' -delete)
	status=0
	$(MAKE) BUILD=$(COVERAGE) SANITIZERS='--coverage -fprofile-update=atomic' RUNTIME= TEST_LEVEL=-O0 test || status=$$?
	tools/coverage $(COVERAGE)
	exit $$status

tsan:
	$(MAKE) BUILD=$(BUILD)/tsan SANITIZERS='-fsanitize=thread -fno-omit-frame-pointer' RUNTIME=-static-libtsan \
		TESTS='$(or $(TESTS),$(THREADED))' test

# Before something is given away, and each night.
check:
	MAKE='$(MAKE)' tools/check lint test
nightly:
	MAKE='$(MAKE)' FUZZ_SECONDS=$(FUZZ_SECONDS) tools/check lint test coverage tsan fuzz torture

# --- Fuzzing --------------------------------------------------------------------------------------------------------

.PHONY: fuzz
FUZZERS := $(FUZZ_NAMES:%=$(BUILD)/fuzz/%)

$(BUILD)/fuzz/src/%.o: src/%.c $(BUILD)/fuzz/flags | $(GEN_H)
	$(call compile,$(FUZZ_CC) $(FUZZ_FLAGS))
$(BUILD)/fuzz/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/fuzz/flags | $(GEN_H)
	$(call compile,$(FUZZ_CC) $(FUZZ_FLAGS))
$(BUILD)/fuzz/obj/%.o: tests/%.c $(BUILD)/fuzz/flags | $(GEN_H)
	$(call compile,$(FUZZ_CC) $(FUZZ_FLAGS))
$(BUILD)/fuzz/libcoopd.a: $(call objects,fuzz) $(BUILD)/plain/sources
	$(archive)
$(FUZZERS): $(BUILD)/fuzz/%: $(BUILD)/fuzz/obj/fuzz/%_fuzz.o $(FUZZ_HELP:tests/%.c=$(BUILD)/fuzz/obj/%.o) \
		$(BUILD)/fuzz/libcoopd.a
	$(call link,$(FUZZ_CC) $(FUZZ_LINK),$(LIBS))

fuzz: $(FUZZERS)
	tools/fuzz-run explore $(FUZZ_SECONDS) $(FUZZERS)

# --- Benchmarks -----------------------------------------------------------------------------------------------------
#
# Each .c with a main is a program; the others are linked to all of them, and so is what they use of the server.

.PHONY: bench
BENCH_MAINS := $(if $(BENCH_SRC),$(shell grep -lw '^int main' $(BENCH_SRC)))
BENCHES     := $(BENCH_MAINS:tests/bench/%.c=$(BUILD)/bench/%)
BENCH_HELP  := $(filter-out $(BENCH_MAINS),$(BENCH_SRC))

$(BUILD)/bench/obj/%.o: tests/bench/%.c $(BUILD)/plain/flags | $(GEN_H)
	$(call compile,$(CC) $(PLAIN_FLAGS) -iquote tests)
$(BUILD)/bench/obj/support/%.o: tests/support/%.c $(BUILD)/plain/flags | $(GEN_H)
	$(call compile,$(CC) $(PLAIN_FLAGS) -iquote tests)
$(BENCHES): $(BUILD)/bench/%: $(BUILD)/bench/obj/%.o $(BENCH_HELP:tests/bench/%.c=$(BUILD)/bench/obj/%.o) \
		$(BUILD)/bench/obj/support/large_folder.o \
		$(BUILD)/plain/libcoopd.a
	$(call link,$(CC) $(PLAIN_LINK),$(LIBS) -lm)

bench: $(BUILD)/coopd $(BENCHES)
	$(TEST_ENV) BENCH_DIR=$(abspath $(BUILD)/bench) tests/bench/run $(ARGS)

# --- Soak -----------------------------------------------------------------------------------------------------------
#
# One program, which starts the server itself. It uses what the bench programs share.

.PHONY: soak
SOAK_COOPD   = $(BUILD)/$(if $(filter 1,$(SANITIZE)),test/)coopd
SOAK_REPORTS = $(abspath $(BUILD)/soak/sanitizer)

$(BUILD)/soak/obj/%.o: tests/soak/%.c $(BUILD)/plain/flags | $(GEN_H)
	$(call compile,$(CC) $(PLAIN_FLAGS) -iquote tests)
$(BUILD)/soak/soak: $(SOAK_SRC:tests/soak/%.c=$(BUILD)/soak/obj/%.o) $(BENCH_HELP:tests/bench/%.c=$(BUILD)/bench/obj/%.o) \
		$(BUILD)/plain/libcoopd.a
	$(call link,$(CC) $(PLAIN_LINK),$(LIBS) -lm)

soak: $(SOAK_COOPD) $(BUILD)/soak/soak
	export COOPD_BIN=$(abspath $(SOAK_COOPD))
	$(if $(filter 1,$(SANITIZE)),
	rm -rf $(SOAK_REPORTS)
	mkdir -p $(SOAK_REPORTS)
	export SOAK_SANITIZER_REPORTS=$(SOAK_REPORTS)
	export ASAN_OPTIONS=log_path=$(SOAK_REPORTS)/report:detect_leaks=1
	export LSAN_OPTIONS=log_path=$(SOAK_REPORTS)/report UBSAN_OPTIONS=log_path=$(SOAK_REPORTS)/report:print_stacktrace=1)
	exec $(BUILD)/soak/soak --minutes $(MINUTES) --load $(LOAD) --seed $(SEED) --out $(BUILD)/soak

# --- Checks ---------------------------------------------------------------------------------------------------------
#
# Each file's result is kept in $(BUILD)/lint and made again when the file or one of its headers changes.

LINTS := compile tidy cppcheck purity includes headers format words hardening docs
.PHONY: lint format docs $(LINTS:%=lint-%)

LINT_FLAGS = $(BASE) -iquote tests $(CTL_FLAGS) $(STRICT) -Werror -O2 $(HARDEN) $(shell pkg-config --cflags criterion)

lint: $(LINTS:%=lint-%)
	echo "lint: clean"

# The code behind COOP_TEST_CLOCK is built without -Werror for tests, so one of the two compilers looks at it here.
$(BUILD)/lint/gcc/%.o: %.c $(BUILD)/plain/flags | $(GEN_H)
	$(call compile,gcc $(LINT_FLAGS))
$(BUILD)/lint/clang/%.o: %.c $(BUILD)/plain/flags | $(GEN_H)
	$(call compile,clang $(LINT_FLAGS) -DCOOP_TEST_CLOCK)
lint-compile: $(ALL_C:%.c=$(BUILD)/lint/gcc/%.o) $(ALL_C:%.c=$(BUILD)/lint/clang/%.o)

# Tests read numbers and texts that they, or a server they started, wrote.
TIDY_TESTS := --checks=-cert-err34-c,-cert-env33-c,-clang-analyzer-security.insecureAPI.strcpy,-misc-no-recursion
$(BUILD)/lint/tidy/%.ok: %.c $(BUILD)/lint/clang/%.o .clang-tidy
	$(call say,TIDY,$<)
	mkdir -p $(@D)
	clang-tidy --quiet $(if $(filter tests/%,$<),$(TIDY_TESTS)) $< -- $(LINT_FLAGS) 2>$@.log || { cat $@.log; exit 1; }
	touch $@
lint-tidy: $(ALL_C:%.c=$(BUILD)/lint/tidy/%.ok)

# Twice, so that a header without a guard is found too.
$(BUILD)/lint/headers/%.o: %.h $(BUILD)/plain/flags | $(GEN_H)
	$(call say,HEADER,$<)
	mkdir -p $(@D)
	gcc $(LINT_FLAGS) -MMD -MP -MF $(@:.o=.d) -include $< -include $< -x c -c -o $@ /dev/null
lint-headers: $(ALL_H:%.h=$(BUILD)/lint/headers/%.o)

lint-cppcheck: $(GEN_H)
lint-purity: $(call objects,plain)
lint-docs: $(BUILD)/coopd
lint-hardening: $(BUILD)/coopd $(BUILD)/coopctl
lint-cppcheck lint-purity lint-hardening lint-docs lint-includes lint-words lint-format: lint-%:
	$(call say,LINT,$*)
	tools/lint $* $(BUILD)

format:
	clang-format -i $(ALL_C) $(ALL_H)

# --- Documentation --------------------------------------------------------------------------------------------------
#
# The tables between <!-- BEGIN x --> and <!-- END x --> in README.md are printed by the server itself.

docs: $(BUILD)/coopd
	tools/lint docs $(BUILD) write

-include $(wildcard $(foreach dir,plain/src plain/gen plain/tools test/src test/gen test/tools test/obj fuzz/src fuzz/gen fuzz/obj bench/obj soak/obj \
	lint/gcc lint/clang lint/headers,$(BUILD)/$(dir)/*.d $(BUILD)/$(dir)/*/*.d $(BUILD)/$(dir)/*/*/*.d \
	$(BUILD)/$(dir)/*/*/*/*.d))
