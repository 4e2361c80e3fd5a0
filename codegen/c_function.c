/* Functions of kernels in C, and those of their parallel loops. */
#include "codegen/c_compaction.h"
#include "codegen/c_matrix.h"
#include "codegen/c_stream.h"
#include "codegen/streams.h"
#include "loops/walk.h"

static void name_columns(KernelText *k, Names *taken)
{
	const bool *read = c_columns_read(k, k->kernel->body);
	k->columns = ARENA_ARRAY(k->arena, const char *, k->kernel->nlocals + 1);
	k->transposed = ARENA_ARRAY(k->arena, bool, k->kernel->nlocals + 1);
	for (uint32_t i = 0; i < k->kernel->nlocals; i++)
		if (read[i]) {
			const char *name = arena_printf(k->arena, "%s_columns", k->locals[i]);
			k->columns[i] = name_unique(k->m, taken, name);
			k->has_columns = true;
		}
}

static void name_all(KernelText *k)
{
	Names taken = {0};
	const KernelUse *use = k->use;
	for (size_t i = 0; i < use->dims.n; i++)
		PUSH(k->arena, taken, k->m->dims[use->dims.at[i]]);
	k->scalars = ARENA_ARRAY(k->arena, const char *, use->scalars.n);
	for (size_t i = 0; i < use->scalars.n; i++)
		k->scalars[i] =
			name_unique(k->m, &taken,
				    arena_printf(k->arena, "scalar_%u", use->scalars.at[i].scalar));
	k->buffers = ARENA_ARRAY(k->arena, const char *, use->buffers.n);
	for (size_t i = 0; i < use->buffers.n; i++)
		k->buffers[i] = name_unique(
			k->m, &taken, k->m->program->buffers.at[use->buffers.at[i].buffer].name);
	k->iters = ARENA_ARRAY(k->arena, const char *, k->kernel->niters);
	k->unrolled = ARENA_ARRAY(k->arena, bool, k->kernel->niters + 1);
	k->fixed = ARENA_ARRAY(k->arena, bool, k->kernel->niters + 1);
	k->at = ARENA_ARRAY(k->arena, int64_t, k->kernel->niters + 1);
	for (uint32_t i = 0; i < k->kernel->niters; i++)
		k->iters[i] = name_unique(k->m, &taken, k->kernel->iters[i].name);
	k->locals = ARENA_ARRAY(k->arena, const char *, k->kernel->nlocals);
	for (uint32_t i = 0; i < k->kernel->nlocals; i++)
		k->locals[i] = name_unique(k->m, &taken, k->kernel->locals[i].name);
	name_columns(k, &taken);
}

/* "const float *", of the buffer at that place among those that are used */
static const char *pointer_type(const KernelText *k, size_t i)
{
	const Buffer *buffer = &k->m->program->buffers.at[k->use->buffers.at[i].buffer];
	return arena_printf(k->arena, "%s%s *", k->use->buffers.at[i].written ? "" : "const ",
			    c_type(buffer->dtype));
}

static void put_params(KernelText *k)
{
	const KernelUse *use = k->use;
	const char *comma = use->parallel ? ", " : "";
	if (use->parallel)
		fprintf(k->out, "const tsr_call *call");
	for (size_t i = 0; i < use->dims.n; i++, comma = ", ")
		fprintf(k->out, "%sint64_t %s", comma, k->m->dims[use->dims.at[i]]);
	for (size_t i = 0; i < use->scalars.n; i++, comma = ", ")
		fprintf(k->out, "%s%s %s", comma, c_type(use->scalars.at[i].dtype), k->scalars[i]);
	for (size_t i = 0; i < use->buffers.n; i++, comma = ", ")
		fprintf(k->out, "%s%s%s", comma, pointer_type(k, i), k->buffers[i]);
	if (!*comma)
		fprintf(k->out, "void");
}

/* ---- chunks ---- */

ArgTexts c_kernel_args(const KernelText *k)
{
	const KernelUse *use = k->use;
	ArgTexts args = {0};
	for (size_t i = 0; i < use->dims.n; i++)
		PUSH(k->arena, args, ((ArgText){"int64_t ", k->m->dims[use->dims.at[i]]}));
	for (size_t i = 0; i < use->scalars.n; i++) {
		const char *type = arena_printf(k->arena, "%s ", c_type(use->scalars.at[i].dtype));
		PUSH(k->arena, args, ((ArgText){type, k->scalars[i]}));
	}
	for (size_t i = 0; i < use->buffers.n; i++)
		if (!k->m->program->buffers.at[use->buffers.at[i].buffer].shared)
			PUSH(k->arena, args, ((ArgText){pointer_type(k, i), k->buffers[i]}));
	return args;
}

