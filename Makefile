# tsr: build, test, tend. `make help` lists the targets.
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
CPPFLAGS = -I. -I$(B) -I$(B)/gen -D_GNU_SOURCE -DTSR_VERSION='"$(VERSION)"'
CFLAGS   = -std=c17 $(OPT) $(WARN) -fPIC -ffp-contract=off $(SAN)
LDFLAGS  = $(SAN)
LIBS_C   = -lgccjit -ldl -lm
LIBS_RT  = -ldl -lm -lpthread
LIBS_B   = -lxxhash -lutf8proc -ljansson -lzip -lm

FOLDERS  = base lexer grammar frontend infer lower codegen
GENERATED_LEXER   = $(B)/gen/lexer.o
GENERATED_GRAMMAR = $(B)/gen/grammar.o

srcs     = $(wildcard $(1)/*.c)
objs     = $(patsubst %.c,$(B)/%.o,$(call srcs,$(1)))
OBJ_base     := $(call objs,base)
OBJ_lexer    := $(call objs,lexer) $(patsubst lexer/%.re,$(B)/gen/%.o,$(wildcard lexer/*.re))
OBJ_grammar  := $(call objs,grammar) $(patsubst grammar/%.y,$(B)/gen/%.o,$(wildcard grammar/*.y))
OBJ_frontend := $(call objs,frontend)
OBJ_infer    := $(call objs,infer)
OBJ_lower    := $(call objs,lower)
OBJ_codegen  := $(call objs,codegen)
OBJ_runtime  := $(filter-out $(B)/runtime/tsr_main.o,$(call objs,runtime))
OBJ_all      := $(foreach f,$(FOLDERS),$(OBJ_$(f)))
GEN_H        := $(patsubst grammar/%.y,$(B)/gen/%.h,$(wildcard grammar/*.y))

all: $(B)/tsrc $(B)/tsr $(B)/libtsr.a $(B)/libtsr.so

$(foreach f,$(FOLDERS),$(eval $(B)/lib$(f).a: $(OBJ_$(f))))
$(foreach f,$(FOLDERS),$(B)/lib$(f).a):
	@rm -f $@
	@$(AR) rcsD $@ $^

$(B)/tsrc: $(B)/main.o $(OBJ_all)
	$(CC) $(LDFLAGS) -o $@ $(B)/main.o $(OBJ_all) $(LIBS_C) $(LIBS_B)

$(B)/tsr: $(B)/runtime/tsr_main.o $(OBJ_runtime) $(OBJ_base)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_RT) $(LIBS_B)

$(B)/libtsr.a: $(OBJ_runtime) $(OBJ_base)
	@rm -f $@
	@$(AR) rcsD $@ $^

$(B)/libtsr.so: $(OBJ_runtime) $(OBJ_base)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libtsr.so.0 -o $@ $^ $(LIBS_RT) $(LIBS_B)

$(B)/%.o: %.c | $(GEN_H)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/gen/%.c: lexer/%.re
	@mkdir -p $(@D)
	re2c -W -Werror --no-generation-date --no-version --input-encoding utf8 --depfile $(B)/gen/$*.re.d -o $@ $<
$(B)/gen/%.c: grammar/%.y
	@mkdir -p $(@D)
	@rm -f $@
	lemon -c -d$(B)/gen $< || { rm -f $@; exit 1; }
$(B)/gen/%.h: $(B)/gen/%.c ;
.PRECIOUS: $(B)/gen/%.c $(B)/gen/%.h
$(B)/gen/%.o: $(B)/gen/%.c | $(GEN_H)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-shadow -Wno-unused-parameter -Wno-unused-variable -Wno-missing-prototypes -Wno-sign-compare -MMD -MP -c -o $@ $<

-include $(shell find $(B) -name '*.d' 2>/dev/null)

clean:
	rm -rf $(B)
.PHONY: all clean
