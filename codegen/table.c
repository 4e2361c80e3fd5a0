/* Builds the table. Each size, list and tensor array is an object of its own; equal sizes are one
 * object, and so are equal shapes: every address in the table is a relocation of the shared
 * object. */
#include "codegen/table.h"

#include <string.h>

#include "base/size_program.h"
#include "codegen/cpu.h"
#include "target/gpu.h"
#include "runtime/tsr.h"

typedef struct Builder {
	const Module *module;
	const Program *program;
	Arena *arena;
	Table *table;
	VEC(Size) sizes; /* those that have an object: PREFIX__size_N */
	Size total;	      /* the last running total, whose program `running` holds */
	TableObject *running; /* NULL: none yet */
	VEC(TableObject *) shapes; /* lists of sizes and of labels, no two equal */
} Builder;

static void put(Builder *b, TableObject *to, CellKind kind, int64_t number)
{
	PUSH(b->arena, to->cells, ((Cell){kind, number, NULL}));
}

static void put_name(Builder *b, TableObject *to, CellKind kind, const char *text)
{
	to->pointers = true;
	PUSH(b->arena, to->cells, ((Cell){text ? kind : CELL_NULL, 0, text}));
}

static void put_text(Builder *b, TableObject *to, const char *text)
{
	put_name(b, to, CELL_TEXT, text);
}

static void put_symbol(Builder *b, TableObject *to, const char *name)
{
	put_name(b, to, CELL_SYMBOL, name);
}

static void put_object(Builder *b, TableObject *to, const TableObject *object)
{
	put_name(b, to, CELL_OBJECT, object ? object->name : NULL);
}

static TableObject *object_new(Builder *b, const char *type, const char *name)
{
	TableObject *object = ARENA_NEW(b->arena, TableObject);
	object->type = type;
	object->name = name;
	return object;
}

/* An object without cells has no address: NULL stands for it. */
static TableObject *finish(Builder *b, TableObject *object)
{
	if (!object->cells.n)
		return NULL;
	PUSH(b->arena, b->table->objects, object);
	return object;
}

static const char *internal(Builder *b, const char *what, const char *of)
{
	return arena_printf(b->arena, "%s__%s_%s", b->module->prefix, what, of);
}

/* The postfix code; DIM counts as in the module's dims, which are the program's. */
static size_t put_program(Builder *b, TableObject *to, Size size)
{
	SizeOp *ops = NULL;
	size_t n = size_program(b->arena, b->program->sizes, size, &ops);
	for (size_t i = 0; i < n; i++) {
		put(b, to, CELL_I64, (int64_t)ops[i].code);
		put(b, to, CELL_I64, ops[i].arg);
	}
	return n;
}

static const char *size_name(Builder *b, size_t number)
{
	return arena_printf(b->arena, "%s__size_%zu", b->module->prefix, number);
}

/* The program of a running total begins with that of the one before it: one object holds all. */
static const char *total_object(Builder *b, Size total, size_t *n)
{
	Size before, added;
	size_is_total(b->program->sizes, total, &before, &added);
	if (!b->running || (!size_same(b->total, before) && !size_same(b->total, total))) {
		b->running = object_new(b, "int64_t", size_name(b, b->sizes.n));
		PUSH(b->arena, b->sizes, SIZE_BAD); /* the number is taken */
		put_program(b, b->running, before);
		b->total = before;
		finish(b, b->running);
	}
	if (!size_same(b->total, total)) {
		put_program(b, b->running, added);
		put(b, b->running, CELL_I64, SIZE_ADD);
		put(b, b->running, CELL_I64, 0);
		b->total = total;
	}
	*n = b->running->cells.n / 2;
	return b->running->name;
}

/* Its name, and how many operations it has. */
static const char *size_object(Builder *b, Size size, size_t *n)
{
	SizeOp *ops = NULL;
	Size before, added;
	if (size_is_total(b->program->sizes, size, &before, &added))
		return total_object(b, size, n);
	size_t known = 0;
	while (known < b->sizes.n && !size_same(b->sizes.at[known], size))
		known++;
	if (known < b->sizes.n) {
		*n = size_program(b->arena, b->program->sizes, size, &ops);
		return size_name(b, known);
	}
	PUSH(b->arena, b->sizes, size);
	TableObject *object = object_new(b, "int64_t", size_name(b, known));
	*n = put_program(b, object, size);
	finish(b, object);
	return object->name;
}

/* A tsr_size. */
static void put_size(Builder *b, TableObject *to, Size size)
{
	size_t n;
	const char *code = size_object(b, size, &n);
	put(b, to, CELL_OPEN, 0);
	put_name(b, to, CELL_OBJECT, code);
	put(b, to, CELL_I64, (int64_t)n);
	put_text(b, to, size_text(b->arena, b->program->sizes, size));
	put(b, to, CELL_CLOSE, 0);
}