static void put_args_type(KernelText *k, const ArgTexts *args)
{
	fprintf(k->out, "struct %s__a_%s {\n", k->m->prefix, k->kernel->name);
	for (size_t i = 0; i < args->n; i++)
		fprintf(k->out, "\t%s%s;\n", args->at[i].type, args->at[i].name);
	if (k->use->slots)
		fprintf(k->out, "\tuint64_t tsr_busy;\n");
	fprintf(k->out, "};\n\n");
}

static void put_task(KernelText *k, const ArgTexts *args, uint32_t index)
{
	const Stmt *loop = k->use->chunks.at[index];
	const char *prefix = k->m->prefix, *name = k->kernel->name, *chunk = k->iters[loop->iter];
	fprintf(k->out, "static void %s__p_%s_%u(void *tsr_arg, int32_t tsr_chunk)\n{\n", prefix,
		name, index);
	fprintf(k->out, "\t%sstruct %s__a_%s *tsr_args = tsr_arg;\n", loop->nslots ? "" : "const ",
		prefix, name);
	for (size_t i = 0; i < args->n; i++)
		fprintf(k->out, "\t%s%s = tsr_args->%s;\n", args->at[i].type, args->at[i].name,
			args->at[i].name);
	fprintf(k->out, "\tint64_t %s = tsr_chunk;\n", chunk);
	for (size_t i = 0; i < args->n; i++)
		fprintf(k->out, "\t(void)%s;\n", args->at[i].name);
	if (loop->nslots)
		fprintf(k->out, "\tconst int64_t %s = tsr_take_slot(&tsr_args->tsr_busy, %lld);\n",
			k->iters[loop->slot], (long long)loop->nslots);
	c_matrix_begin(k, loop->body);
	c_kernel_block(k, loop->body);
	c_stream_end(k, loop->body);
	c_matrix_end(k);
	if (loop->nslots)
		fprintf(k->out, "\ttsr_give_slot(&tsr_args->tsr_busy, %s);\n",
			k->iters[loop->slot]);
	fprintf(k->out, "}\n\n");
}

/* The functions of the parallel loops, and what passes the kernel's arguments to them. */
static void put_tasks(KernelText *k)
{
	ArgTexts args = c_kernel_args(k);
	put_args_type(k, &args);
	for (uint32_t i = 0; i < k->use->chunks.n; i++)
		put_task(k, &args, i);
}

static void put_packed_args(KernelText *k)
{
	ArgTexts args = c_kernel_args(k);
	fprintf(k->out, "\tstruct %s__a_%s tsr_args;\n", k->m->prefix, k->kernel->name);
	for (size_t i = 0; i < args.n; i++)
		fprintf(k->out, "\ttsr_args.%s = %s;\n", args.at[i].name, args.at[i].name);
	if (k->use->slots)
		fprintf(k->out, "\ttsr_args.tsr_busy = 0;\n");
}

static void note_read(void *of, const Value *value)
{
	if (value->kind == VALUE_LOCAL)
		((bool *)of)[value->local] = true;
}

static void note_reads(void *of, const Stmt *stmt) { stmt_each_value(stmt, note_read, of); }

KernelText c_kernel_text(FILE *out, const Module *m, KernelId id)
{
	KernelText k = {.out = out, .m = m, .kernel = &m->kernels[id].kernel, .arena = m->arena};
	k.use = m->kernels[id].use;
	k.uses.arena = k.names.arena = m->arena;
	k.indent = 1;
	name_all(&k);
	k.read = ARENA_ARRAY(k.arena, bool, k.kernel->nlocals);
	k.intervals = kernel_intervals(k.arena, m->program, k.kernel);
	block_each(k.kernel->body, note_reads, k.read);
	return k;
}

