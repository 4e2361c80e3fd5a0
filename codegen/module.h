/* The C face of a program: the names, parameter lists and texts that all back ends share.
 *
 *   PREFIX_ROUTINE, PREFIX_ROUTINE_workspace, PREFIX_state_size,
 *   PREFIX_init, PREFIX_pack, PREFIX_module                         exported
 *   PREFIX_ROUTINE_device, PREFIX_ROUTINE_device_workspace,
 *   PREFIX_wait_device                                              exported too, of code for a GPU
 *   PREFIX__anything                                                internal
 */
#ifndef TSR_CODEGEN_MODULE_H
#define TSR_CODEGEN_MODULE_H

#include "base/element.h"
#include "codegen/codegen.h"
#include "codegen/kernel_use.h"

typedef struct ModuleRoutine {
	const char *function, *workspace, *invoke;
	const char *device, *device_workspace;		   /* of code for a GPU */
	const char **dims, **scalars, **inputs, **outputs; /* names of arguments, all distinct */
	bool *params; /* which of the program's parameters its kernels touch, or copies of them */
	bool packed;  /* it reads copies of parameters */
} ModuleRoutine;

typedef struct ModuleKernel {
	Kernel kernel; /* the program's, its buffers moved to their bases */
	Digest identity;
	KernelId same; /* the kernel whose function it shares: itself for the first of them */
	const char *function;
	KernelUse *use;
} ModuleKernel;

typedef struct Module {
	const Emit *emit;
	const Program *program;
	Arena *arena;
	const char *prefix;
	ModuleRoutine *routines; /* as in program->routines, then program->pack, program->init */
	ModuleKernel *kernels;	 /* as in program->kernels */
	const char **dims;	 /* a C name for every symbolic dim */
	const char **consts;	 /* symbols of the constants */
	struct CSizes *c_sizes;	 /* of written C: c_text.h */
	struct CVectors *c_vectors;
	struct MadeObject *object; /* of all outputs: made_object.h */
} Module;

/* NULL after a diagnostic: two routines want one C name. */
Module *module_new(const Emit *emit);

/* What every module exports behind its prefix. */
enum { MODULE_NOWN = 5 };
extern const char *const module_own[MODULE_NOWN];

/* module_names.c */
typedef VEC(const char *) Names;
/* `name` as a C identifier that may stand anywhere in the header and in written C: no keyword, no
 * macro, no name of the module's own, and none of `taken`, to which it is added. */
const char *name_unique(const Module *module, Names *taken, const char *name);
/* ... that a name of the module may end in. */
char *name_identifier(Arena *arena, const char *name);

/* The bits of a small float. */
uint16_t half_bits(Dtype dtype, Scalar value);
/* "float", "int32_t"; aborts for a dtype that is not supported. */
const char *c_type(Dtype dtype);
/* Is there a parameter of that dtype with random initial values? */
bool module_has_uniform(const Module *module, Dtype dtype);
/* The function of compiled modules that makes them. */
const char *module_uniform_function(const Module *module, Dtype dtype);
/* The declaration of a routine's function without the semicolon, on one line.
 * Requires: a routine of the module. */
const char *module_signature(const Module *module, uint32_t routine);
const char *module_workspace_signature(const Module *module, uint32_t routine);
/* Those of code for a GPU, on arrays of the device. Requires: a routine of the module. */
const char *module_device_signature(const Module *module, uint32_t routine);
const char *module_device_workspace_signature(const Module *module, uint32_t routine);
const char *module_wait_signature(const Module *module);
const char *module_state_signature(const Module *module);
const char *module_init_signature(const Module *module);
/* Is it the number of the routine that packs the state? ... that sets parameters? Neither has a
 * workspace or needs a packed state. */
bool module_is_pack(const Module *module, uint32_t routine);
bool module_is_init(const Module *module, uint32_t routine);
/* Bytes of the state as callers have it; of a GPU's the device alone has what is packed. The C text of the same
 * module, which runs on the host, has that in the state. */
Size module_host_state(const Module *module);
/* The message of TSR_NOT_PACKED. */
const char *module_pack_message(const Module *module);
/* "image f32 [n | 28, 28, 1] -> probs f32 [n | 10]". Requires: a routine of the module. */
const char *module_types(const Module *module, uint32_t routine);
/* The base name of the source: where it lay does not show in what is emitted, but in debug
 * lines. */
const char *module_source(const Module *module);
/* "conv_net.tsr:12:5", or "" without a place. */
const char *module_place(const Module *module, Span span);
/* Of the source; 0: not known. */
uint32_t module_line(const Module *module, Span span);
/* text as a C string literal with its quotes. */
const char *c_string(Arena *arena, const char *text);
/* text with what would end a C comment defused. */
const char *c_comment(Arena *arena, const char *text);
/* Is any kernel cut into chunks? */
bool module_has_chunks(const Module *module);
/* ... whose number at a time is limited? */
bool module_has_slots(const Module *module);
bool module_has_prefetches(const Module *module);
/* Does it multiply matrices in tiles where it may? Then it has PREFIX_use_tiles. */
bool module_has_tiles(const Module *module);
/* What a routine returns when a check fails: TSR_CHECK_FIRST + check.
 * Requires: a check of the program, of which there are less than INT_MAX - TSR_CHECK_FIRST. */
int module_check_code(CheckId check);
/* The message for a dim out of its range. */
const char *module_dim_message(const Module *module, DimId dim);
/* Inputs and results of a routine whose elements are aligned to so many bytes, which one check looks
 * at together: each has an argument below ninputs, or ninputs + that of a result. */
typedef struct ModuleAligned {
	VEC(uint32_t) args;
	const char *message; /* where one is not aligned */
} ModuleAligned;
ModuleAligned module_aligned(const Module *module, const ProgramRoutine *routine, size_t bytes);
enum { ALIGNMENT_MOST = 8 };

enum { STATE_ALIGN = 64 };

#endif
