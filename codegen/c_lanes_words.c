/* Words of eight elements of four bits, as panels of a product have them (lower/tile/words.c), that lanes of C read:
 * where lanes are the same element of neighbouring words.
 */
#include "codegen/c_lanes.h"

#include "codegen/packed.h"
#include "loops/build.h"
#include "loops/linear.h"
#include "loops/multiple.h"

bool c_lanes_find_rest(const LanesText *l, const Ix *ix, int64_t by, int64_t *rest)
{
	const KernelText *k = l->k;
	const Program *program = k->m->program;
	Multiples multiples = multiples_new(k->arena, program, k->kernel);
	bool *fixed = ARENA_ARRAY(k->arena, bool, k->kernel->niters + 1);
	int64_t *at = ARENA_ARRAY(k->arena, int64_t, k->kernel->niters + 1);
	multiples.fixed = fixed;
	multiples.at = at;
	fixed[l->loop->iter] = size_is_const(program->sizes, l->loop->lo->size, &at[l->loop->iter]);
	if (ix_multiple_rest(&multiples, ix, rest) % by != 0)
		return false;
	*rest &= by - 1;
	return true;
}

bool c_lanes_find_words(const LanesText *l, const Value *load, int64_t *place)
{
	const Program *program = l->k->m->program;
	Size elements = program->buffers.at[load->buffer].elements;
	return ix_moves_by((Program *)program, load->ix, l->loop->iter, PACKED_WORD) &&
	       size_content(program->sizes, elements) % PACKED_WORD == 0 &&
	       c_lanes_find_rest(l, load->ix, PACKED_WORD, place);
}

const char *c_lanes_word(const LanesText *l, const Value *load, int64_t place)
{
	KernelText *k = l->k;
	Program *program = (Program *)k->m->program;
	const char *array = k->buffers[kernel_use_buffer(k->use, load->buffer)];
	const Ix *lanes = ix_times(program, ix_iter(k->arena, l->loop->iter), -PACKED_WORD);
	const Ix *first = ix_plus(program, ix_add(program, load->ix, lanes), -place);
	return arena_printf(k->arena, "%s[((%s) >> 1) + 4 * %s]", array, c_kernel_ix(k, first),
			    k->iters[l->loop->iter]);
}