static void put_kernel(FILE *out, const Module *m, KernelId id)
{
	KernelText k = c_kernel_text(out, m, id);
	bool checks = k.use->checks.n > 0;
	const char *place = module_place(m, k.kernel->span);
	if (*place)
		fprintf(out, "/* %s */\n", c_comment(m->arena, place));
	if (k.use->parallel)
		put_tasks(&k);
	fprintf(out, "static %s %s(", checks ? "int" : "void", m->kernels[id].function);
	put_params(&k);
	fprintf(out, ")\n{\n");
	if (k.use->parallel)
		put_packed_args(&k);
	c_matrix_begin(&k, k.kernel->body);
	c_kernel_block(&k, k.kernel->body);
	c_stream_end(&k, k.kernel->body);
	c_matrix_end(&k);
	fprintf(out, "%s}\n\n", checks ? "\treturn TSR_OK;\n" : "");
}

/* Without atomics there are no threads either, and the first slot will do. */
static const char slots_text[] =
	"/* The first number below n that no other task has; a bit of *busy each. */\n"
	"static int64_t tsr_take_slot(uint64_t *busy, int64_t n)\n{\n"
	"#ifdef __GNUC__\n"
	"\tint64_t slot = 0;\n"
	"\twhile (__atomic_fetch_or(busy, (uint64_t)1 << slot, __ATOMIC_ACQUIRE) >> slot & 1)\n"
	"\t\tslot = slot + 1 < n ? slot + 1 : 0;\n"
	"\treturn slot;\n"
	"#else\n\t(void)busy, (void)n;\n\treturn 0;\n#endif\n}\n\n"
	"static void tsr_give_slot(uint64_t *busy, int64_t slot)\n{\n"
	"#ifdef __GNUC__\n"
	"\t__atomic_fetch_and(busy, ~((uint64_t)1 << slot), __ATOMIC_RELEASE);\n"
	"#else\n\t(void)busy, (void)slot;\n#endif\n}\n\n"
	"#ifdef __GNUC__\n#define TSR_THREADS 1\n#else\n#define TSR_THREADS 0\n#endif\n";

static const char chunks_text[] =
	"/* Runs the task for every chunk, on the caller's threads if there are any. */\n"
	"static void tsr_chunks(const tsr_call *call, int64_t n, void (*task)(void *, int32_t), void *arg)\n{\n"
	"\tif (%sn > 1 && call != NULL && call->parallel != NULL)\n"
	"\t\tcall->parallel(call->pool, (int32_t)n, task, arg);\n"
	"\telse\n\t\tfor (int64_t i = 0; i < n; i++)\n\t\t\ttask(arg, (int32_t)i);\n}\n\n";

static const char prefetch_text[] =
	"/* A hint that what is at an address will be read; kept: 3 in the first cache, 2 in the second. */\n"
	"#ifdef __GNUC__\n#define TSR_PREFETCH(address, kept) __builtin_prefetch((const void *)(address), 0, kept)\n"
	"#else\n#define TSR_PREFETCH(address, kept) ((void)(address))\n#endif\n\n";

static const char gcc_text[] =
	"/* Against faults of GCC 12. Of a loop with TSR_SCALAR it makes vectors that read behind an array; it makes\n"
	" * none of a statement of the assembler. Without TSR_LANES it stores aligned vectors of AVX-512 to arrays on\n"
	" * a stack that it does not align. Behind TSR_INDEPENDENT is a loop over more arrays than it looks at. */\n"
	"#ifdef __GNUC__\n"
	"#define TSR_SCALAR __asm__(\"\")\n#define TSR_LANES __attribute__((aligned(64)))\n"
	"#else\n#define TSR_SCALAR ((void)0)\n#define TSR_LANES\n#endif\n"
	"#if defined __GNUC__ && !defined __clang__\n#define TSR_INDEPENDENT _Pragma(\"GCC ivdep\")\n"
	"#else\n#define TSR_INDEPENDENT\n#endif\n\n";

void c_put_kernels(FILE *out, const Module *m)
{
	fputs(gcc_text, out);
	if (module_has_prefetches(m))
		fputs(prefetch_text, out);
	if (module_has_streams(m))
		c_put_stream(out);
	c_put_compaction(out, m);
	if (module_has_slots(m))
		fputs(slots_text, out);
	if (module_has_chunks(m))
		fprintf(out, chunks_text, module_has_slots(m) ? "TSR_THREADS && " : "");
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		if (m->kernels[k].same == k)
			put_kernel(out, m, k);
}
