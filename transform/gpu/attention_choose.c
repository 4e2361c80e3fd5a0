/* Whether attention is one kernel, and by how many rows and keys at a time: the first row of the GPU's that fits into
 * the shared memory of a block.
 *
 * The maximum of a row grows while keys come, and what was summed is multiplied then: sums are in another order than
 * those of a softmax, so --fp=strict has none. `row_block row 64; block key 64` asks for it.
 */
#include "transform/gpu/decode.h"

typedef struct Choose {
	const Transform *t;
	Joins joins;
	Kernel *kernel;
	const Attention *found;
	ScheduleClause *rows, *keys; /* that are asked for */
} Choose;

static Sym name_of(const Choose *c, IterVar iter) { return c->found->kernel.iters[iter].name; }

static bool is_asked(const Choose *c, const GpuAttention *tile)
{
	return asks_name(c->rows, 0, name_of(c, c->found->row)) &&
	       asks_numbers(c->rows, 0, &tile->rows, 1) &&
	       asks_name(c->keys, 0, name_of(c, c->found->key)) &&
	       asks_numbers(c->keys, 0, &tile->keys, 1);
}

/* Of depth and columns that are known and not more than threads have registers for; a few rows and keys. */
static bool fits(const Choose *c, const GpuAttention *tile)
{
	const Product *scores = &c->found->scores, *result = &c->found->result;
	const Sizes *sizes = c->t->program->sizes;
	const GpuTarget *gpu = c->t->options->gpu;
	int64_t depth, columns;
	return size_is_const(sizes, scores->sum.extent, &depth) &&
	       size_is_const(sizes, result->columns.extent, &columns) && depth > 0 && columns > 0 &&
	       depth <= tile->depth && columns <= tile->depth &&
	       attention_shared(c->t->program, c->found, tile) <= gpu->shared_most;
}

static bool pays(const Choose *c)
{
	return is_long(c->t, c->found->scores.rows.extent) &&
	       is_long(c->t, c->found->scores.columns.extent);
}

/* Are other loops asked for, of the kernels that would go? */
static bool others_are_asked(const Choose *c)
{
	for (int i = 0; i < 2; i++)
		if (asks_on(kernel_asked(c->t, &c->joins.made[c->found->numbers[i]], CHOICE_TILE)))
			return true;
	return asks_on(kernel_asked(c->t, c->kernel, CHOICE_TILE));
}

/* The rows of the GPU for what computes the products. */
typedef struct AttentionTiles {
	const GpuAttention *at;
	int64_t n;
} AttentionTiles;

static AttentionTiles tiles_of(const Choose *c)
{
	const GpuTarget *gpu = c->t->options->gpu;
	if (c->found->scores.tensor.used)
		return (AttentionTiles){gpu->attention_16, gpu->nattention_16};
	return (AttentionTiles){gpu->attention, gpu->nattention};
}

static const GpuAttention *tile_of(const Choose *c)
{
	AttentionTiles tiles = tiles_of(c);
	for (int64_t i = 0; i < tiles.n; i++)
		if (is_asked(c, &tiles.at[i]) && fits(c, &tiles.at[i]) &&
		    attention_copies(c->t->program, c->found, &tiles.at[i]))
			return &tiles.at[i];
	return NULL;
}

/* Tensor cores compute both products where their factors are of one type of 16 bits, weights too, or none. */
static void set_tensor(Attention *found, TensorUse scores, TensorUse result)
{
	bool used = scores.used && result.used && scores.op == result.op &&
		    scores.op != MATRIX_TF32 && scores.promote == 0;
	found->scores.tensor = found->result.tensor = used ? scores : (TensorUse){0};
}

/* Threads multiply weights as they are: none that the program rounds before. */
static bool is_rounded(const Choose *c)
{
	const Buffer *weights = &c->t->program->buffers.at[c->found->buffers[1]];
	return weights->dtype != DTYPE_F32 && !c->found->scores.tensor.used;
}

/* Why there is none of those that are asked for. */
static const char *no_tile(const Choose *c)
{
	AttentionTiles tiles = tiles_of(c);
	Arena *arena = c->t->program->arena;
	const char *text = "a GPU has";
	for (int64_t i = 0; i < tiles.n; i++) {
		const GpuAttention *tile = &tiles.at[i];
		if (is_asked(c, tile) && fits(c, tile))
			return "so many elements of a query or a key do not lie side by side";
		text = arena_printf(arena, "%s%s %lld rows by %lld keys of up to %lld elements", text,
				    i ? ", or" : "", (long long)tile->rows, (long long)tile->keys,
				    (long long)tile->depth);
	}
	return arena_printf(arena, "%s, as a number", text);
}

