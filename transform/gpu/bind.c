/* What the threads of a block do together in a kernel, or one thread for several elements: the first
 * that pays of tiles of a product, slices, lines that are cumulated, warps of rows, rows, columns, rows of a scatter,
 * squares and wide accesses. A product in slices, and a sum in slices, is two kernels; a product of factors that are
 * split, and what is cumulated in slices, have two in front.
 */
#include "loops/verify_gpu.h"
#include "transform/gpu/columns.h"
#include "transform/gpu/prepack.h"
#include "transform/gpu/cumulate.h"
#include "transform/gpu/scatter.h"
#include "transform/gpu/tile.h"

/* A kernel that is made one of several. */
typedef struct Parted {
	const NewKernels *to;
	Kernel *kernel, *before;
	uint32_t routine;
	bool parted;	/* there is one before */
	Kernel cumulate[2]; /* of slices of what is cumulated, before it */
	bool cumulates;
	bool front;	       /* it stands in front of another one that is made of the same */
	Splitter splitters[2]; /* of the operands of a product */
	Kernel split[2];       /* ... when threads have them */
	bool splits;
} Parted;

/* Warps of rows, or squares, that a schedule does not want: worth a word there. */
static void note_off(const Transform *t, const Kernel *kernel, Choice choice)
{
	const ScheduleClause *asked = kernel_asked(t, kernel, choice);
	ScheduleEntry *entry = schedule_entry(t->program->made, kernel->name);
	if (says_off(asked) && entry)
		entry_make(t->program->arena, entry, choice, true);
}

/* A sum in slices, each of which more threads than there are columns share perhaps. */
static void bind_sum_slices(const Transform *t, Parted *p)
{
	Kernel whole = *p->kernel;
	p->parted = true;
	bind_slices(t, p->kernel, p->routine, p->before);
	bool columns = columns_pay(t, p->before, true);
	if (columns)
		bind_columns(t, p->before, p->routine, true);
	columns_note(t, &whole, (ColumnsMade){columns, true});
}

/* `own`: of no slices. */
static void bind_own_columns(const Transform *t, Parted *p, bool own)
{
	if (own)
		columns_note(t, p->kernel, (ColumnsMade){true, false});
	bind_columns(t, p->kernel, p->routine, own);
}

static void bind_others(const Transform *t, Parted *p);

static void add_entry(const Transform *t, const Kernel *kernel)
{
	PUSH(t->program->arena, t->program->made->entries,
	     ((ScheduleEntry){.name = kernel->name, .span = kernel->span}));
}

/* A kernel in front of one, which has a name and an entry of its own. */
static void bind_in_front(const Transform *t, const Parted *p, Kernel *kernel, Sym name)
{
	Parted own = {.to = p->to, .kernel = kernel, .routine = p->routine, .front = true};
	kernel->name = kernels_name(p->to, name, 2);
	add_entry(t, kernel);
	bind_others(t, &own);
}

/* Lines that are cumulated, in slices perhaps. */
static void bind_lines(const Transform *t, Parted *p, const Cumulate *cumulate)
{
	Symbols *symbols = t->program->symbols;
	Sym name = p->kernel->name;
	cumulate_note(cumulate);
	if (!cumulate->slice) {
		bind_cumulate(cumulate, p->routine);
		return;
	}
	p->cumulates = true;
	bind_cumulate_slices(cumulate, p->routine, &p->cumulate[0], &p->cumulate[1]);
	bind_in_front(t, p, &p->cumulate[0], sym_printf(symbols, "%s_slices", name));
	bind_in_front(t, p, &p->cumulate[1], sym_printf(symbols, "%s_offsets", name));
}

