/* Which loops move elements to the ends of lists. */
#include "codegen/compaction.h"

#include "loops/build.h"
#include "loops/linear.h"
#include "loops/walk.h"

typedef struct Match {
	Program *program;
	const Kernel *kernel;
	Compaction *made;
} Match;

static bool is_scalar(const Match *m, const Value *value, Dtype dtype)
{
	return value->kind == VALUE_LOCAL && value->dtype == dtype &&
	       m->kernel->locals[value->local].rank == 0;
}

static bool is_number(const Program *program, const Ix *ix, int64_t *n)
{
	return ix->kind == IX_SIZE && size_is_const(program->sizes, ix->size, n);
}

/* 1 or -1; 0: something else. */
static int64_t step_of(const Match *m, const Value *value)
{
	int64_t n = 0;
	if (value->kind == VALUE_CONST)
		n = value->constant.i;
	else if (value->kind != VALUE_INDEX || !is_number(m->program, value->ix, &n))
		return 0;
	return n == 1 || n == -1 ? n : 0;
}

/* What an index reads that may change in the loop. */
typedef struct Changes {
	Block body;
	bool found;
} Changes;

static void see_change(void *of, const Value *value)
{
	Changes *c = of;
	c->found |= value->kind == VALUE_LOAD ||
		    (value->kind == VALUE_LOCAL && block_sets_local(c->body, value->local));
}

/* local item = FROM[...] */
static bool is_item(Match *m, const Stmt *loop)
{
	const Stmt *stmt = loop->body.stmts[0];
	const Value *load = stmt->kind == LOOP_LOCAL ? stmt->value : NULL;
	Changes changes = {loop->body, false};
	if (!load || load->kind != VALUE_LOAD ||
	    (load->dtype != DTYPE_F32 && load->dtype != DTYPE_F64 && load->dtype != DTYPE_I32 &&
	     load->dtype != DTYPE_I64) ||
	    m->program->buffers.at[load->buffer].dtype != load->dtype ||
	    m->kernel->locals[stmt->local].rank > 0 ||
	    !ix_moves_by(m->program, load->ix, loop->iter, 1))
		return false;
	ix_each_value(load->ix, see_change, &changes);
	if (changes.found)
		return false;
	m->made->item = stmt->local;
	m->made->load = load;
	return true;
}

/* A comparison of the item with what does not change. */
static bool compares_item(const Match *m, const Value *value, CompactComparison *made)
{
	Dtype dtype = m->made->load->dtype;
	*made = (CompactComparison){.value = value};
	if (value->kind != VALUE_OP || value->dtype != dtype ||
	    (value->op != OP_LT && value->op != OP_LE && value->op != OP_GT && value->op != OP_GE &&
	     value->op != OP_EQ))
		return false;
	uint32_t items = 0, others = 0;
	for (int i = 0; i < 2; i++) {
		const Value *arg = value->args[i];
		bool scalar = is_scalar(m, arg, dtype),
		     item = scalar && arg->local == m->made->item;
		items += item;
		others += !item && (scalar || arg->kind == VALUE_CONST);
		made->item_first |= item && i == 0;
		made->bound = item ? made->bound : arg;
	}
	return items == 1 && others == 1;
}

/* The number of the comparison, of those that lists share. */
static uint32_t add_comparison(Compaction *made, CompactComparison comparison)
{
	uint32_t i = 0;
	while (i < made->ncompared && !value_same(made->compared[i].value, comparison.value))
		i++;
	made->compared[i] = comparison;
	made->ncompared += i == made->ncompared;
	return i;
}

static bool add_cond(const Match *m, const Cond *cond, CompactList *list)
{
	int64_t n = -1;
	CompactComparison comparison;
	const Value *value = cond->a->kind == IX_VALUE ? cond->a->value : NULL;
	while (value && value->kind == VALUE_CAST)
		value = value->args[0];
	if (cond->kind != COND_EQ || !value || !compares_item(m, value, &comparison) ||
	    !is_number(m->program, cond->b, &n) || (n != 0 && n != 1))
		return false;
	list->is[list->nconds] = add_comparison(m->made, comparison);
	list->holds[list->nconds++] = n == 1;
	return true;
}

/* TO[min(max(int(n), 0), last)] = item */
static bool is_store(const Match *m, const Stmt *stmt, LocalId n)
{
	const Ix *first = stmt->ix->kind == IX_MIN ? stmt->ix->a : NULL;
	int64_t zero;
	return stmt->kind == LOOP_STORE && stmt->acc == OP_NONE && !stmt->async && !stmt->stream &&
	       is_scalar(m, stmt->value, m->made->load->dtype) &&
	       stmt->value->local == m->made->item &&
	       m->program->buffers.at[stmt->buffer].dtype == stmt->value->dtype && first &&
	       first->kind == IX_MAX && first->a->kind == IX_VALUE &&
	       is_scalar(m, first->a->value, DTYPE_I64) && first->a->value->local == n &&
	       is_number(m->program, first->b, &zero) && zero == 0 && stmt->ix->b->kind == IX_SIZE;
}

static bool is_new(const Compaction *made, LocalId n)
{
	for (uint32_t i = 0; i < made->nlists; i++)
		if (made->lists[i].n == n)
			return false;
	return true;
}

/* n += 1 behind the store, or n += -1 in front of it. */
static bool is_step(const Match *m, const Stmt *stmt, const Stmt *list, bool *down)
{
	if (stmt->kind != LOOP_SET || stmt->acc != OP_ADD || stmt->nixs > 0 ||
	    m->kernel->locals[stmt->local].dtype != DTYPE_I64)
		return false;
	int64_t step = step_of(m, stmt->value);
	*down = step == -1;
	return step != 0 && stmt == list->body.stmts[*down ? 0 : 1];
}

/* Lists are of one buffer. */
static bool add_store(Match *m, const Stmt *store)
{
	Compaction *made = m->made;
	bool same = made->nlists == 0 ||
		    (made->to == store->buffer && ix_same(made->last, store->ix->b));
	made->to = store->buffer;
	made->last = store->ix->b;
	return same;
}

static bool add_list(Match *m, const Stmt *stmt)
{
	Compaction *made = m->made;
	if (stmt->kind != LOOP_IF || made->nlists == COMPACT_LISTS ||
	    stmt->nconds > COMPACT_CONDS || stmt->body.n != 2)
		return false;
	CompactList *list = &made->lists[made->nlists];
	const Stmt *const *both = stmt->body.stmts;
	bool first = both[0]->kind == LOOP_SET;
	const Stmt *step = both[first ? 0 : 1], *store = both[first ? 1 : 0];
	*list = (CompactList){.n = step->local};
	if (!is_step(m, step, stmt, &list->down) || !is_new(made, step->local) ||
	    !is_store(m, store, step->local) || !add_store(m, store))
		return false;
	for (uint32_t i = 0; i < stmt->nconds; i++)
		if (!add_cond(m, &stmt->conds[i], list))
			return false;
	made->has_down |= list->down;
	made->nlists++;
	return true;
}

bool loop_compacts(Program *program, const Kernel *kernel, const Stmt *loop, Compaction *made)
{
	Match m = {program, kernel, made};
	*made = (Compaction){0};
	bool good = loop->kind == LOOP_FOR && loop->loop == LOOP_SERIAL && loop->step == 1 &&
		    loop->body.n > 1 && is_item(&m, loop);
	for (uint32_t i = 1; good && i < loop->body.n; i++)
		good = add_list(&m, loop->body.stmts[i]);
	return good;
}
