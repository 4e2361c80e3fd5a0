# tsr: build, test, tend. `make help` lists the targets; V=1 shows the commands.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

CC       = gcc
CLANG    = clang
AR       = ar
PYTHON   = /usr/bin/python3
B        = build
PREFIX   = /usr/local
VERSION  = 0.1.0
OPT      = -O2 -g
SAN      =
WARN     = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
CPPFLAGS = -I. -I$(B) -I$(B)/gen -D_GNU_SOURCE -Dtypeof=__typeof__ -DTSR_VERSION='"$(VERSION)"'
CFLAGS   = -std=c17 $(OPT) $(WARN) -fPIC -ffp-contract=off $(SAN)
LDFLAGS  = $(SAN)
LIBS_C   = -ldl -lm
LIBS_RT  = -ldl -lm -lpthread
LIBS_B   = -lxxhash -lutf8proc -ljansson -lzip -lm

FOLDERS  = base lexer grammar frontend infer reference tensor target sums loops schedule transform lower codegen verify driver tune
GENERATED_LEXER   = $(B)/gen/lexer.o
GENERATED_GRAMMAR = $(B)/gen/grammar.o

# of a folder and of the folders in it
srcs     = $(wildcard $(1)/*.c $(1)/*/*.c)
objs     = $(patsubst %.c,$(B)/%.o,$(call srcs,$(1)))
OBJ_base     := $(call objs,base)
OBJ_lexer    := $(call objs,lexer) $(patsubst lexer/%.re,$(B)/gen/%.o,$(wildcard lexer/*.re))
OBJ_grammar  := $(call objs,grammar) $(patsubst grammar/%.y,$(B)/gen/%.o,$(wildcard grammar/*.y))
OBJ_frontend := $(call objs,frontend)
OBJ_infer    := $(call objs,infer)
OBJ_reference := $(call objs,reference)
OBJ_tensor   := $(call objs,tensor)
OBJ_target   := $(call objs,target)
OBJ_sums     := $(call objs,sums)
OBJ_loops    := $(call objs,loops)
OBJ_schedule := $(call objs,schedule)
OBJ_transform := $(call objs,transform)
OBJ_lower    := $(call objs,lower)
OBJ_codegen  := $(call objs,codegen)
OBJ_verify   := $(call objs,verify)
OBJ_driver   := $(call objs,driver)
OBJ_tune     := $(call objs,tune)
OBJ_tsr      := $(patsubst %.c,$(B)/%.o,$(wildcard runtime/tsr_main.c runtime/cmd_*.c runtime/cli_*.c))
OBJ_runtime  := $(filter-out $(OBJ_tsr),$(call objs,runtime))
# Threads share nothing of these, which have no data that can change (tools/check_globals.py): a build for threads takes
# their objects from the build PLAIN.
UNSHARED     = lexer grammar frontend infer reference tensor target sums loops schedule transform lower
PLAIN        =
$(if $(PLAIN),$(foreach f,$(UNSHARED),$(eval OBJ_$(f) := $(patsubst $(B)/%,$(PLAIN)/%,$(OBJ_$(f))))))
OBJ_all      := $(foreach f,$(FOLDERS),$(OBJ_$(f)))
GEN_H        := $(patsubst grammar/%.y,$(B)/gen/%.h,$(wildcard grammar/*.y))
# the parts of runtime/tsr.h that generated C carries, as string literals
GEN_H        += $(B)/gen/tsr_call.inc $(B)/gen/tsr_table.inc $(B)/gen/cuda_matrix.inc $(B)/gen/cuda_group.inc
# names of libgccjit that are calls through a table
GEN_H        += $(B)/gen/jit_library_names.h

say = $(if $(V),,@printf '  %-5s %s\n' $(1) $@;)

# The interpreter and the reference only compute what artefacts are compared with, most of a test's time: with
# sanitizers they are built as without.
ORACLE = $(B)/codegen/interp_eval.o $(B)/codegen/interp_index.o $(B)/reference/%.o
$(ORACLE): override OPT := -O2 -g
$(ORACLE): override SAN :=
# What most of a compilation's time goes to; where a build says HOT, it is optimised so, whatever the rest is.
HOT =
$(if $(HOT),$(eval $(B)/base/%.o $(B)/loops/%.o: override OPT := $(HOT)))
# libgccjit.h lies among GCC's own headers, where another compiler does not look.
$(if $(findstring clang,$(CC)),$(B)/codegen/%.o: CPPFLAGS += -idirafter $(shell gcc -print-file-name=include))
# base/stb_ds.c says what for; nothing of its library is linked.
$(B)/base/stb_ds.o: override CFLAGS += -fopenmp

all: $(B)/tsrc $(B)/tsr $(B)/libtsr.a $(B)/libtsr.so

$(foreach f,$(FOLDERS),$(eval $(B)/lib$(f).a: $(OBJ_$(f))))
$(foreach f,$(FOLDERS),$(B)/lib$(f).a):
	@rm -f $@
	@$(AR) rcsD $@ $^

$(B)/tsrc: $(B)/main.o $(OBJ_all) $(OBJ_runtime)
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_C) $(LIBS_B) -lpthread
# Tables of sanitizers are full of addresses, which are thus known before a start.
$(B)/tsrc: LDFLAGS += $(if $(SAN),-no-pie)

$(B)/tsr: $(OBJ_tsr) $(OBJ_runtime) $(OBJ_base)
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_RT) $(LIBS_B)

$(B)/libtsr.a: $(OBJ_runtime) $(OBJ_base)
	@rm -f $@
	@$(AR) rcsD $@ $^

$(B)/libtsr.so: $(OBJ_runtime) $(B)/libbase.a runtime/libtsr.map
	$(call say,LINK)$(CC) $(LDFLAGS) -shared -Wl,-soname,libtsr.so.0,--version-script=runtime/libtsr.map,--as-needed -o $@ $(OBJ_runtime) $(B)/libbase.a $(LIBS_RT) $(LIBS_B)

$(B)/%.o: %.c | $(GEN_H)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/gen/%.c: lexer/%.re
	@mkdir -p $(@D)
	$(call say,RE2C)re2c -W -Werror --no-generation-date --no-version --input-encoding utf8 --depfile $(B)/gen/$*.re.d -o $@ $<
$(B)/gen/%.c: grammar/%.y
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,LEMON)lemon -c -d$(B)/gen $< || { rm -f $@; exit 1; }
$(B)/gen/%.h: $(B)/gen/%.c ;
.PRECIOUS: $(B)/gen/%.c $(B)/gen/%.h
$(B)/gen/%.o: $(B)/gen/%.c | $(GEN_H)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-shadow -Wno-unused-parameter -Wno-unused-variable -Wno-missing-prototypes -Wno-sign-compare -MMD -MP -c -o $@ $<

AS_STRINGS = sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/' > $@
$(B)/gen/tsr_call.inc: runtime/tsr.h
	@mkdir -p $(@D)
	@sed -n '/^#ifndef TSR_\(CALL\|F8\)_H/,/^#endif/p' $< | $(AS_STRINGS)
$(B)/gen/tsr_table.inc: runtime/tsr.h
	@mkdir -p $(@D)
	@sed -n '/^\/\* ---- the exported table/,/^} tsr_module;/p' $< | $(AS_STRINGS)
$(B)/gen/cuda_matrix.inc $(B)/gen/cuda_group.inc: $(B)/gen/cuda_%.inc: codegen/cuda_%.cuh
	@mkdir -p $(@D)
	@cat $< | $(AS_STRINGS)
$(B)/gen/jit_library_names.h: codegen/jit_library.def
	@mkdir -p $(@D)
	@sed -n 's/^NAME(\(.*\))$$/#define gcc_jit_\1 jit_library.\1/p' $< > $@

-include $(shell find $(B) -name '*.d' -type f 2>/dev/null)

# ---- tests ----

UNITS    := $(patsubst %.c,$(B)/%,$(wildcard test/unit/test_*.c))
LIT       = $(firstword $(wildcard /usr/lib/llvm-*/build/utils/lit/lit.py) $(wildcard /usr/bin/lit /usr/bin/lit-*))
LITFLAGS  = -s --no-progress-bar --timeout=300
# make check T=infer/rows: the tests of that folder or name, of test/lit or test/ (unit/test_pool).
LIT_DIRS := $(if $(T),$(or $(wildcard test/lit/$(T) test/lit/$(T).t* test/$(T) test/$(T).c),$(error no test is called $(T): a folder \
  of test/lit, a test in one, unit, or a test of that)),test/lit test/unit)
