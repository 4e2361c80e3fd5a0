/* Instructions that touch memory: loads, stores, atomics, asynchronous copies. */
#include "test/ptx/parse.h"

#include <string.h>

static PtxSpace space_of(PtxParser *p, const PtxStatement *s, const PtxOperand *address)
{
	PtxSpace space = SPACE_GENERIC;
	for (int i = 1; i < s->nwords; i++) {
		const char *word = s->words[i];
		if (strcmp(word, "global") == 0 || strcmp(word, "const") == 0)
			space = SPACE_GLOBAL;
		else if (strncmp(word, "shared", 6) == 0)
			space = SPACE_SHARED;
		else if (strcmp(word, "local") == 0)
			space = SPACE_LOCAL;
		else if (strncmp(word, "param", 5) == 0)
			space = address->symbol	     ? address->space
				: p->function->entry ? SPACE_PARAM
						     : SPACE_LOCAL;
		else
			continue;
		break;
	}
	if (address->symbol != NULL && space != address->space)
		ptx_fail(p, s->line, "%.200s is not in the space that %.200s touches",
			 address->symbol->name, s->mnemonic);
	return space;
}

static void set_address(PtxParser *p, const PtxStatement *s, int i, PtxInstr *in)
{
	const PtxOperand *address = ptx_memory(p, s, i);
	in->a = address->at;
	in->offset = address->offset;
	in->space = (uint8_t)space_of(p, s, address);
	if (s->ntypes < 1)
		ptx_unknown(p, s);
	in->type = (uint8_t)s->types[s->ntypes - 1];
}

static int vector_of(const PtxStatement *s)
{
	return ptx_has(s, "v8") ? 8 : ptx_has(s, "v4") ? 4 : ptx_has(s, "v2") ? 2 : 1;
}

/* The registers of a load or a store: one, or a list of as many as the vector has. */
static void set_values(PtxParser *p, const PtxStatement *s, int i, PtxInstr *in, bool written)
{
	const PtxOperand *o = &s->operands[i];
	in->n = (uint16_t)vector_of(s);
	if ((o->kind == OPERAND_LIST ? o->n : 1) != in->n || (in->n > 1 && o->kind != OPERAND_LIST))
		ptx_fail(p, s->line, "%.200s moves %d elements", s->mnemonic, in->n);
	int32_t one = o->kind == OPERAND_LIST ? o->list[0]
		      : written		      ? ptx_write(p, s, i)
					      : ptx_read(p, s, i);
	const int32_t *registers = o->kind == OPERAND_LIST ? o->list : &one;
	for (int k = 0; k < in->n; k++)
		if (written && registers[k] < SPECIAL_COUNT)
			ptx_fail(p, s->line, "a list of %.200s has what cannot be written",
				 s->mnemonic);
	in->more = ptx_more(p, registers, in->n);
	in->d = registers[0];
	in->width = (uint8_t)(o->type ? ptx_type_bytes(o->type) : ptx_type_bytes(in->type));
}

static void decode_ld(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 2, 2);
	in->kind = KIND_LD;
	set_address(p, s, 1, in);
	set_values(p, s, 0, in, true);
}

static void decode_st(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 2, 2);
	in->kind = KIND_ST;
	set_address(p, s, 0, in);
	set_values(p, s, 1, in, false);
}

static void decode_atom(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	static const char *const names[] = {"exch", "cas", "add", "min", "max",
					    "and",  "or",  "xor", "inc", "dec"};
	int d = strcmp(s->words[0], "atom") == 0, op = -1;
	for (int i = 0; i <= ATOM_DEC; i++)
		if (ptx_has(s, names[i]))
			op = i;
	ptx_count(p, s, d + 2, d + 2 + (op == ATOM_CAS));
	if (op < 0 || vector_of(s) != 1 || s->ntypes != 1 || (op == ATOM_CAS) != (s->n == d + 3))
		ptx_unknown(p, s);
	in->kind = KIND_ATOM;
	in->sub = (uint8_t)op;
	set_address(p, s, d, in);
	if (d)
		in->d = ptx_write(p, s, 0);
	in->b = ptx_read(p, s, d + 1);
	in->c = ptx_read(p, s, d + 2);
}

static void decode_nothing(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	(void)p, (void)s;
	in->kind = KIND_NOP;
}

