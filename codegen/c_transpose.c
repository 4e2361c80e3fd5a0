/* Functions of C that transpose squares of vectors: two rounds or more of shuffles, first inside 16
 * bytes, which are what shuffles of all processors know (k elements each), for groups of 1, 2, .. rows
 * a and b that are neighbours:
 *
 *   joined[2p], joined[2p + 1] = low and high halves of a[p], b[p] interleaved, in units of the group
 *
 * so that position p of a group of k rows holds columns p, k + p, 2k + p, .. of these rows, 16 bytes
 * each. Then parts of 16 bytes: in each round the even ones of two rows become a row, and the odd ones.
 */
#include <string.h>

#include "codegen/c_vectors.h"

/* "tsr_transpose_f32x16" */
const char *c_transpose_function(Arena *arena, const char *type)
{
	return arena_printf(arena, "tsr_transpose_%s", type + strlen("tsr_"));
}

typedef struct Square {
	FILE *out;
	const char *type;
	int n, part; /* rows, elements of 16 bytes */
	char round;  /* the letter of the last round's names */
} Square;

/* name = shuffle of a and b: lane i is lane lanes(i) of both. */
static void put_shuffle(const Square *s, int to, int a, int b, const int *lanes)
{
	fprintf(s->out, "\tconst %s %c%d = __builtin_shufflevector(%c%d, %c%d", s->type,
		s->round + 1, to, s->round, a, s->round, b);
	for (int i = 0; i < s->n; i++)
		fprintf(s->out, ", %d", lanes[i]);
	fprintf(s->out, ");\n");
}

/* The low or high halves of all parts, interleaved in units of `unit` elements. */
static void interleaved(const Square *s, int unit, bool high, int *lanes)
{
	for (int i = 0; i < s->n; i++) {
		int part = i / s->part * s->part, at = i % s->part / unit;
		int element = part + (high ? s->part / 2 : 0) + at / 2 * unit + i % unit;
		lanes[i] = element + at % 2 * s->n;
	}
}

static void put_interleave(Square *s, int group)
{
	int low[C_LANES_MOST], high[C_LANES_MOST];
	interleaved(s, group, false, low);
	interleaved(s, group, true, high);
	for (int base = 0; base < s->n; base += 2 * group)
		for (int p = 0; p < group; p++) {
			put_shuffle(s, base + 2 * p, base + p, base + group + p, low);
			put_shuffle(s, base + 2 * p + 1, base + p, base + group + p, high);
		}
	s->round++;
}

/* Of a and b the parts with even or odd numbers. */
static void put_parts(Square *s)
{
	int even[C_LANES_MOST], odd[C_LANES_MOST], parts = s->n / s->part;
	for (int i = 0; i < s->n; i++) {
		int part = i / s->part * 2 % parts, second = i / s->part * 2 / parts;
		even[i] = second * s->n + part * s->part + i % s->part;
		odd[i] = even[i] + s->part;
	}
	for (int p = 0; p < s->part; p++)
		for (int pair = 0; pair < parts / 2; pair++) {
			int a = 2 * pair * s->part + p, b = a + s->part;
			put_shuffle(s, pair * s->part + p, a, b, even);
			put_shuffle(s, (pair + parts / 2) * s->part + p, a, b, odd);
		}
	s->round++;
}

static void put_function(FILE *out, const Module *m, Dtype dtype, int n)
{
	Square s = {
		.out = out, .n = n, .part = C_PART_BYTES / (int)dtype_bytes(dtype), .round = 'a'};
	s.type = c_vector_type(m->arena, dtype, n);
	fprintf(out, "static inline void %s(%s *to, const %s *from)\n{\n",
		c_transpose_function(m->arena, s.type), s.type, s.type);
	for (int i = 0; i < n; i++)
		fprintf(out, "\tconst %s a%d = from[%d];\n", s.type, i, i);
	for (int group = 1; group < s.part; group *= 2)
		put_interleave(&s, group);
	for (int parts = n / s.part; parts > 1; parts /= 2)
		put_parts(&s);
	for (int i = 0; i < n; i++)
		fprintf(out, "\tto[%d] = %c%d;\n", i, s.round, i);
	fprintf(out, "}\n\n");
}

void c_put_transposes(FILE *out, const Module *m)
{
	bool any = false;
	for (Dtype dtype = 0; dtype < DTYPE_COUNT; dtype++)
		for (int n = 2; n <= C_LANES_MOST; n *= 2)
			if (m->c_vectors->squares[dtype] >> n & 1) {
				if (!any)
					fprintf(out,
						"/* The rows of `to` are the columns of `from`. */\n");
				any = true;
				put_function(out, m, dtype, n);
			}
}
