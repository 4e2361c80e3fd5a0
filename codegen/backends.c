/* What can be written, and by whom. */
#include "codegen/codegen.h"

#include <string.h>

const Backend backends[OUTPUT_KINDS] = {
	[OUTPUT_SO] = {"so", ".so", "shared object", OUTPUT_SO, gccjit_emit_so, LOAD_SHARED},
	[OUTPUT_OBJ] = {"obj", ".o", "object file", OUTPUT_OBJ, gccjit_emit_obj, LOAD_NONE},
	[OUTPUT_ASM] = {"asm", ".s", "assembler text", OUTPUT_ASM, gccjit_emit_asm, LOAD_NONE},
	[OUTPUT_C] = {"c", ".c", "readable C", OUTPUT_C, c_emit, LOAD_C},
	[OUTPUT_HEADER] = {"header", ".h", "C header", OUTPUT_HEADER, header_emit, LOAD_NONE},
	[OUTPUT_CU] = {"cu", ".cu", "CUDA C", OUTPUT_CU, cuda_emit, LOAD_C, .gpu = true},
	[OUTPUT_PTX] = {"ptx", ".ptx", "PTX", OUTPUT_PTX, ptx_emit, LOAD_NONE, .gpu = true},
};

const Backend *backend_named(const char *name)
{
	for (int i = 0; i < OUTPUT_KINDS; i++)
		if (strcmp(backends[i].name, name) == 0)
			return &backends[i];
	return NULL;
}
