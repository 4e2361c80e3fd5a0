/* Functions of parameters alone, computed once, when the state is packed.
 *
 *   kernel scale(var param, gain param -> scale temp)     in Program.pack, which stores it in memory that stays
 *   kernel y(x in, w param, scale temp -> y out)          reads it there
 *
 * A kernel goes that reads parameters which no routine assigns to, constants, and what such kernels store, and nothing that
 * a call says: neither dims, nor scalars, nor the step of a loop. What it stores are temporaries that no other kernel stores
 * to. All that kernels do to a temporary goes or stays together, so whoever stays is found first: those that read what a call
 * says, then, again and again, those that store or read what they do. Elements that are many, and take much more memory than
 * what they are made of, are made at each call: that there are few bytes is why weights have few bits. Where there is no
 * parameter, functions of constants that are small are computed while compiling (transform/evaluate.c).
 */
#include "loops/dependence.h"
#include "loops/steps.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/gpu/prepack.h"

/* So many times as many bytes as they are made of are not much more. */
enum { MUCH_MORE = 2 };

typedef struct Prepack {
	Program *program;
	Arena *scratch;
	const GpuTarget *gpu;
	Evaluation *evaluation; /* of all routines */
	const Kernel *kernels; /* of the routine */
	uint32_t n;
	BufferUses *uses; /* by kernel */
	bool *goes;	  /* ... */
	bool *moves; /* by buffer: do kernels that go, and no others, store it? */
} Prepack;

/* ---- what a call says ---- */

static void see_scalar(void *of, const Value *value)
{
	*(bool *)of |= value->kind == VALUE_SCALAR;
}

static void see_stmt(void *of, const Stmt *stmt) { stmt_each_value(stmt, see_scalar, of); }

/* Does the kernel do the same in all calls, as far as what it loads is the same? */
static bool is_of_no_call(const Prepack *p, const Kernel *kernel)
{
	bool scalar = false;
	int64_t n;
	SizeList sizes = kernel_sizes(p->scratch, kernel);
	block_each(kernel->body, see_stmt, &scalar);
	for (size_t i = 0; i < sizes.n; i++)
		if (!size_is_const(p->program->sizes, sizes.at[i], &n))
			return false;
	return !scalar && kernel->loop == 0 && !block_find(kernel->body, stmt_is_check, NULL);
}

/* ---- what it touches ---- */

/* 0: not known. */
static int64_t bytes_of(const Prepack *p, BufferId id)
{
	const Buffer *buffer = &p->program->buffers.at[id];
	int64_t n;
	return size_is_const(p->program->sizes,
			     bytes_aligned(p->program->sizes, buffer->elements, buffer->dtype), &n)
		       ? n
		       : 0;
}

/* May it go, as far as is known? */
static bool may_go(const Prepack *p, const BufferUses *uses)
{
	bool may = true;
	for (size_t i = 0; i < uses->n && may; i++) {
		BufferId id = uses->at[i].buffer;
		may = p->moves[id] || (!uses->at[i].stored &&
				       buffer_stays(p->program, &p->program->buffers.at[id]));
	}
	return may;
}

static bool takes_little(const Prepack *p, const BufferUses *uses)
{
	int64_t from = 0, to = 0;
	for (size_t i = 0; i < uses->n; i++) {
		int64_t bytes = bytes_of(p, uses->at[i].buffer);
		to += uses->at[i].stored ? bytes : 0;
		from += uses->at[i].stored ? 0 : bytes;
	}
	return to <= p->gpu->packed_few || to / MUCH_MORE <= from;
}

/* ---- which go ---- */

static void begin(Prepack *p)
{
	for (BufferId id = 0; id < p->program->buffers.n; id++)
		p->moves[id] = p->program->buffers.at[id].kind == BUFFER_TEMP &&
			       bytes_of(p, id) > 0 && !program_loops_use(p->program, id);
	for (uint32_t k = 0; k < p->n; k++) {
		p->uses[k] = kernel_buffers(p->scratch, &p->kernels[k]);
		p->goes[k] = is_of_no_call(p, &p->kernels[k]) && takes_little(p, &p->uses[k]);
	}
}

/* What they store stays with kernels that stay; is that news of any? */
static bool find_more(const Prepack *p)
{
	bool more = false;
	for (uint32_t k = 0; k < p->n; k++) {
		const BufferUses *uses = &p->uses[k];
		p->goes[k] = p->goes[k] && may_go(p, uses);
		for (size_t i = 0; i < uses->n && !p->goes[k]; i++) {
			BufferId id = uses->at[i].buffer;
			more |= uses->at[i].stored && p->moves[id];
			p->moves[id] = p->moves[id] && !uses->at[i].stored;
		}
	}
	return more;
}

