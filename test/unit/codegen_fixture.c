/* Programs compiled, loaded and run: see codegen_fixture.h. */
#include "test/unit/codegen_fixture.h"

#include "base/size_eval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void make_path(char *path, int suffix)
{
	int fd = mkstemps(path, suffix);
	assert_true(fd >= 0);
	close(fd);
}

static void emit_to(SmallProgram *s, const char *path, bool (*emit_kind)(const Emit *emit))
{
	Emit emit = sp_emit(s, path);
	bool good = emit_kind(&emit);
	if (!good)
		diags_print(&s->diags, stderr);
	assert_true(good);
}

static Loaded load_path(const char *path)
{
	Loaded l = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
	unlink(path);
	if (!l.handle)
		fail_msg("%s", dlerror());
	l.module = dlsym(l.handle, "tsr_module_table");
	assert_non_null(l.module);
	assert_int_equal(l.module->abi, TSR_ABI);
	assert_int_equal(l.module->bytes, sizeof(tsr_module));
	return l;
}

Loaded load_so(SmallProgram *s)
{
	char path[] = "/tmp/tsr-test-XXXXXX.so";
	make_path(path, 3);
	loops_verify(&s->program);
	emit_to(s, path, gccjit_emit_so);
	return load_path(path);
}

Loaded load_c(SmallProgram *s)
{
	char text[] = "/tmp/tsr-test-XXXXXX.c", path[] = "/tmp/tsr-test-XXXXXX.so";
	make_path(text, 2);
	make_path(path, 3);
	emit_to(s, text, c_emit);
	char command[256];
	snprintf(command, sizeof command,
		 "cc -std=c99 -O1 -ffp-contract=off -Wall -Wextra -pedantic -Werror -fPIC -shared "
		 "-o %s %s -lm",
		 path, text);
	assert_int_equal(system(command), 0);
	unlink(text);
	return load_path(path);
}

void run_module(SmallProgram *s, const Loaded *l, Run *run)
{
	const ProgramRoutine *r = &s->program.routines.at[0];
	int64_t bytes = 0;
	assert_true(size_eval(s->program.sizes, r->workspace, run->dims, &bytes));
	void *workspace = bytes ? aligned_alloc(64, (size_t)bytes) : NULL;
	const void *scalars[] = {&run->elements[0], &run->elements[1]};
	run->message = NULL;
	tsr_call call = {.abi = TSR_ABI, .message = &run->message};
	run->code = l->module->routines[0].invoke(&call, run->dims, scalars, run->inputs, run->got,
						  run->state, workspace);
	free(workspace);
}

/* Runs the module and expects its outputs and its code to be the interpreter's. */
static void compare_module(SmallProgram *s, const Loaded *l, Run *run, int expected)
{
	const ProgramRoutine *r = &s->program.routines.at[0];
	for (uint32_t i = 0; i < r->noutputs; i++)
		run->got[i] = calloc(1, run->bytes[i]);
	run_module(s, l, run);
	assert_int_equal(run->code, expected);
	for (uint32_t i = 0; i < r->noutputs; i++) {
		assert_memory_equal(run->got[i], run->expected[i], run->bytes[i]);
		free(run->got[i]);
	}
	if (run->message) /* the text goes with the module */
		run->message = arena_printf(s->program.arena, "%s", run->message);
	dlclose(l->handle);
}

void compare_run(SmallProgram *s, Run *run)
{
	const ProgramRoutine *r = &s->program.routines.at[0];
	for (uint32_t i = 0; i < r->noutputs; i++)
		run->expected[i] = calloc(1, run->bytes[i]);
	const char *message = NULL;
	InterpArgs args = {run->dims,  run->scalars, run->inputs, run->expected,
			   run->state, &message,     0,		  0,
			   NULL};
	int expected = interp_run(&s->program, 0, &args);
	Loaded c = load_c(s), so = load_so(s);
	compare_module(s, &c, run, expected);
	compare_module(s, &so, run, expected);
	for (uint32_t i = 0; i < r->noutputs; i++)
		free(run->expected[i]);
}