/* cp.async.ca.shared.global [to], [from], bytes[, read]; the second address's offset is a constant. */
static void decode_copy(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 3, 4);
	const PtxOperand *to = ptx_memory(p, s, 0), *from = ptx_memory(p, s, 1);
	int32_t size = ptx_read(p, s, 2);
	uint64_t bytes = size < 0 ? p->function->consts.at[~size] : 0;
	if ((bytes != 4 && bytes != 8 && bytes != 16) || (bytes != 16 && ptx_has(s, "cg")) ||
	    !ptx_has(s, "global"))
		ptx_unknown(p, s);
	in->kind = KIND_CP_ASYNC;
	in->n = (uint16_t)bytes;
	in->a = to->at;
	in->offset = to->offset;
	in->b = from->at;
	in->c = s->n == 4 ? ptx_read(p, s, 3) : size;
	int32_t offset = ptx_constant(p, (uint64_t)from->offset);
	in->more = ptx_more(p, &offset, 1);
}

/* cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], bytes, [mbarrier]
 * cp.async.bulk.global.shared::cta.bulk_group [to], [from], bytes */
static void decode_bulk(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	bool load = ptx_has(s, "mbarrier::complete_tx::bytes");
	ptx_count(p, s, load ? 4 : 3, load ? 4 : 3);
	if (!ptx_has(s, "global") || load == ptx_has(s, "bulk_group"))
		ptx_unknown(p, s);
	const PtxOperand *to = ptx_memory(p, s, 0), *from = ptx_memory(p, s, 1);
	const PtxOperand *mbarrier = load ? ptx_memory(p, s, 3) : from;
	in->kind = KIND_BULK;
	in->sub = load ? BULK_LOAD : BULK_STORE;
	in->space = SPACE_SHARED;
	in->a = to->at;
	in->offset = to->offset;
	in->b = from->at;
	in->c = ptx_read(p, s, 2);
	int32_t more[3] = {ptx_constant(p, (uint64_t)from->offset), mbarrier->at,
			   ptx_constant(p, (uint64_t)mbarrier->offset)};
	in->more = ptx_more(p, more, 3);
}

/* cp.async.bulk.tensor.Nd.shared::cluster.global[.tile].mbarrier::complete_tx::bytes [to], [map, {at, ...}], [mbarrier]
 * cp.async.bulk.tensor.Nd.shared::cluster.global.im2col.mbarrier::complete_tx::bytes ..., [mbarrier], {behind, ...}
 * cp.async.bulk.tensor.Nd.global.shared::cta[.tile].bulk_group [map, {at, ...}], [from] */
static void decode_tensor(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	static const char *const axes[] = {"1d", "2d", "3d", "4d", "5d"};
	bool load = ptx_has(s, "mbarrier::complete_tx::bytes"), windows = ptx_has(s, "im2col");
	int operands = windows ? 4 : load ? 3 : 2;
	ptx_count(p, s, operands, operands);
	const PtxOperand *shared = ptx_memory(p, s, load ? 0 : 1), *map = ptx_memory(p, s, load ? 1 : 0),
			 *mbarrier = load ? ptx_memory(p, s, 2) : shared;
	for (int i = 0; i < 5; i++)
		in->n = ptx_has(s, axes[i]) ? (uint16_t)(i + 1) : in->n;
	if (load == ptx_has(s, "bulk_group") || !ptx_has(s, "global") || (windows && !load) ||
	    ptx_has(s, "multicast::cluster") || in->n == 0 || map->n != in->n)
		ptx_unknown(p, s);
	if (windows &&
	    (in->n < 3 || s->operands[3].kind != OPERAND_LIST || s->operands[3].n != in->n - 2))
		ptx_unknown(p, s);
	in->kind = KIND_TENSOR;
	in->sub = windows ? BULK_WINDOWS : load ? BULK_LOAD : BULK_STORE;
	in->space = SPACE_SHARED;
	in->a = shared->at;
	in->offset = shared->offset;
	in->b = map->at;
	int32_t more[3] = {ptx_constant(p, (uint64_t)map->offset), mbarrier->at,
			   ptx_constant(p, (uint64_t)mbarrier->offset)};
	in->more = ptx_more(p, more, 3);
	ptx_more(p, map->list, map->n);
	if (windows)
		ptx_more(p, s->operands[3].list, s->operands[3].n);
}