/* Of rows that are asked for, and keys beside them. */
static void say_refused(const Choose *c, const char *why)
{
	if (!asks_on(c->rows) || c->rows->refused)
		return;
	c->rows->refused = why;
	if (asks_on(c->keys))
		c->keys->refused = why;
}

/* NULL: it is left as three kernels. */
static const GpuAttention *choose(const Choose *c)
{
	if (asks_off(c->rows) || (!asks_on(c->rows) && (!pays(c) || others_are_asked(c))))
		return NULL;
	const GpuAttention *tile = tile_of(c);
	if (!tile)
		say_refused(c, no_tile(c));
	return tile;
}

static void note(const Choose *c, const GpuAttention *tile)
{
	Program *program = c->t->program;
	Arena *arena = program->arena;
	ScheduleEntry entry = {.name = c->kernel->name, .span = c->kernel->span};
	const Product *scores = &c->found->scores, *result = &c->found->result;
	const char *const operands[] = {scores->row_operand.name, scores->column_operand.name,
					result->column_operand.name};
	PUSH(arena, entry.loops, name_of(c, c->found->row));
	PUSH(arena, entry.loops, name_of(c, c->found->key));
	ScheduleClause *made = entry_make(arena, &entry, CHOICE_ROW_BLOCK, false);
	clause_add(arena, made, name_of(c, c->found->row), &tile->rows, 1);
	made = entry_make(arena, &entry, CHOICE_BLOCK, false);
	clause_add(arena, made, name_of(c, c->found->key), &tile->keys, 1);
	made = entry_make(arena, &entry, CHOICE_STAGE, false);
	for (int i = 0; i < 3; i++) {
		PUSH(arena, entry.operands, operands[i]);
		clause_add(arena, made, operands[i], NULL, 0);
	}
	PUSH(arena, program->made->entries, entry);
}

static void remove_kernels(Choose *c, const Attention *found)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->joins.n; i++)
		if (i != found->numbers[0] && i != found->numbers[1])
			c->joins.made[n++] = c->joins.made[i];
	c->joins.n = n;
	for (int i = 0; i < 2; i++)
		buffer_forget(c->t->program, found->buffers[i]);
}

/* Why a kernel is no attention; NULL: it is, and what computes its products is known. */
static const char *why_none(const Choose *c, Attention *found, uint32_t number)
{
	const Transform *t = c->t;
	bool as_asked = t->options->f32_matmul == F32_IEEE;
	if (!t->options->tensor_cores)
		return "--fp=strict keeps the order of its sums";
	bool is = attention_find(&c->joins, number, found);
	if (is) {
		set_tensor(found, product_tensor(t, &found->scores),
			   product_tensor(t, &found->result));
		as_asked |= found->scores.tensor.used;
	}
	if (!as_asked)
		return "its products of f32 are not by tensor cores, as --f32-matmul asks";
	if (!is)
		return "it is no product of what a softmax makes of another product's rows";
	return is_rounded(c) ? "its weights are rounded, and tensor cores do not multiply them"
			     : NULL;
}

static void make(Choose *c, Attention *found, const GpuAttention *tile)
{
	TensorUse tensor = found->scores.tensor;
	uint32_t routine = c->t->program->buffers.at[found->buffers[0]].routine;
	attention_carry(&c->joins, found);
	found->scores.tensor = tensor;
	note(c, tile);
	bind_attention(c->t, c->kernel, &(AttentionWanted){found, tile, routine});
	remove_kernels(c, found);
}

static uint32_t attention_routine(const Transform *t, Kernel *kernels, uint32_t n)
{
	Choose c = {.t = t,
		    .joins = {.t = t, .program = t->program, .scratch = t->scratch, .made = kernels, .n = n, .uses = kernel_uses_new(t->scratch)}};
	DecodeFacts facts = decode_facts(&c.joins);
	for (uint32_t i = 0; i < c.joins.n; i++) {
		Attention found = {0};
		const DecodeChosen *slices = decode_choose(&c.joins, &facts, i);
		if (slices) {
			i = decode_make(&c.joins, slices, i);
			facts = decode_facts(&c.joins);
			continue;
		}
		c.kernel = &kernels[i];
		c.found = &found;
		c.rows = kernel_asked(c.t, c.kernel, CHOICE_ROW_BLOCK);
		c.keys = kernel_asked(c.t, c.kernel, CHOICE_BLOCK);
		const char *why = why_none(&c, &found, i);
		const GpuAttention *tile = why ? NULL : choose(&c);
		if (why)
			say_refused(&c, why);
		if (!tile)
			continue;
		make(&c, &found, tile);
		i -= 2;
		facts = decode_facts(&c.joins);
	}
	return c.joins.n;
}

void transform_attention(Transform *t)
{
	t->changed = t->options->gpu && routines_change(t, attention_routine);
}
