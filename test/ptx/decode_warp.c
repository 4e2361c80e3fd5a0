/* Instructions that threads do together: barriers, and what a warp does at once. */
#include "test/ptx/parse.h"

#include <stdio.h>
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

/* ---- matrices ---- */

/* Registers of a list of so many, added to the function's list. */
static uint32_t add_list(PtxParser *p, const PtxStatement *s, int i, int n, bool written)
{
	const PtxOperand *o = &s->operands[i];
	if (o->kind != OPERAND_LIST || o->n != n)
		ptx_fail(p, s->line, "operand %d of %.200s is no list of %d registers", i + 1,
			 s->mnemonic, n);
	for (int k = 0; k < n; k++)
		if (written && o->list[k] < SPECIAL_COUNT)
			ptx_fail(p, s->line, "a list of %.200s has what cannot be written",
				 s->mnemonic);
	return ptx_more(p, o->list, n);
}

/* ldmatrix.sync.aligned.m8n8.xN[.trans].shared.b16 {d, ..}, [a]; stmatrix ... [a], {b, ..} */
static void decode_ldmatrix(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	bool load = strcmp(s->words[0], "ldmatrix") == 0;
	ptx_count(p, s, 2, 2);
	if (!ptx_has(s, "m8n8") || !ptx_has(s, "b16") || !ptx_has(s, "sync"))
		ptx_unknown(p, s);
	set_collective(in, load ? COLLECTIVE_LDMATRIX : COLLECTIVE_STMATRIX);
	in->n = ptx_has(s, "x4") ? 4 : ptx_has(s, "x2") ? 2 : 1;
	const PtxOperand *address = ptx_memory(p, s, load ? 1 : 0);
	in->a = address->at;
	in->offset = address->offset;
	in->space =
		ptx_has(s, "shared") || ptx_has(s, "shared::cta") ? SPACE_SHARED : SPACE_GENERIC;
	in->more = add_list(p, s, load ? 0 : 1, in->n, load);
}

/* mma.sync.aligned.m16n8kK.row.col.f32.A.B.f32 d, a, b, c, and the same of s32 and 8-bit integers */
static void decode_mma(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	static const char *const shapes[] = {"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"};
	ptx_count(p, s, 4, 4);
	for (int i = 0; i < 4; i++)
		in->n = ptx_has(s, shapes[i]) ? (uint16_t)(4 << i) : in->n;
	if (!ptx_has(s, "sync") || !ptx_has(s, "row") || !ptx_has(s, "col") || s->ntypes != 4 ||
	    in->n == 0)
		ptx_unknown(p, s);
	set_collective(in, COLLECTIVE_MMA);
	in->type = (uint8_t)s->types[1];
	in->from = (uint8_t)s->types[2];
	bool floats = in->type == TYPE_f16 || in->type == TYPE_bf16 || in->type == TYPE_tf32;
	bool whole = in->type == TYPE_s8 || in->type == TYPE_u8;
	bool same = floats ? in->from == in->type : in->from == TYPE_s8 || in->from == TYPE_u8;
	PtxType sum = floats ? TYPE_f32 : TYPE_s32;
	int k = in->n * ptx_type_bytes(in->type); /* bytes along it: 16 or 32 */
	if ((!floats && !whole) || !same || s->types[0] != sum || s->types[3] != sum ||
	    (k != 16 && k != 32))
		ptx_unknown(p, s);
	in->more = add_list(p, s, 0, 4, true);
	add_list(p, s, 1, k / 8, false);
	add_list(p, s, 2, k / 16, false);
	add_list(p, s, 3, 4, false);
}

/* Is the operand the constant 0, or 1? */
static bool constant_bit(PtxParser *p, const PtxStatement *s, int i)
{
	int32_t at = ptx_read(p, s, i);
	uint64_t value = at < 0 ? p->function->consts.at[~at] : 2;
	if (value > 1)
		ptx_unknown(p, s);
	return value == 1;
}

/* wgmma.mma_async.sync.aligned.m64nNkK.f32.A.B {d, ..}, a, b, adds, 1, 1[, transposes a, transposes b] */
static void decode_group_product(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	int columns = 0, terms = 0;
	for (int i = 1; i < s->nwords; i++)
		if (sscanf(s->words[i], "m64n%dk%d", &columns, &terms) == 2)
			break;
	in->type = s->ntypes == 3 ? (uint8_t)s->types[1] : TYPE_NONE;
	bool pairs = in->type == TYPE_f16 || in->type == TYPE_bf16;
	ptx_count(p, s, pairs ? 8 : 6, pairs ? 8 : 6);
	if ((!pairs && in->type != TYPE_tf32) || s->types[0] != TYPE_f32 ||
	    s->types[2] != s->types[1] || columns % 8 || columns < 8 || columns > 256 ||
	    terms * ptx_type_bytes(in->type) != 32 || s->operands[1].kind == OPERAND_LIST ||
	    !constant_bit(p, s, 4) || !constant_bit(p, s, 5))
		ptx_unknown(p, s);
	in->kind = KIND_GROUP_MULTIPLY;
	in->n = (uint16_t)columns;
	in->width = (uint8_t)terms;
	in->more = add_list(p, s, 0, columns / 2, true);
	in->a = ptx_read(p, s, 1);
	in->b = ptx_read(p, s, 2);
	in->c = ptx_read(p, s, 3);
	in->flags |= s->operands[3].negated ? FLAG_NEGATED : 0;
	in->flags |= pairs && constant_bit(p, s, 6) ? FLAG_TRANS : 0;
	in->flags |= pairs && constant_bit(p, s, 7) ? FLAG_TRANS_B : 0;
}

/* ... and wgmma.fence, wgmma.commit_group, wgmma.wait_group n */
static void decode_group(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	if (!ptx_has(s, "sync") || !ptx_has(s, "aligned"))
		ptx_unknown(p, s);
	if (ptx_has(s, "mma_async")) {
		decode_group_product(p, s, in);
	} else if (ptx_has(s, "wait_group")) {
		in->kind = KIND_GROUP_WAIT;
		in->offset = ptx_groups(p, s);
	} else if (ptx_has(s, "fence") || ptx_has(s, "commit_group")) {
		ptx_count(p, s, 0, 0);
		in->kind = ptx_has(s, "fence") ? KIND_NOP : KIND_GROUP_COMMIT;
	} else {
		ptx_unknown(p, s);
	}
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
	{"ldmatrix", decode_ldmatrix},
	{"stmatrix", decode_ldmatrix},
	{"mma", decode_mma},
	{"wgmma", decode_group},
	{NULL, NULL},
};
