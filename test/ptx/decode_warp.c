/* Instructions that threads do together: barriers, and what a warp does at once. */
#include "test/ptx/parse.h"

#include <string.h>

/* bar.sync a[, b]; bar.arrive a, b; bar.red.popc.u32 d, a[, b], p; bar.warp.sync mask; barrier.cluster.arrive|wait */
static void decode_bar(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	in->kind = KIND_BAR;
	if (strcmp(s->words[0], "bar") == 0)
		in->flags |= FLAG_ALIGNED;
	if (ptx_has(s, "warp")) {
		ptx_count(p, s, 1, 1);
		in->kind = KIND_COLLECTIVE;
		in->sub = COLLECTIVE_SYNC;
		in->c = ptx_read(p, s, 0);
	} else if (ptx_has(s, "cluster")) {
		ptx_count(p, s, 0, 0);
		in->sub = ptx_has(s, "arrive") ? BAR_CLUSTER_ARRIVE : BAR_CLUSTER_WAIT;
	} else if (ptx_has(s, "red")) {
		ptx_count(p, s, 3, 4);
		in->sub = ptx_has(s, "popc")  ? BAR_RED_POPC
			  : ptx_has(s, "and") ? BAR_RED_AND
					      : BAR_RED_OR;
		in->d = ptx_write(p, s, 0);
		in->a = ptx_read(p, s, 1);
		in->b = s->n == 4 ? ptx_read(p, s, 2) : -1;
		in->c = ptx_read(p, s, s->n - 1);
		in->flags |= s->operands[s->n - 1].negated ? FLAG_NEGATED : 0;
	} else if (ptx_has(s, "sync") || ptx_has(s, "arrive")) {
		in->sub = ptx_has(s, "sync") ? BAR_SYNC : BAR_ARRIVE;
		ptx_count(p, s, in->sub == BAR_ARRIVE ? 2 : 1, 2);
		in->a = ptx_read(p, s, 0);
		in->b = ptx_read(p, s, 1);
	} else {
		ptx_unknown(p, s);
	}
}

static void set_collective(PtxInstr *in, PtxCollective sub)
{
	in->kind = KIND_COLLECTIVE;
	in->sub = (uint8_t)sub;
}

/* shfl.sync.mode.b32 d[|p], a, b, c, mask */
static void decode_shfl(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 5, 5);
	if (!ptx_has(s, "sync") || !ptx_has(s, "b32"))
		ptx_unknown(p, s);
	set_collective(in, ptx_has(s, "up")	? COLLECTIVE_SHFL_UP
			   : ptx_has(s, "down") ? COLLECTIVE_SHFL_DOWN
			   : ptx_has(s, "bfly") ? COLLECTIVE_SHFL_BFLY
						: COLLECTIVE_SHFL_IDX);
	in->d = ptx_write(p, s, 0);
	in->n = s->operands[0].other >= 0;
	if (in->n && s->operands[0].other < SPECIAL_COUNT)
		ptx_unknown(p, s);
	in->a = ptx_read(p, s, 1);
	in->b = ptx_read(p, s, 2);
	in->c = ptx_read(p, s, 4);
	int32_t more[2] = {ptx_read(p, s, 3), s->operands[0].other};
	in->more = ptx_more(p, more, 2);
}

/* vote.sync.mode.pred d, [!]a, mask */
static void decode_vote(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 3, 3);
	if (!ptx_has(s, "sync"))
		ptx_unknown(p, s);
	set_collective(in, ptx_has(s, "all")   ? COLLECTIVE_VOTE_ALL
			   : ptx_has(s, "any") ? COLLECTIVE_VOTE_ANY
			   : ptx_has(s, "uni") ? COLLECTIVE_VOTE_UNI
					       : COLLECTIVE_VOTE_BALLOT);
	in->d = ptx_write(p, s, 0);
	in->a = ptx_read(p, s, 1);
	in->c = ptx_read(p, s, 2);
	in->flags |= s->operands[1].negated ? FLAG_NEGATED : 0;
}

/* match.any.sync.type d, a, mask; redux.sync.op.type d, a, mask */
static void decode_match(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	static const char *const ops[] = {"", "", "add", "min", "max", "and", "or", "xor"};
	ptx_count(p, s, 3, 3);
	bool match = strcmp(s->words[0], "match") == 0;
	set_collective(in, !match	       ? COLLECTIVE_REDUX
			   : ptx_has(s, "any") ? COLLECTIVE_MATCH_ANY
					       : COLLECTIVE_MATCH_ALL);
	for (int i = ATOM_ADD; i <= ATOM_XOR; i++)
		if (!match && ptx_has(s, ops[i]))
			in->n = (uint16_t)i;
	if (s->ntypes != 1 || (!match && in->n == 0))
		ptx_unknown(p, s);
	in->type = (uint8_t)s->types[0];
	in->d = ptx_write(p, s, 0);
	in->n = match ? s->operands[0].other >= 0 : in->n;
	in->more = ptx_more(p, &s->operands[0].other, 1);
	in->a = ptx_read(p, s, 1);
	in->c = ptx_read(p, s, 2);
}

static void decode_activemask(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 1, 1);
	in->kind = KIND_ACTIVEMASK;
	in->d = ptx_write(p, s, 0);
}

/* elect.sync d|p, mask */
static void decode_elect(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 2, 2);
	if (s->operands[0].other < SPECIAL_COUNT)
		ptx_unknown(p, s);
	set_collective(in, COLLECTIVE_ELECT);
	in->d = ptx_write(p, s, 0);
	in->more = ptx_more(p, &s->operands[0].other, 1);
	in->c = ptx_read(p, s, 1);
}

static void decode_nanosleep(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 1, 1);
	in->kind = KIND_NANOSLEEP;
}

const PtxDecoderRow ptx_warp_decoders[] = {
	{"bar", decode_bar},
	{"barrier", decode_bar},
	{"shfl", decode_shfl},
	{"vote", decode_vote},
	{"match", decode_match},
	{"redux", decode_match},
	{"elect", decode_elect},
	{"activemask", decode_activemask},
	{"nanosleep", decode_nanosleep},
	{NULL, NULL},
};