# What takes under two minutes on two cores: units, all up to shapes and projections, and what lowering chooses for
# processors by name (test/schedules), without running much emitted code.
FAST_DIRS = test/unit $(addprefix test/lit/,lexer grammar frontend infer proj target loops schedule docs editors verify runtime driver tune)
# The longest of these are left out, and code for a GPU in the emulator.
FAST_WITHOUT = driver/(cache-options|same_facts)|editors/tree-sitter|runtime/(gpu|examples)|tune/faults

units: $(UNITS)
# All that they test is linked once, as a library.
$(B)/test/unit/%: $(B)/test/unit/%.o $(B)/unit_support.a $(B)/libunit.so
	@$(CC) $(LDFLAGS) -o $@ $^ -Wl,-rpath,'$$ORIGIN/../..' $(LIBS_C) $(LIBS_B) -lcmocka -lpthread
UNIT_SUPPORT := $(patsubst %.c,$(B)/%.o,$(filter-out test/unit/test_%,$(wildcard test/unit/*.c)))
$(B)/unit_support.a: $(UNIT_SUPPORT)
	@rm -f $@
	@$(AR) rcsD $@ $^
# Random schedules of random programs (test/fuzz/schedules.c).
SCHEDULES    = $(B)/test/schedules
OBJ_programs = $(addprefix $(B)/test/fuzz/,programs.o forms.o draw.o scheduled.o)
$(SCHEDULES): $(B)/test/fuzz/schedules.o $(OBJ_programs) $(OBJ_all) $(OBJ_runtime)
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_C) $(LIBS_B) -lpthread
.PRECIOUS: $(B)/%.o

# PTX in an interpreter, behind the entry points of the driver library: what tests of code for a GPU load.
OBJ_ptx     := $(filter-out $(B)/test/ptx/emu_%,$(call objs,test/ptx))
OBJ_ptx_emu := $(filter $(B)/test/ptx/emu_%,$(call objs,test/ptx))
$(B)/libptx.a: $(OBJ_ptx)
	@rm -f $@
	@$(AR) rcsD $@ $^
$(B)/libunit.so: $(OBJ_ptx) $(OBJ_all) $(OBJ_runtime)
	$(call say,LINK)$(CC) $(LDFLAGS) -shared -o $@ $^ $(LIBS_C) $(LIBS_B) -lpthread
CUDA_EMU     = $(B)/test/libcuda_emu.so
$(CUDA_EMU): $(OBJ_ptx_emu) $(B)/libptx.a $(B)/libbase.a test/ptx/libcuda_emu.map
	$(call say,LINK)$(CC) $(LDFLAGS) -shared -Wl,-soname,libcuda_emu.so,-Bsymbolic,--version-script=test/ptx/libcuda_emu.map,--as-needed -o $@ \
	  $(OBJ_ptx_emu) $(B)/libptx.a $(B)/libbase.a $(LIBS_B) -lpthread

# What libtsr uses of NCCL, between processes on one machine (test/nccl/nccl_emu.c).
NCCL_EMU     = $(B)/test/libnccl_emu.so
$(NCCL_EMU): test/nccl/nccl_emu.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -std=c17 -O1 -g -Wall -Wextra -D_GNU_SOURCE -fPIC -shared -Wl,-soname,libnccl.so.2 -o $@ $< -ldl -lrt

# Tiles of AMX where the processor has none: a library to load before a program (test/amx/amx.c).
AMX_EMU      = $(B)/test/libamx.so
$(AMX_EMU): test/amx/amx.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -std=c17 -O1 -g -Wall -Wextra -fPIC -shared -Wl,-soname,libamx.so -o $@ $< -ldl

# The unit tests that T names, or all.
UNITS_OF_T = $(if $(T),$(patsubst %.c,$(B)/%,$(filter test/unit/test_%.c,$(wildcard test/$(T).c test/$(T)/*.c))),$(UNITS))
check: all $(CUDA_EMU) $(NCCL_EMU) $(AMX_EMU) $(SCHEDULES) $(UNITS_OF_T) $(if $(T),,deps)
	@rm -f $(B)/lit.json
	@TSR_BUILD=$(abspath $(B)) $(PYTHON) $(LIT) $(LITFLAGS) -o $(B)/lit.json $(LIT_DIRS); \
	 $(PYTHON) tools/summary.py $(B)/lit.json

# What is chosen for many programs, test/schedules; a test compares. `git diff test/schedules` shows what changed.
record-schedules: $(B)/tsrc
	@$(PYTHON) tools/record_schedules.py $(B)/tsrc

# Without what runs emitted code at length: what to run while working.
check-fast:
	@$(MAKE) check LIT_DIRS='$(FAST_DIRS)' LITFLAGS='$(LITFLAGS) --filter-out="$(FAST_WITHOUT)"'

# Ten times as many random programs, and what is %long in a test: hours.
check-long:
	@TSR_LONG=1 $(MAKE) check LITFLAGS='-s --no-progress-bar --timeout=7200'

# Both commands of the README on a bare Debian, as root.
check-bare:
	@tools/check_bare.sh

# Sanitizers and coverage add data of their own.
deps: $(if $(SAN),,$(OBJ_all) $(OBJ_runtime))
	@$(PYTHON) tools/check_deps.py docs/ARCHITECTURE.md
	@$(PYTHON) tools/check_circles.py .
	@$(PYTHON) tools/check_target.py .
	@$(PYTHON) tools/check_decisions.py .
	@$(PYTHON) tools/check_pipeline.py .
	@$(PYTHON) tools/check_words.py .
	@$(PYTHON) tools/check_contracts.py .
	$(if $(SAN),,@$(PYTHON) tools/check_globals.py $(B))

# Undefined behaviour is a signal, of which the other sanitizer shows the place. What it is would be told from tables that make
# each start of tsrc take twice as long: make asan UNDEFINED=-fno-sanitize-recover=undefined, in another B.
UNDEFINED = -fsanitize-undefined-trap-on-error
SAN_FLAGS = -fsanitize=address,undefined $(UNDEFINED) -fno-omit-frame-pointer
# What reads, infers, lowers and runs; not what tests the numbers of emitted code, which has no sanitizers.
# make asan ASAN_DIRS='test/unit test/lit' takes all. -O1 takes twice as long to compile as -O0, which is more than it saves.
ASAN_DIRS = test/unit test/lit/property/damaged.test \
  $(addprefix test/lit/,lexer grammar frontend infer proj loops schedule lower codegen runtime verify driver target tune)
# Long ones that go through no code of the compiler which others there do not.
ASAN_WITHOUT := driver/(cache|signals)|runtime/(examples|letters)|lower/(staged|long-sizes)|frontend/layers-(numbers|odd)|tune/search
ASAN_WITHOUT := $(ASAN_WITHOUT)|codegen/(same-nvrtc|determinism|levels)|schedule/gpu-again
asan:
	$(MAKE) B=$(B)/asan OPT='-O0 -g1' HOT='-O1 -g1' SAN='$(SAN_FLAGS)' LIT_DIRS='$(ASAN_DIRS)' LITFLAGS='$(LITFLAGS) --filter-out="$(ASAN_WITHOUT)"' check

# What threads share, under ThreadSanitizer: sessions at once, and the pool of libtsr.
TSAN_UNITS = test_session test_base_trap test_pool
tsan: $(foreach f,$(UNSHARED),$(OBJ_$(f)))
	$(MAKE) B=$(B)/tsan PLAIN=$(B) OPT='-O0 -g1' SAN=-fsanitize=thread tsan-run
tsan-run: $(addprefix tsan-,$(TSAN_UNITS))
tsan-test_%: $(B)/test/unit/test_%
	TSAN_OPTIONS=die_after_fork=0 $<

# The lines that the tests run, and the functions that none calls: build/coverage/report.txt.
coverage:
	-$(MAKE) B=$(B)/coverage OPT='-O0 -g' SAN='--coverage -DTSR_COVERAGE' check
	$(PYTHON) tools/coverage.py $(B)/coverage > $(B)/coverage/report.txt
	@grep -v '^never' $(B)/coverage/report.txt

# Bytes to shapes, programs to loops, C and numbers: each 2/5 of FUZZ_SECONDS, from the kept corpus on. Bytes to loops:
# the rest.
# The same inputs in the same order each time; FUZZ_SEED=0 FUZZ_SECONDS=3000 looks for others.
FUZZ_SECONDS = 30
FUZZ_SEED    = 1
FUZZ_SAN     = address,undefined -fno-sanitize-recover=undefined
# -O0 compiles in a quarter of the time, which a short run is shorter than; for a long one: FUZZ_OPT=-O1.
FUZZ_OPT     = -O0
# All but what needs libgccjit, or other processes.
FUZZ_OBJ     = $(filter-out $(OBJ_tune) $(B)/verify/run.o $(B)/codegen/jit_% $(B)/driver/write.o $(B)/driver/variants.o $(B)/driver/jobs.o $(B)/driver/lists.o \
  $(B)/driver/options.o $(B)/driver/options_check.o $(B)/driver/options_given.o $(addprefix $(B)/codegen/,asm_text.o backends.o cache.o emit_cross.o emit_gpu_so.o emit_ptx.o gccjit.o nvrtc_process.o subprocess.o tools.o),$(OBJ_all)) \
  $(OBJ_programs)
# No fuzzer makes code for a GPU: these are linked as they are.
FUZZ_PLAIN   = $(addprefix $(B)/,transform/gpu/%.o codegen/cuda_%.o codegen/emit_cuda.o codegen/gpu_entry.o codegen/cubin.o)
fuzz_objs    = $(filter $(FUZZ_PLAIN),$(1)) $(patsubst $(B)/%,$(B)/fuzz/%,$(filter-out $(FUZZ_PLAIN),$(1)))
$(B)/fuzz/gen/%.o: $(B)/gen/%.c | $(GEN_H)
	@mkdir -p $(@D)
	$(call say,CLANG)$(CLANG) $(CPPFLAGS) -std=c17 $(FUZZ_OPT) -g1 -w -fsanitize=fuzzer-no-link,$(FUZZ_SAN) -MMD -MP -c -o $@ $<
$(B)/fuzz/%.o: %.c | $(GEN_H)
	@mkdir -p $(@D)
	$(call say,CLANG)$(CLANG) $(CPPFLAGS) -std=c17 $(FUZZ_OPT) -g1 $(WARN) -Werror -fsanitize=fuzzer-no-link,$(FUZZ_SAN) -MMD -MP -c -o $@ $<
$(B)/fuzz_shapes: $(call fuzz_objs,$(B)/test/fuzz/fuzz_shapes.o $(FUZZ_OBJ))
$(B)/fuzz_loops: $(call fuzz_objs,$(B)/test/fuzz/fuzz_loops.o $(FUZZ_OBJ))
$(B)/fuzz_read: $(call fuzz_objs,$(B)/test/fuzz/fuzz_read.o $(FUZZ_OBJ))
$(B)/fuzz_%:
	$(call say,LINK)$(CLANG) -fsanitize=fuzzer,$(FUZZ_SAN) -o $@ $^ $(LIBS_B)
FUZZ_OPTIONS = -seed=$(FUZZ_SEED) -max_total_time=$$(($(FUZZ_SECONDS) * $(1) / 5)) -timeout=10 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=0
# They run beside each other once all are built: their seconds are not shared with the compiler.
fuzz: $(B)/fuzz_shapes $(B)/fuzz_loops $(B)/fuzz_read
	@$(MAKE) fuzz-shapes fuzz-read fuzz-loops
fuzz-shapes: $(B)/fuzz_shapes
	@mkdir -p $(B)/corpus
	$(B)/fuzz_shapes $(call FUZZ_OPTIONS,2) -artifact_prefix=$(B)/shapes- $(B)/corpus test/fuzz/corpus
fuzz-read: $(B)/fuzz_read
	@mkdir -p $(B)/corpus-read
	$(B)/fuzz_read $(call FUZZ_OPTIONS,1) -artifact_prefix=$(B)/read- $(B)/corpus-read test/fuzz/corpus-read
fuzz-loops: $(B)/fuzz_loops
	@mkdir -p $(B)/corpus-loops
	$(B)/fuzz_loops $(call FUZZ_OPTIONS,2) -entropic=0 -artifact_prefix=$(B)/loops- $(B)/corpus-loops test/fuzz/corpus

# make bench SUITE=readable: one table of bench/run.py, or several, as `products,conv`.
bench: all
	$(if $(SUITE),,$(PYTHON) bench/inference.py $(B)/tsrc)
	$(PYTHON) bench/run.py --build $(B) $(if $(SUITE),--suite $(SUITE))

# On a machine with a GPU: what is emitted for it, confirmed and measured; PYTHON has PyTorch. Leaves build/bench-gpu.txt.
bench-gpu: all
	$(PYTHON) bench/gpu/run.py --build $(B)

# What bench compares with: libraries of Debian's, and of PyPI's in an environment that bench finds.
PEERS_DEBIAN = libopenblas0-pthread libblis4-pthread libdnnl2 python3-venv g++
PEERS_PYPI   = torch numpy opt_einsum onnx onnxruntime onnxscript
bench-peers:
	@if [ "$$(id -u)" = 0 ]; then apt-get install -y $(PEERS_DEBIAN); else echo 'as root: apt-get install $(PEERS_DEBIAN)'; fi
	$(PYTHON) -m venv $(B)/bench/venv
	$(B)/bench/venv/bin/pip install $(PEERS_PYPI)

# The models of examples/models in their full size, on random weights, against NumPy and, where PYTHON has it,
# PyTorch; 1 GB below build/.
check-models: all
	$(PYTHON) tools/check_models.py $(B) $(B)/models full

# Programs as code for aarch64, in an emulator: minutes. The quick part is a test.
check-aarch64: all
	@tools/check_aarch64.sh $(abspath $(B))

# Every dump of loops, of every program that compiles, prints itself when it is read; the quick part is a test.
check-loops: all
	$(PYTHON) test/lit/loops/Inputs/read_back.py $(B)/tsrc . 0

# The Python package: its tests, and a wheel with the binaries in build/wheel.
check-python: all
	@TSRC=$(abspath $(B))/tsrc TSR_LIBRARY=$(abspath $(B))/libtsr.so $(PYTHON) -m pytest -q -p no:cacheprovider python/tests
wheel: all
	@rm -rf $(B)/wheel && mkdir -p $(B)/wheel/source && cp -r python lib $(B)/wheel/source
	TSR_BUILD=$(abspath $(B)) $(PYTHON) -m pip -q wheel --no-build-isolation --no-deps -w $(B)/wheel $(B)/wheel/source/python
	@rm -rf $(B)/wheel/source && ls $(B)/wheel/*.whl

# ---- the main job, upkeep, installation ----

run: all
	@sh examples/run.sh $(B)

fmt:
	@git clang-format --force --extensions c,h

DEST = $(DESTDIR)$(PREFIX)
COMPLETIONS = share/bash-completion/completions share/zsh/site-functions share/fish/vendor_completions.d
install: all
	install -d $(addprefix $(DEST)/,bin include lib/pkgconfig lib/cmake/tsr share/tsr/lib share/man/man1 \
	  $(COMPLETIONS) share/doc/tsr/examples share/vim/vimfiles/syntax share/vim/vimfiles/ftdetect)
	install $(B)/tsrc $(B)/tsr $(DEST)/bin
	install -m 644 $(B)/libtsr.a $(DEST)/lib
	install $(B)/libtsr.so $(DEST)/lib/libtsr.so.0
	ln -sf libtsr.so.0 $(DEST)/lib/libtsr.so
	install -m 644 runtime/tsr.h $(DEST)/include
	install -m 644 lib/*.tsr $(DEST)/share/tsr/lib
	install -m 644 docs/man/tsrc.1 docs/man/tsr.1 $(DEST)/share/man/man1
	for tool in tsrc tsr; do \
	  $(B)/$$tool --completion=bash > $(DEST)/share/bash-completion/completions/$$tool; \
	  $(B)/$$tool --completion=zsh > $(DEST)/share/zsh/site-functions/_$$tool; \
	  $(B)/$$tool --completion=fish > $(DEST)/share/fish/vendor_completions.d/$$tool.fish; done
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' tools/tsr.pc.in > $(DEST)/lib/pkgconfig/tsr.pc
	install -m 644 tools/cmake/tsrConfig.cmake $(DEST)/lib/cmake/tsr
	sed -e 's|@VERSION@|$(VERSION)|' tools/cmake/tsrConfigVersion.cmake.in > $(DEST)/lib/cmake/tsr/tsrConfigVersion.cmake
	install -m 644 docs/*.md $(DEST)/share/doc/tsr
	install -m 644 examples/*.tsr examples/README.md $(DEST)/share/doc/tsr/examples
	install -m 644 editors/vim/syntax/tsr.vim $(DEST)/share/vim/vimfiles/syntax
	install -m 644 editors/vim/ftdetect/tsr.vim $(DEST)/share/vim/vimfiles/ftdetect

uninstall:
	rm -f $(addprefix $(DEST)/,bin/tsrc bin/tsr lib/libtsr.a lib/libtsr.so lib/libtsr.so.0 lib/pkgconfig/tsr.pc \
	  include/tsr.h share/man/man1/tsrc.1 share/man/man1/tsr.1 \
	  share/vim/vimfiles/syntax/tsr.vim share/vim/vimfiles/ftdetect/tsr.vim) \
	  $(foreach tool,tsrc tsr,$(DEST)/share/bash-completion/completions/$(tool) \
	  $(DEST)/share/zsh/site-functions/_$(tool) $(DEST)/share/fish/vendor_completions.d/$(tool).fish)
	rm -rf $(DEST)/share/tsr $(DEST)/share/doc/tsr $(DEST)/lib/cmake/tsr

help:
	@echo 'make            build build/tsrc, build/tsr, build/libtsr.a and .so'
	@echo 'make run        compile and run the examples on real input'
	@echo 'make check      all tests; the last line is "N passed, N failed, N skipped"'
	@echo 'make check-bare  both commands of the README on a bare system, as root'
	@echo 'make check T=infer/rows   one folder, or the tests of a name'
	@echo 'make check-fast  what takes two minutes: all but long runs of emitted code'
	@echo 'make check-long  ten times as many random programs, every test on every processor: hours'
	@echo 'make record-schedules  write test/schedules anew: what is chosen for many programs, which a test compares'
	@echo 'make asan       the same under address and undefined-behaviour sanitizers'
	@echo 'make tsan       sessions on threads, and the thread pool, under ThreadSanitizer'
	@echo 'make coverage   lines that the tests run, by folder, and functions that none calls'
	@echo 'make fuzz       random programs to shapes, and to loops, C and numbers; random loops (FUZZ_SECONDS=40)'
	@echo 'make check-aarch64  programs run as code for aarch64, in an emulator'
	@echo 'make check-loops  dumps of loops of all programs are read back, and make the same'
	@echo 'make bench      what is emitted against its peers (bench/README.md); make bench-peers installs them; SUITE=conv: one table'
	@echo 'make bench-gpu  code for a GPU on a machine that has one, beside PyTorch (PYTHON=...)'
	@echo 'make check-models  whole models in their full size against NumPy and PyTorch'
	@echo 'make check-python  the tests of the Python package; make wheel builds it with the binaries'
	@echo 'make deps       who includes whom, against docs/ARCHITECTURE.md, circles of files, numbers about hardware, decisions while code is emitted, passes without a row, verifier or dump, names that the field has terms for, static data that can change'
	@echo 'make fmt        format the lines of C that you changed and have not committed'
	@echo 'make install    DESTDIR= PREFIX=/usr/local; make uninstall removes what it puts there'
	@echo 'make clean      remove build/'
	@echo 'V=1 shows the commands.'

clean:
	rm -rf $(B)

.PHONY: all units check check-fast check-long record-schedules check-bare check-loops check-models check-aarch64 check-python wheel deps asan tsan tsan-run coverage fuzz fuzz-shapes fuzz-read fuzz-loops bench bench-gpu bench-peers run fmt install uninstall help clean
