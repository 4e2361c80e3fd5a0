/* A module as readable C99: the same entry points, table and numbers as the compiled one (bit for
 * bit, whatever compiles it). One file that needs nothing but the C library. */
#include <stdlib.h>

#include "base/held.h"
#include "codegen/c_matrix.h"
#include "codegen/interp.h"
#include "codegen/table.h"

static const char *const table_text =
#include "gen/tsr_table.inc"
	;

void c_put_constant(FILE *out, const Module *m, size_t index, const char *as)
{
	const ProgramConst *c = &m->program->consts.at[index];
	/* two elements a byte are written as bytes */
	bool packed = dtype_is_packed(c->type.dtype);
	Dtype dtype = packed ? DTYPE_U8 : c->type.dtype;
	int64_t count = packed ? c->count / 2 + c->count % 2 : c->count;
	fprintf(out, "/* %s %s */\n%s %s %s[%lld] = {", c_comment(m->arena, c->name),
		c_comment(m->arena, c->type.text), as, c_type(dtype), m->consts[index],
		(long long)(count > 0 ? count : 1));
	Arena *arena = arena_new(); /* for one number at a time */
	for (int64_t i = 0; i < count; i++) {
		Scalar value = scalar_read(dtype, c->bytes, i);
		fprintf(out, "%s%s",
			i == 0	? "\n\t"
			: i % 8 ? ", "
				: ",\n\t",
			c_constant(arena, dtype, value));
		if (i % 4096 == 0)
			arena_reset(arena);
	}
	arena_free(arena);
	fprintf(out, "%s\n};\n\n", count ? "" : "0");
}

/* Written apart first: the long sizes that they mention are declared before them. */
static void put_functions(FILE *out, const Module *m)
{
	size_t len;
	Text functions = text_new();
	c_put_kernels(functions.out, m);
	c_put_checked(functions.out);
	c_put_routines(functions.out, m);
	c_put_sizes(functions.out, m);
	const char *text = text_take(functions, m->arena, &len);
	c_put_vectors(out, m);
	c_put_vectors_fused(out, m);
	c_put_conversions(out, m);
	c_put_transposes(out, m);
	c_put_lanes_math(out, m);
	c_put_groups(out, m);
	c_put_tiles(out, m);
	c_put_lanes_packed(out, m);
	c_put_size_declarations(out, m);
	fwrite(text, 1, len, out);
}

/* As the modules of libgccjit are compiled. GCC knows at the first declaration whether square roots set
 * errno, which is before any option of the text. */
static const char options_text[] =
	"/* Nothing here reads errno or floating-point exceptions. The sums of a tile are in registers, which\n"
	" * what goes from step to step would take. Choices stay as they are written: one is one instruction. */\n"
	"#if defined __GNUC__ && !defined __clang__\n"
	"#pragma GCC optimize(\"no-math-errno\", \"no-trapping-math\")\n"
	"#pragma GCC optimize(\"no-predictive-commoning\", \"no-thread-jumps\", \"no-tree-pre\")\n"
	"#endif\n";

static const char tiles_text[] =
	"/* With AVX-512 tiles take nearly all registers, and GCC finds them where addresses have no variables. */\n"
	"#if defined __GNUC__ && !defined __clang__ && defined __AVX512F__\n"
	"#pragma GCC optimize(\"no-ivopts\")\n"
	"#endif\n";

static const char roots_text[] =
	"#ifdef __GNUC__\n"
	"float (sqrtf)(float) __attribute__((const));\ndouble (sqrt)(double) __attribute__((const));\n"
	"#endif\n\n";

static void put_module(FILE *out, const Module *m)
{
	fprintf(out, "/* %s: made from %s by tsrc %s. Do not edit. */\n", m->prefix,
		c_comment(m->arena, module_source(m)), TSR_VERSION);
	fputs("#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n"
	      "#include <string.h>\n#include <tgmath.h>\n\n",
	      out);
	fputs(options_text, out);
	c_put_fused(out, m);
	if (c_has_tiles(m))
		fputs(tiles_text, out);
	fputs("#ifdef __clang__\n#pragma clang diagnostic ignored \"-Wunused-function\"\n#endif\n\n",
	      out);
	fputs(roots_text, out);
	fprintf(out, "%s\n%s\n", tsr_call_text, table_text);
	for (uint32_t i = 0; i < m->program->routines.n; i++)
		fprintf(out, "%s;\n%s;\n", module_signature(m, i),
			module_workspace_signature(m, i));
	fprintf(out, "%s;\n%s;\n%s;\n", module_state_signature(m), module_init_signature(m),
		module_signature(m, (uint32_t)m->program->routines.n));
	fprintf(out, "extern const tsr_module %s_module;\n\n", m->prefix);
	if (module_has_tiles(m))
		fprintf(out, "int %s_use_tiles(void);\nint tsr_use_tiles(void);\n\n", m->prefix);
	for (size_t i = 0; i < m->program->consts.n; i++)
		c_put_constant(out, m, i, "static const");
	c_put_helpers(out, m);
	put_functions(out, m);
	table_c(out, table_new(m, false));
}

bool c_emit(const Emit *emit)
{
	Module *m = module_new(emit);
	if (m) {
		m->c_sizes = ARENA_NEW(m->arena, struct CSizes);
		m->c_vectors = ARENA_NEW(m->arena, struct CVectors);
	}
	return m && c_write(m, put_module);
}
