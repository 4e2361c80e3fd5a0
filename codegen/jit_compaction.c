/* Loops that move elements to the ends of lists, by whole vectors: each has a function, so that what it needs is in registers.
 *
 *   int64_t PREFIX__p_NAME_compact0(char *from, int64_t n, int64_t at, char *to, int64_t last, int64_t *lists, a, b, ...)
 *     t = 0
 *     free = even if all n items went to each list, they would not meet
 *     while (t + LANES <= n)
 *       item = from[t..]; a mask for each list: its comparisons of all lanes
 *       after[list] = lists[list] + the bits of its mask, or - these of a list that grows downwards
 *       if (!free && (a list would reach into the next one, the last one beyond `last`, or any into from[t..])) break
 *       of each list: the lanes of its mask to to[lists[list]..], or the other way round to to[after[list]..]
 *       lists[list] = after[list]
 *       t += LANES
 *     return t
 *
 * `at` is where `from` is in `to`, where both are of one buffer. Where nothing overlaps, the order of the lists' stores does not
 * matter, so that memory is as the loop leaves it. Lists that stand in another order in memory are left to the loop itself.
 */
#include "codegen/jit_compaction.h"

#include "codegen/jit_simd.h"
#include "loops/walk.h"

typedef struct Compact {
	JitFunction f;
	Compaction is;
	SimdType type;
	Rvalue *item[2],
		*masks[2][COMPACT_COMPARISONS]; /* as they stand, and the other way round */
	Rvalue *bounds[COMPACT_COMPARISONS], *reversed, *free;
	Lvalue *lists[COMPACT_LISTS];
	JitLoop loop;
} Compact;

static int64_t lanes_of(const Compact *c) { return INT64_C(1) << c->type.log; }

static Rvalue *number(const Compact *c, int64_t n) { return jit_long(c->f.jit, c->f.jit->i64, n); }

static Rvalue *plus(Compact *c, Rvalue *a, Rvalue *b)
{
	return jit_keep(&c->f, jit_binary(&c->f, GCC_JIT_BINARY_OP_PLUS, a, b));
}

static Rvalue *read(Lvalue *variable) { return gcc_jit_lvalue_as_rvalue(variable); }

/* ---- one vector ---- */

static Lvalue *element(Compact *c, size_t array, Rvalue *at)
{
	Jit *jit = c->f.jit;
	Rvalue *bytes = jit_binary(&c->f, GCC_JIT_BINARY_OP_MULT, at,
				   number(c, (int64_t)dtype_bytes(c->type.dtype)));
	Type *pointer = gcc_jit_type_get_pointer(jit->types[c->type.dtype]);
	Rvalue *to = jit_offset(&c->f, jit_param(&c->f, array), bytes, pointer);
	return gcc_jit_rvalue_dereference(jit_keep(&c->f, to), NULL);
}

/* What is `ahead` bytes behind; 0: nothing. */
static void prefetch(Compact *c, size_t array, Rvalue *at, int64_t ahead)
{
	if (ahead)
		simd_prefetch(
			&c->f,
			element(c, array,
				plus(c, at,
				     number(c, ahead / (int64_t)dtype_bytes(c->type.dtype)))));
}

static void compare_item(Compact *c)
{
	static const enum gcc_jit_comparison ops[OP_COUNT] = {[OP_LT] = GCC_JIT_COMPARISON_LT,
							      [OP_LE] = GCC_JIT_COMPARISON_LE,
							      [OP_GT] = GCC_JIT_COMPARISON_GT,
							      [OP_GE] = GCC_JIT_COMPARISON_GE,
							      [OP_EQ] = GCC_JIT_COMPARISON_EQ};
	for (int down = 0; down <= c->is.has_down; down++)
		for (uint32_t i = 0; i < c->is.ncompared; i++) {
			bool first = c->is.compared[i].item_first;
			Rvalue *item = c->item[down], *bound = c->bounds[i];
			c->masks[down][i] =
				simd_compare(&c->f, c->type, ops[c->is.compared[i].value->op],
					     first ? item : bound, first ? bound : item);
		}
}

static Rvalue *list_mask(Compact *c, const CompactList *list)
{
	Jit *jit = c->f.jit;
	Rvalue *mask = jit_long(jit, jit->u32, (INT64_C(1) << lanes_of(c)) - 1);
	for (uint32_t i = 0; i < list->nconds; i++) {
		Rvalue *one = c->masks[list->down][list->is[i]];
		mask = i == 0 && list->holds[i] ? one
						: simd_mask_and(&c->f, one, list->holds[i], mask);
	}
	return mask;
}

static Rvalue *count_of(Compact *c, Rvalue *mask)
{
	Jit *jit = c->f.jit;
	gcc_jit_function *count = jit_builtin(jit, "popcount");
	Rvalue *param = gcc_jit_param_as_rvalue(gcc_jit_function_get_param(count, 0));
	mask = jit_cast(jit, mask, gcc_jit_rvalue_get_type(param));
	return jit_cast(jit, jit_call(&c->f, count, &mask, 1), jit->i64);
}