/* Objects are equal where their cells are: names of other objects are compared as texts, so that
 * lists of shared sizes are shared too. */
static bool same_cells(const TableObject *a, const TableObject *b)
{
	bool same = strcmp(a->type, b->type) == 0 && a->cells.n == b->cells.n;
	for (size_t i = 0; same && i < a->cells.n; i++) {
		const Cell *x = &a->cells.at[i], *y = &b->cells.at[i];
		same = x->kind == y->kind && x->number == y->number &&
		       (x->text == y->text ||
			(x->text && y->text && strcmp(x->text, y->text) == 0));
	}
	return same;
}

/* An object like it that is there already, or the object itself. */
static TableObject *finish_shared(Builder *b, TableObject *object)
{
	for (size_t i = 0; i < b->shapes.n; i++)
		if (same_cells(b->shapes.at[i], object))
			return b->shapes.at[i];
	if (object->cells.n)
		PUSH(b->arena, b->shapes, object);
	return finish(b, object);
}

static TableObject *sizes_object(Builder *b, const TensorType *type, const char *name)
{
	TableObject *object = object_new(b, "tsr_size", internal(b, "sizes", name));
	for (uint32_t i = 0; i < type->nbatch + type->noutput + type->ninput; i++)
		put_size(b, object, type->sizes[i]);
	return finish_shared(b, object);
}

static TableObject *labels_object(Builder *b, const TensorType *type, const char *name)
{
	TableObject *object = object_new(b, "char *const", internal(b, "labels", name));
	for (uint32_t i = 0; i < type->nbatch + type->noutput + type->ninput; i++)
		put_text(b, object, type->labels ? type->labels[i] : NULL);
	return finish_shared(b, object);
}

/* A tsr_tensor; id names its lists. */
static void put_tensor(Builder *b, TableObject *to, const TensorArg *arg, const char *id)
{
	const TensorType *type = &arg->type;
	TableObject *sizes = sizes_object(b, type, id), *labels = labels_object(b, type, id);
	put(b, to, CELL_OPEN, 0);
	put_text(b, to, arg->name);
	put_text(b, to, dtype_name(type->dtype));
	put_text(b, to, type->text);
	put(b, to, CELL_I32, type->nbatch);
	put(b, to, CELL_I32, type->noutput);
	put(b, to, CELL_I32, type->ninput);
	put(b, to, CELL_I32, module_line(b->module, arg->span));
	put_object(b, to, sizes);
	put_object(b, to, labels);
}

/* The offset of what is no parameter. */
static void end_tensor(Builder *b, TableObject *to, const Size *offset)
{
	put_size(b, to, offset ? *offset : size_const(b->program->sizes, 0));
	put(b, to, CELL_CLOSE, 0);
}

static TableObject *args_object(Builder *b, const TensorArg *args, uint32_t n, const char *id)
{
	TableObject *object = object_new(b, "tsr_tensor", internal(b, "tensors", id));
	for (uint32_t i = 0; i < n; i++) {
		put_tensor(b, object, &args[i], arena_printf(b->arena, "%s_%u", id, i));
		end_tensor(b, object, NULL);
	}
	return finish(b, object);
}

static TableObject *params_object(Builder *b)
{
	const Program *p = b->program;
	TableObject *object = object_new(b, "tsr_tensor", internal(b, "tensors", "params"));
	for (size_t i = 0; i < p->params.n; i++) {
		const ProgramParam *param = &p->params.at[i];
		TensorArg arg = {.name = param->name, .type = param->type, .buffer = param->buffer};
		put_tensor(b, object, &arg, arena_printf(b->arena, "params_%zu", i));
		end_tensor(b, object, &param->offset);
	}
	return finish(b, object);
}

static TableObject *dims_object(Builder *b)
{
	TableObject *object = object_new(b, "tsr_dim", internal(b, "dims", "all"));
	for (DimId d = 0; d < sizes_nargs(b->program->sizes); d++) {
		const Dim *dim = sizes_dim(b->program->sizes, d);
		put(b, object, CELL_OPEN, 0);
		put_text(b, object, dim->name);
		put(b, object, CELL_I64, dim->at_least > 0 ? dim->at_least : 0);
		put(b, object, CELL_CLOSE, 0);
	}
	return finish(b, object);
}

static TableObject *checks_object(Builder *b)
{
	TableObject *object = object_new(b, "tsr_check", internal(b, "checks", "all"));
	for (size_t i = 0; i < b->program->checks.n; i++) {
		const Check *check = &b->program->checks.at[i];
		put(b, object, CELL_OPEN, 0);
		put_text(b, object, check->text);
		put_text(b, object, module_place(b->module, check->span));
		put(b, object, CELL_CLOSE, 0);
	}
	return finish(b, object);
}

/* ---- routines ---- */

static TableObject *indices_object(Builder *b, const char *what, const char *of)
{
	return object_new(b, "int32_t", internal(b, what, of));
}

