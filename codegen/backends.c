/* What can be written, and by whom. */
#include "codegen/codegen.h"

#include <string.h>

/* libgccjit makes code for this machine's kind alone. */
static bool so_emit(const Emit *emit)
{
	if (emit->program->options.gpu)
		return gpu_so_emit(emit);
	return cross_wanted(emit) ? cross_emit(emit, OUTPUT_SO) : gccjit_emit_so(emit);
}

static bool obj_emit(const Emit *emit)
{
	return cross_wanted(emit) ? cross_emit(emit, OUTPUT_OBJ) : gccjit_emit_obj(emit);
}

static bool asm_emit(const Emit *emit)
{
	return cross_wanted(emit) ? cross_emit(emit, OUTPUT_ASM) : gccjit_emit_asm(emit);
}

/* gpu, gpu_too */
#define ON_CPU false, false
#define ON_GPU true, false
#define ON_BOTH false, true

const Backend backends[OUTPUT_KINDS] = {
	[OUTPUT_SO] = {"so", ".so", "shared object", OUTPUT_SO, so_emit, LOAD_SHARED, ON_BOTH},
	[OUTPUT_OBJ] = {"obj", ".o", "object file", OUTPUT_OBJ, obj_emit, LOAD_NONE, ON_CPU},
	[OUTPUT_ASM] = {"asm", ".s", "assembler text", OUTPUT_ASM, asm_emit, LOAD_NONE, ON_CPU},
	[OUTPUT_C] = {"c", ".c", "readable C", OUTPUT_C, c_emit, LOAD_C, ON_CPU},
	[OUTPUT_HEADER] = {"header", ".h", "C header", OUTPUT_HEADER, header_emit, LOAD_NONE,
			   ON_CPU},
	[OUTPUT_CU] = {"cu", ".cu", "CUDA C", OUTPUT_CU, cuda_emit, LOAD_C, ON_GPU},
	[OUTPUT_PTX] = {"ptx", ".ptx", "PTX", OUTPUT_PTX, ptx_emit, LOAD_NONE, ON_GPU},
};

const Backend *backend_named(const char *name)
{
	for (int i = 0; i < OUTPUT_KINDS; i++)
		if (strcmp(backends[i].name, name) == 0)
			return &backends[i];
	return NULL;
}