/* Where the list's next elements go, if it is at `list` and behind the vector at `after`. */
static Rvalue *begin_of(const CompactList *list, Rvalue *at, Rvalue *after)
{
	return list->down ? after : at;
}

static Rvalue *end_of(const CompactList *list, Rvalue *at, Rvalue *after)
{
	return list->down ? at : after;
}

static Rvalue * and (Compact * c, Rvalue *a, Rvalue *b)
{
	return jit_keep(&c->f, jit_binary(&c->f, GCC_JIT_BINARY_OP_BITWISE_AND, a, b));
}

static Rvalue *at_most(Compact *c, Rvalue *a, Rvalue *b)
{
	Rvalue *is = jit_compare(&c->f, GCC_JIT_COMPARISON_LE, a, b);
	return jit_keep(&c->f, jit_cast(c->f.jit, is, c->f.jit->u32));
}

/* 1 where `n` items from `t` on are behind the first `before` lists and in front of the others. */
static Rvalue *items_between(Compact *c, uint32_t before, Rvalue *const *begins,
			     Rvalue *const *ends, Rvalue *t, Rvalue *n)
{
	Rvalue *at = plus(c, jit_param(&c->f, COMPACT_AT), t);
	Rvalue *is = jit_long(c->f.jit, c->f.jit->u32, 1);
	if (before > 0)
		is = and(c, is, at_most(c, ends[before - 1], at));
	if (before < c->is.nlists)
		is = and(c, is, at_most(c, plus(c, at, n), begins[before]));
	return is;
}

/* 1 where no list reaches into another one, or into `n` items from `t` on; the loop stores at 0 what would be before. */
static Rvalue *is_disjoint(Compact *c, Rvalue *const *after, Rvalue *t, Rvalue *n)
{
	Rvalue *begins[COMPACT_LISTS] = {0}, *ends[COMPACT_LISTS] = {0};
	uint32_t lists = c->is.nlists;
	for (uint32_t i = 0; i < lists; i++) {
		begins[i] = begin_of(&c->is.lists[i], read(c->lists[i]), after[i]);
		ends[i] = end_of(&c->is.lists[i], read(c->lists[i]), after[i]);
	}
	Rvalue *is = at_most(c, number(c, 0), begins[0]);
	for (uint32_t i = 0; i + 1 < lists; i++)
		is = and(c, is, at_most(c, ends[i], begins[i + 1]));
	is = and(c, is, at_most(c, ends[lists - 1], jit_param(&c->f, COMPACT_LAST)));
	if (c->is.load->buffer != c->is.to)
		return is;
	Rvalue *between = items_between(c, 0, begins, ends, t, n);
	for (uint32_t i = 1; i <= lists; i++)
		between = jit_binary(&c->f, GCC_JIT_BINARY_OP_BITWISE_OR, between,
				     items_between(c, i, begins, ends, t, n));
	return and(c, is, jit_keep(&c->f, between));
}

static Rvalue *moved(Compact *c, uint32_t list, Rvalue *by)
{
	enum gcc_jit_binary_op op =
		c->is.lists[list].down ? GCC_JIT_BINARY_OP_MINUS : GCC_JIT_BINARY_OP_PLUS;
	return jit_keep(&c->f, jit_binary(&c->f, op, read(c->lists[list]), by));
}

/* 1 where all items have room, whichever list each of them goes to. */
static Rvalue *all_disjoint(Compact *c)
{
	Rvalue *after[COMPACT_LISTS], *n = jit_param(&c->f, COMPACT_ITEMS);
	for (uint32_t i = 0; i < c->is.nlists; i++)
		after[i] = moved(c, i, n);
	return is_disjoint(c, after, number(c, 0), n);
}

/* Leaves the loop where lists meet, which may be only where `free` is not 1. */
static void leave_if_met(Compact *c, Rvalue *const *after)
{
	JitFunction *f = &c->f;
	JitBlock *looks = jit_if(f, jit_compare(f, GCC_JIT_COMPARISON_NE, c->free,
						jit_long(f->jit, f->jit->u32, 0)));
	JitBlock *stores = f->block;
	f->block = looks;
	Rvalue *good = is_disjoint(c, after, read(c->loop.i), number(c, lanes_of(c)));
	good = jit_compare(f, GCC_JIT_COMPARISON_NE, good, jit_long(f->jit, f->jit->u32, 0));
	JitBlock *stop = jit_if(f, good);
	gcc_jit_block_end_with_jump(f->block, NULL, stores);
	gcc_jit_block_end_with_jump(stop, NULL, c->loop.after);
	f->block = stores;
}

static void store_list(Compact *c, uint32_t i, Rvalue *mask, Rvalue *after)
{
	const Target *target = c->f.jit->target;
	bool down = c->is.lists[i].down;
	Rvalue *at = read(c->lists[i]);
	prefetch(c, COMPACT_TO, at, down ? -target->compact_store : target->compact_store);
	simd_store_compact(&c->f, c->type, mask, element(c, COMPACT_TO, down ? after : at),
			   c->item[down]);
}