/* What threads of a block do together, or one does for several elements, where it is no product. */
static void bind_others(const Transform *t, Parted *p)
{
	Cumulate cumulate;
	note_off(t, p->kernel, CHOICE_VECTOR);
	note_off(t, p->kernel, CHOICE_TRANSPOSE_TILE);
	note_off(t, p->kernel, CHOICE_FUSE_ROWS);
	bool slices = slices_pay(t, p->kernel) && !rows_pay(t, p->kernel);
	if (slices)
		bind_sum_slices(t, p);
	if (cumulate_decide(t, p->kernel, !p->front, &cumulate))
		bind_lines(t, p, &cumulate);
	else if (row_warps_pay(t, p->kernel))
		bind_row_warps(t, p->kernel, p->routine);
	else if (rows_pay(t, p->kernel))
		bind_rows(t, p->kernel, p->routine);
	else if (columns_pay(t, p->kernel, !slices))
		bind_own_columns(t, p, !slices);
	else if (scatter_pays(t, p->kernel))
		bind_scatter(t, p->kernel, p->routine);
	else if (squares_pay(t, p->kernel))
		bind_squares(t, p->kernel, p->routine);
	else if (wide_pays(t, p->kernel))
		bind_wide(t, p->kernel);
	columns_note_none(t, p->kernel);
}

/* The operands of the product as two numbers each, where warpgroups multiply these. */
static void bind_splits(const Transform *t, Parted *p, const TileWanted *wanted, Product *product)
{
	p->splits = true;
	*product = bind_high_low(p->to, p->kernel, wanted, p->splitters);
	for (int i = 0; i < 2; i++) {
		p->split[i] = p->splitters[i].kernel;
		if (p->split[i].body.n)
			bind_in_front(t, p, &p->split[i], p->split[i].name);
	}
}

/* A product in tiles, or one of the others. */
static void bind_threads(const Transform *t, Parted *p)
{
	Kernel *kernel = p->kernel;
	Product product;
	if (block_threads(t->program->sizes, kernel))
		return; /* attention */
	if (!product_of(t->program, kernel, &product)) {
		if (!schedule_entry(t->program->made, kernel->name)) /* else attention in slices */
			add_entry(t, kernel);
		bind_others(t, p);
		return;
	}
	product.tensor = product_tensor(t, &product);
	TileWanted wanted = {.product = &product, .routine = p->routine};
	wanted.alone =
		!row_warps_pay(t, kernel) && !rows_pay(t, kernel) && !columns_pay(t, kernel, true);
	gpu_tile_choose(t, kernel, &wanted);
	if (wanted.tile && wanted.tile->group && product.tensor.split)
		bind_splits(t, p, &wanted, &product);
	if (wanted.slices > 1 && !wanted.cluster) {
		product = bind_split(t, kernel, &wanted, p->before);
		p->parted = true;
		bind_tile(t, p->before, &wanted);
		bind_others(t, p);
	} else if (wanted.tile) {
		if (wanted.cluster)
			product = bind_cluster(t, kernel, &wanted);
		bind_tile(t, kernel, &wanted);
	} else {
		bind_others(t, p);
	}
}

static void add_slices(NewKernels *to, Kernel *before, Sym of)
{
	uint32_t nparts = 1;
	before->name = sym_printf(to->t->program->symbols, "%s_slices", of);
	kernels_add_part(to, before, before->body, &nparts);
}

/* Those that no earlier one stands for. */
static void add_splits(NewKernels *to, Parted *p)
{
	Arena *arena = to->t->program->arena;
	for (int i = 0; i < 2 && p->splits; i++) {
		if (!p->split[i].body.n)
			continue;
		p->splitters[i].at = to->made.n;
		PUSH(arena, to->splitters, p->splitters[i]);
		PUSH(arena, to->made, p->split[i]);
	}
}

static void bind_kernel(NewKernels *to, const Kernel *given)
{
	Kernel kernel = *given, before = {0};
	Parted p = {.to = to, .kernel = &kernel, .before = &before, .routine = to->routine};
	bind_threads(to->t, &p);
	add_splits(to, &p);
	for (int i = 0; i < 2 && p.cumulates; i++)
		PUSH(to->t->program->arena, to->made, p.cumulate[i]);
	if (p.parted)
		add_slices(to, &before, kernel.name);
	PUSH(to->t->program->arena, to->made, kernel);
}

void transform_bind(Transform *t)
{
	t->changed = t->options->gpu && kernels_replace(t, bind_kernel);
	t->changed |= prepack_routines(t); /* parameters that are split */
	program_evaluate(t->program);
}
