/* Loop nests to something that runs or can be read. One row of `backends` per kind of output. */
#ifndef TSR_CODEGEN_CODEGEN_H
#define TSR_CODEGEN_CODEGEN_H

#include "base/diag.h"
#include "loops/vector/vector.h"

/* What a shared object of code for a GPU has beside it. */
typedef struct GpuParts {
	const char *const *ptx; /* files of code for other GPUs */
	size_t nptx;
	const char *
		cpu_object; /* of the same program for a CPU, without copies of parameters; NULL: none */
	const char *cpu_prefix; /* of its names */
	const Program *cpu;	/* what it was made of */
} GpuParts;

/* What is asked for of the code, beside what it is made for (Target, of the program). */
typedef struct CodeOptions {
	int opt_level;        /* 0 to 3 */
	bool debug;           /* line information of the .tsr */
	bool strict_fp;       /* no contraction of a*b+c */
	bool fast_fp;         /* functions with larger errors */
	const char *
		nvrtc_worker; /* the program that runs nvrtc (NvrtcJob); NULL: a fork of this one */
	const GpuParts *parts; /* NULL: none; filled before outputs are made */
} CodeOptions;

/* What a back end did, for --time-report and -v. */
typedef struct EmitReport {
	/* functions: kernels that share none; cached: units */
	uint32_t kernels, functions, units, cached;
	double compile_ms, assemble_ms, link_ms;
	bool wants_kernels; /* asked: what each kernel of a GPU takes, for which machine code is made */
	const char *kernel_lines;  /* of them: a line each; NULL: none */
	const char *cache_refused; /* why Emit.cache was not used; NULL: it was, or is NULL */
} EmitReport;

typedef struct Emit {
	const Program *program;
	Arena *arena;
	Diags *diags;
	const CodeOptions *options;
	const char *prefix;   /* of C names */
	const char *source;   /* path of the .tsr as given */
	const char *output;   /* path to write (a temporary name; the driver renames it) */
	const char *name;     /* that the output will have, for messages and DT_SONAME; NULL: the same */
	const char *cache;    /* directory of compiled units; NULL: none */
	EmitReport *report;   /* NULL: nobody asks */
	/* where the first of several back ends leaves for the others what they share; NULL:
	 * nowhere */
	struct Module **shared;
	bool again; /* the same machine code is written once more: `shared` is to have it */
} Emit;

static inline const char *emit_name(const Emit *emit)
{
	return emit->name ? emit->name : emit->output;
}

typedef enum OutputKind {
	OUTPUT_SO,
	OUTPUT_OBJ,
	OUTPUT_ASM,
	OUTPUT_C,
	OUTPUT_HEADER,
	OUTPUT_CU,
	OUTPUT_PTX,
	OUTPUT_KINDS
} OutputKind;

/* How a process loads what a back end writes: not at all, as a shared object, or as what cc makes of
 * the C that it is. */
typedef enum BackendLoad { LOAD_NONE, LOAD_SHARED, LOAD_C } BackendLoad;

typedef struct Backend {
	const char *name;   /* --emit=NAME */
	const char *suffix; /* ".so" */
	const char *makes;
	OutputKind kind;
	bool (*emit)(const Emit *emit); /* false after an error (in diags) */
	BackendLoad load;
	bool gpu; /* for a GPU: of a program with grids; else of one without */
	bool gpu_too; /* of either; that with grids is not loaded by the compiler itself */
} Backend;

extern const Backend backends[OUTPUT_KINDS];
/* NULL: there is none of that name. */
const Backend *backend_named(const char *name);

/* codegen/gccjit.c: .so, .o, .s through libgccjit, in a forked child. */
bool gccjit_emit_so(const Emit *emit);
bool gccjit_emit_obj(const Emit *emit);
bool gccjit_emit_asm(const Emit *emit);
/* codegen/emit_cross.c: is it for another kind of processor? Then .so, .o, .s of the C, by that
 * one's compiler. */
bool cross_wanted(const Emit *emit);
bool cross_emit(const Emit *emit, OutputKind kind);
/* codegen/emit_c.c: readable C of the whole module, compiles with -std=c99 -Wall -Wextra. */
bool c_emit(const Emit *emit);
/* codegen/emit_cuda.c: CUDA C of all kernels, and a host part that runs them on a CPU. */
bool cuda_emit(const Emit *emit);
/* codegen/emit_ptx.c: that through nvrtc. */
bool ptx_emit(const Emit *emit);
/* codegen/emit_gpu_so.c: that in a shared object with the entry points of any module. */
bool gpu_so_emit(const Emit *emit);
/* codegen/header.c: the C header. */
bool header_emit(const Emit *emit);
/* codegen/target_vectors.c: what transformations of loops may use. */
VectorTarget target_vectors(const Target *target, const CodeOptions *options);

/* codegen/interp.c: the oracle. Runs a routine of the program directly.
 * dims: by DimId, all symbolic dims of the program. inputs, outputs: in the routine's order. state:
 * laid out by the params' offsets, and packed. Returns 0 or a code as the compiled routine would;
 * INTERP_NO_MEMORY; INTERP_TOO_MUCH where it would take more statements, or bytes of temporaries,
 * than it may. */
enum { INTERP_NO_MEMORY = -1, INTERP_TOO_MUCH = -2 };
typedef struct InterpArgs {
	const int64_t *dims;
	const Scalar *scalars;
	const void *const *inputs;
	void *const *outputs;
	void *state;
	const char **message;
	int64_t most_steps, most_bytes; /* 0: any */
	const CodeOptions *
		exact; /* compute with the bits that machine code has under these; NULL: round each operation */
} InterpArgs;
int interp_run(const Program *program, uint32_t routine, const InterpArgs *args);
/* Runs the initialisers of the parameters, and packs. */
int interp_init(const Program *program, const int64_t *dims, void *state, uint64_t seed);
/* Brings the state's copies of parameters up to date. */
int interp_pack(const Program *program, const int64_t *dims, void *state);

#endif