/* The number of groups that may be under way. */
int64_t ptx_groups(PtxParser *p, const PtxStatement *s)
{
	ptx_count(p, s, 1, 1);
	int32_t n = ptx_read(p, s, 0);
	if (n >= 0)
		ptx_unknown(p, s);
	return (int64_t)(p->function->consts.at[~n] & 0xffff);
}

static void decode_cp(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	bool bulk = ptx_has(s, "bulk");
	if (!ptx_has(s, "async"))
		ptx_unknown(p, s);
	if (ptx_has(s, "mbarrier")) {
		ptx_count(p, s, 1, 1);
		in->kind = KIND_MBARRIER;
		in->sub = ptx_has(s, "noinc") ? MBARRIER_CP_ASYNC_NOINC : MBARRIER_CP_ASYNC;
		set_address(p, s, 0, in);
	} else if (ptx_has(s, "commit_group")) {
		ptx_count(p, s, 0, 0);
		in->kind = bulk ? KIND_BULK_COMMIT : KIND_CP_COMMIT;
	} else if (ptx_has(s, "wait_all")) {
		ptx_count(p, s, 0, 0);
		in->kind = KIND_CP_WAIT;
		in->offset = -1;
	} else if (ptx_has(s, "wait_group")) {
		in->kind = bulk ? KIND_BULK_WAIT : KIND_CP_WAIT;
		in->offset = ptx_groups(p, s);
	} else if (bulk && ptx_has(s, "prefetch")) {
		ptx_count(p, s, 2, 2);
		in->kind = KIND_NOP;
	} else if (bulk && ptx_has(s, "tensor")) {
		decode_tensor(p, s, in);
	} else if (bulk) {
		decode_bulk(p, s, in);
	} else {
		decode_copy(p, s, in);
	}
}

/* mbarrier.init [a], n; .arrive d, [a][, n]; .arrive.expect_tx d, [a], bytes; .expect_tx [a], bytes;
 * .test_wait|.try_wait[.parity] p, [a], phase[, time]; .inval [a] */
static void decode_mbarrier(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	bool arrives = ptx_has(s, "arrive"), expects = ptx_has(s, "expect_tx");
	bool waits = ptx_has(s, "try_wait") || ptx_has(s, "test_wait");
	int at = arrives || waits;
	in->kind = KIND_MBARRIER;
	if (arrives || waits || expects || ptx_has(s, "init"))
		in->sub = (uint8_t)(waits		 ? MBARRIER_WAIT
				    : arrives && expects ? MBARRIER_ARRIVE_EXPECT
				    : arrives		 ? MBARRIER_ARRIVE
				    : expects		 ? MBARRIER_EXPECT
							 : MBARRIER_INIT);
	else if (ptx_has(s, "inval"))
		in->sub = MBARRIER_INVAL;
	else
		ptx_unknown(p, s);
	bool alone = in->sub == MBARRIER_INVAL || in->sub == MBARRIER_ARRIVE;
	ptx_count(p, s, at + (alone ? 1 : 2), at + (waits ? 3 : in->sub == MBARRIER_INVAL ? 1 : 2));
	set_address(p, s, at, in);
	if (at)
		in->d = ptx_write(p, s, 0);
	in->b = in->sub == MBARRIER_ARRIVE && s->n == 2 ? ptx_constant(p, 1)
							: ptx_read(p, s, at + 1);
}

/* mapa d, a, b and getctarank d, a */
static void decode_cluster(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	bool rank = strcmp(s->words[0], "getctarank") == 0;
	ptx_count(p, s, rank ? 2 : 3, rank ? 2 : 3);
	in->kind = rank ? KIND_RANK : KIND_CLUSTER;
	in->space = ptx_has(s, "shared::cluster") ? SPACE_SHARED : SPACE_GENERIC;
	in->d = ptx_write(p, s, 0);
	in->a = ptx_read(p, s, 1);
	in->b = ptx_read(p, s, 2);
}

const PtxDecoderRow ptx_memory_decoders[] = {
	{"ld", decode_ld},
	{"ldu", decode_ld},
	{"st", decode_st},
	{"atom", decode_atom},
	{"red", decode_atom},
	{"prefetch", decode_nothing},
	{"prefetchu", decode_nothing},
	{"cp", decode_cp},
	{"mapa", decode_cluster},
	{"getctarank", decode_cluster},
	{"mbarrier", decode_mbarrier},
	{NULL, NULL},
};