static void vector(Compact *c)
{
	Rvalue *masks[COMPACT_LISTS], *after[COMPACT_LISTS];
	prefetch(c, COMPACT_FROM, read(c->loop.i), c->f.jit->target->compact_read);
	c->item[0] = simd_load(&c->f, c->type, element(c, COMPACT_FROM, read(c->loop.i)));
	if (c->is.has_down)
		c->item[1] = simd_permuted(&c->f, c->type, c->reversed, c->item[0]);
	compare_item(c);
	for (uint32_t i = 0; i < c->is.nlists; i++) {
		masks[i] = list_mask(c, &c->is.lists[i]);
		after[i] = moved(c, i, count_of(c, masks[i]));
	}
	leave_if_met(c, after);
	for (uint32_t i = 0; i < c->is.nlists; i++) {
		store_list(c, i, masks[i], after[i]);
		jit_set(&c->f, c->lists[i], after[i]);
	}
}

/* ---- the function ---- */

static void move_lists(Compact *c, bool back)
{
	JitFunction *f = &c->f;
	for (uint32_t i = 0; i < c->is.nlists; i++) {
		Lvalue *at = gcc_jit_context_new_array_access(
			f->jit->ctxt, NULL, jit_param(f, COMPACT_ENDS), number(c, i));
		if (back) {
			gcc_jit_block_add_assignment(f->block, NULL, at, read(c->lists[i]));
			continue;
		}
		c->lists[i] = jit_local(f, f->jit->i64, "list");
		jit_set(f, c->lists[i], read(at));
	}
}

/* LANES - 1, ..., 1, 0 */
static Rvalue *reversed_lanes(Compact *c)
{
	Jit *jit = c->f.jit;
	Dtype dtype = c->type.log == 4 ? DTYPE_I32 : DTYPE_I64;
	Rvalue **lanes = ARENA_ARRAY(jit->arena, Rvalue *, (size_t)lanes_of(c));
	for (int64_t i = 0; i < lanes_of(c); i++)
		lanes[i] = jit_long(jit, jit->types[dtype], lanes_of(c) - 1 - i);
	Type *type = jit_vector_type(jit, dtype, c->type.log);
	return jit_keep(&c->f, gcc_jit_context_new_rvalue_from_vector(jit->ctxt, NULL, type,
								      (size_t)lanes_of(c), lanes));
}

static gcc_jit_function *new_function(Compact *c, Jit *jit, const char *name)
{
	JitParam params[COMPACT_BOUNDS + COMPACT_COMPARISONS] = {
		[COMPACT_FROM] = {jit->pointer, "from"},
		[COMPACT_ITEMS] = {jit->i64, "n"},
		[COMPACT_AT] = {jit->i64, "at"},
		[COMPACT_TO] = {jit->pointer, "to"},
		[COMPACT_LAST] = {jit->i64, "last"},
		[COMPACT_ENDS] = {gcc_jit_type_get_pointer(jit->i64), "lists"}};
	for (uint32_t i = 0; i < c->is.ncompared; i++)
		params[COMPACT_BOUNDS + i] = (JitParam){jit->types[c->type.dtype],
							arena_printf(jit->arena, "bound%u", i)};
	c->f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->i64, name, params,
			    COMPACT_BOUNDS + c->is.ncompared);
	JitFunction *f = &c->f;
	for (uint32_t i = 0; i < c->is.ncompared; i++)
		c->bounds[i] =
			jit_keep(f, simd_spread(f, c->type, jit_param(f, COMPACT_BOUNDS + i)));
	if (c->is.has_down)
		c->reversed = reversed_lanes(c);
	move_lists(c, false);
	c->free = all_disjoint(c);
	Lvalue *t = jit_local(f, jit->i64, "t");
	Rvalue *end = jit_binary(f, GCC_JIT_BINARY_OP_MINUS, jit_param(f, COMPACT_ITEMS),
				 number(c, lanes_of(c) - 1));
	c->loop = jit_loop(f, t, number(c, 0), end, lanes_of(c));
	vector(c);
	jit_end_loop(f, &c->loop);
	move_lists(c, true);
	jit_return(f, read(t));
	return f->function;
}

bool jit_compaction(Jit *jit, const Program *program, const Kernel *kernel, const Stmt *loop,
		    JitCompaction *made)
{
	Compact c = {0};
	if (jit->simd != CPU_AVX512 || jit->vector_bytes < 64 ||
	    !loop_compacts((Program *)program, kernel, loop, &c.is))
		return false;
	bool wide = dtype_bytes(c.is.load->dtype) == dtype_bytes(DTYPE_F64);
	c.type = (SimdType){c.is.load->dtype, wide ? 3 : 4};
	const char *name = arena_printf(jit->arena, "%s__p_%s_compact%u", jit->module->prefix,
					kernel->name, jit->ncompactions++);
	*made = (JitCompaction){.is = c.is, .function = new_function(&c, jit, name)};
	/* GCC does not put a function inside another one that has a name outside */
	gcc_jit_context_add_top_level_asm(jit->ctxt, NULL,
					  arena_printf(jit->arena, ".hidden %s", name));
	return true;
}