static TableObject *scalars_object(Builder *b, const ProgramRoutine *r, const char *id)
{
	TableObject *object = object_new(b, "tsr_scalar", internal(b, "scalars", id));
	for (uint32_t i = 0; i < r->nscalars; i++) {
		put(b, object, CELL_OPEN, 0);
		put_text(b, object, r->scalars[i].name);
		put_text(b, object, dtype_name(r->scalars[i].dtype));
		put(b, object, CELL_CLOSE, 0);
	}
	return finish(b, object);
}

/* The parameters that a routine touches; their number in *n. */
static TableObject *used_params(Builder *b, uint32_t routine, const char *id, int64_t *n)
{
	TableObject *object = indices_object(b, "params", id);
	for (size_t i = 0; i < b->program->params.n; i++)
		if (b->module->routines[routine].params[i])
			put(b, object, CELL_I32, (int64_t)i);
	*n = (int64_t)object->cells.n;
	return finish(b, object);
}

static void put_routine(Builder *b, TableObject *to, uint32_t index)
{
	const ProgramRoutine *r = &b->program->routines.at[index];
	const char *id = arena_printf(b->arena, "routine_%u", index);
	TableObject *dims = indices_object(b, "dims", id);
	for (uint32_t i = 0; i < r->ndims; i++)
		put(b, dims, CELL_I32, r->dims[i]);
	dims = finish(b, dims);
	TableObject *scalars = scalars_object(b, r, id);
	const char *in = arena_printf(b->arena, "%s_in", id),
		   *out = arena_printf(b->arena, "%s_out", id);
	TableObject *inputs = args_object(b, r->inputs, r->ninputs, in);
	TableObject *outputs = args_object(b, r->outputs, r->noutputs, out);
	int64_t nparams;
	TableObject *params = used_params(b, index, id, &nparams);
	put(b, to, CELL_OPEN, 0);
	put_text(b, to, r->name);
	put_text(b, to, module_signature(b->module, index));
	put_symbol(b, to, b->module->routines[index].invoke);
	put(b, to, CELL_I32, r->ndims);
	put(b, to, CELL_I32, r->nscalars);
	put(b, to, CELL_I32, r->ninputs);
	put(b, to, CELL_I32, r->noutputs);
	put_object(b, to, dims);
	put_object(b, to, scalars);
	put_object(b, to, inputs);
	put_object(b, to, outputs);
	put_size(b, to, r->workspace);
	put_object(b, to, params);
	put(b, to, CELL_I64, nparams);
	put(b, to, CELL_CLOSE, 0);
}

static TableObject *routines_object(Builder *b)
{
	TableObject *object = object_new(b, "tsr_routine", internal(b, "routines", "all"));
	for (uint32_t i = 0; i < b->program->routines.n; i++)
		put_routine(b, object, i);
	return finish(b, object);
}

/* What the module asks of the processor, for `tsr info`; text of C asks nothing. */
static void put_target(Builder *b, TableObject *to, bool compiled)
{
	if (!compiled) {
		put_text(b, to, "C");
		put_text(b, to, "");
		return;
	}
	if (b->program->options.gpu) {
		put_text(b, to, b->program->options.gpu->name);
		put_text(b, to, "");
		return;
	}
	put_text(b, to, "x86-64");
	put_text(b, to, cpu_feature_names(b->arena, b->program->options.target));
}

Table *table_new(const Module *module, bool features)
{
	const Program *p = module->program;
	Builder b = {.module = module, .program = p, .arena = module->arena};
	b.table = ARENA_NEW(module->arena, Table);
	b.table->arena = module->arena;
	TableObject *dims = dims_object(&b), *params = params_object(&b);
	TableObject *routines = routines_object(&b), *checks = checks_object(&b);
	const char *name = arena_printf(b.arena, "%s_module", module->prefix);
	TableObject *to = object_new(&b, "tsr_module", name);
	put(&b, to, CELL_I32, TSR_ABI);
	put(&b, to, CELL_I32, sizeof(tsr_module));
	put_text(&b, to, module->prefix);
	put_text(&b, to, module_source(module));
	put_text(&b, to, "tsrc " TSR_VERSION);
	put_target(&b, to, features);
	put(&b, to, CELL_I32, sizes_nargs(p->sizes));
	put(&b, to, CELL_I32, (int64_t)p->params.n);
	put(&b, to, CELL_I32, (int64_t)p->routines.n);
	put(&b, to, CELL_I32, (int64_t)p->checks.n);
	put_object(&b, to, dims);
	put_object(&b, to, params);
	put_object(&b, to, routines);
	put_object(&b, to, checks);
	put_size(&b, to, p->state);
	put_symbol(&b, to, arena_printf(b.arena, "%s__invoke_init", module->prefix));
	put_symbol(&b, to, module->routines[p->routines.n].invoke);
	finish(&b, to);
	return b.table;
}