/* A parameter that a kernel which goes reads or, of constants alone, another kernel of the routine; PARAM_NONE: none. */
static uint32_t param_of(const Prepack *p, uint32_t kernel)
{
	for (uint32_t i = 0; i <= p->n; i++) {
		const BufferUses *uses = &p->uses[i == 0 ? kernel : i - 1];
		for (size_t k = 0; k < uses->n; k++) {
			const Buffer *buffer = &p->program->buffers.at[uses->at[k].buffer];
			if (buffer->kind != BUFFER_CONST && buffer_stays(p->program, buffer))
				return buffer->arg;
		}
	}
	return PARAM_NONE;
}

/* ---- which are computed while compiling ---- */

static int64_t stored_bytes(const Prepack *p, uint32_t kernel)
{
	int64_t bytes = 0;
	for (size_t i = 0; i < p->uses[kernel].n; i++)
		bytes += p->uses[kernel].at[i].stored ? bytes_of(p, p->uses[kernel].at[i].buffer)
						      : 0;
	return bytes;
}

/* Of those that go, so many as are small, if all are of constants alone; the others stay. */
static void evaluate_small(Prepack *p)
{
	for (uint32_t k = 0; k < p->n; k++) {
		int64_t work, bytes = stored_bytes(p, k);
		Size size = block_size(p->program, p->kernels[k].body);
		bool known = !size_is_bad(size) && size_is_const(p->program->sizes, size, &work);
		p->goes[k] = p->goes[k] && p->program->options.interpret_pack && known &&
			     bytes <= EVALUATED_BYTES && evaluation_add(p->evaluation, work, bytes);
	}
	while (find_more(p))
		;
}

/* ---- what becomes of them ---- */

static void keep(const Prepack *p, uint32_t kernel, uint32_t param)
{
	const BufferUses *uses = &p->uses[kernel];
	for (size_t i = 0; i < uses->n; i++) {
		Buffer *buffer = &p->program->buffers.at[uses->at[i].buffer];
		if (buffer->shared) {
			buffer->routine = (uint32_t)p->program->routines.n;
		} else if (uses->at[i].stored && buffer->kind == BUFFER_TEMP) {
			buffer->kind = BUFFER_PACKED;
			buffer->arg = param;
		}
	}
}

static uint32_t choose(const Transform *t, Prepack *p)
{
	uint32_t n = 0;
	p->uses = ARENA_ARRAY(t->scratch, BufferUses, p->n + 1);
	p->goes = ARENA_ARRAY(t->scratch, bool, p->n + 1);
	p->moves = ARENA_ARRAY(t->scratch, bool, p->program->buffers.n + 1);
	begin(p);
	while (find_more(p))
		;
	if (p->n > 0 && param_of(p, 0) == PARAM_NONE)
		evaluate_small(p);
	for (uint32_t k = 0; k < p->n; k++) {
		if (p->goes[k])
			keep(p, k, param_of(p, k));
		n += p->goes[k];
	}
	return n;
}

/* Those of the routine that go, behind those of `pack`; how many. */
static uint32_t pack_routine(const Transform *t, ProgramRoutine *routine, Evaluation *evaluation)
{
	Program *program = t->program;
	ProgramRoutine *pack = &program->pack;
	Kernel *kernels = ARENA_ARRAY(t->scratch, Kernel, routine->nkernels + 1);
	for (uint32_t i = 0; i < routine->nkernels; i++)
		kernels[i] = program->kernels.at[routine->kernels[i]];
	Prepack p = {.program = program,
		     .scratch = t->scratch,
		     .gpu = t->options->gpu,
		     .evaluation = evaluation,
		     .kernels = kernels,
		     .n = routine->nkernels};
	uint32_t n = choose(t, &p), left = 0;
	KernelId *packed = ARENA_ARRAY(program->arena, KernelId, pack->nkernels + n + 1);
	KernelId *stay = ARENA_ARRAY(program->arena, KernelId, routine->nkernels + 1);
	for (uint32_t i = 0; i < pack->nkernels; i++)
		packed[i] = pack->kernels[i];
	for (uint32_t i = 0; i < p.n; i++) {
		if (p.goes[i])
			packed[pack->nkernels++] = routine->kernels[i];
		else
			stay[left++] = routine->kernels[i];
	}
	pack->kernels = packed;
	pack->name = sym_cstr(program->symbols, "pack");
	pack->workspace = size_const(program->sizes, 0);
	routine->kernels = stay;
	routine->nkernels = left;
	return n;
}

bool prepack_routines(const Transform *t)
{
	uint32_t n = 0;
	Evaluation evaluation = {0};
	for (size_t r = 0; t->options->gpu && t->options->prepack && r < t->program->routines.n; r++)
		n += pack_routine(t, &t->program->routines.at[r], &evaluation);
	return n > 0;
}

void transform_prepack(Transform *t)
{
	t->changed = prepack_routines(t);
	program_evaluate(t->program);
}
