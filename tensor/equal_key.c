/* What the elements of a tensor are, in words: equal ones have the same. */
#include <string.h>
#include <xxhash.h>

#include "base/size_eval.h"
#include "tensor/equal.h"

enum { CONST_BYTES = 1024 };

void equal_key_put(EqualKey *key, uint64_t word) { PUSH(key->program->scratch, key->words, word); }

void equal_key_put_size(EqualKey *key, Size size)
{
	if (key->by_dim)
		size = size_substitute(key->program->sizes, size, key->by_dim);
	equal_key_put(key, size.id);
}

void equal_key_put_operand(EqualKey *key, NodeId id)
{
	bool here = id != NODE_NONE && key->loop && key->loop_of[id] == key->loop;
	equal_key_put(key, here);
	equal_key_put(key, id == NODE_NONE ? id : here ? key->place[id] : key->same[id]);
}

static void put_shape(EqualKey *key, const Shape *shape)
{
	for (int row = 0; row < ROW_KINDS; row++) {
		equal_key_put(key, shape->rows[row].n);
		for (uint32_t i = 0; i < shape->rows[row].n; i++) {
			equal_key_put_size(key, shape->rows[row].axes[i].size);
			equal_key_put(key, (uintptr_t)shape->rows[row].axes[i].label);
		}
	}
}

static void put_access(EqualKey *key, const Access *access)
{
	equal_key_put(key, access->present ? access->naxes : UINT64_MAX);
	for (uint32_t i = 0; access->present && i < access->naxes; i++) {
		const Index *index = &access->axes[i];
		equal_key_put(key, index->nterms);
		equal_key_put_size(key, index->offset);
		equal_key_put(key, index->guarded);
		equal_key_put(key, (uint64_t)index->gather);
		equal_key_put(key, index->mode);
		for (uint32_t t = 0; t < index->nterms; t++) {
			equal_key_put(key, index->terms[t].iter);
			equal_key_put(key, (uint64_t)index->terms[t].coef);
		}
	}
}

static void put_proj(EqualKey *key, const Proj *proj)
{
	equal_key_put(key, proj->linear ? (uint64_t)proj->width : 0);
	equal_key_put(key, proj->niters);
	equal_key_put(key, proj->npieces);
	for (uint32_t i = 0; i < proj->niters; i++) {
		equal_key_put_size(key, proj->iters[i].extent);
		equal_key_put(key, proj->iters[i].reduced);
	}
	for (uint32_t p = 0; p < proj->npieces; p++) {
		const Piece *piece = &proj->pieces[p];
		equal_key_put(key, piece->niters);
		for (uint32_t i = 0; i < piece->niters; i++)
			equal_key_put(key, piece->iters[i]);
		put_access(key, &piece->result);
		for (uint32_t i = 0; i < proj->nargs; i++)
			put_access(key, &piece->args[i]);
	}
}

static void put_bytes(EqualKey *key, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
		uint64_t word = 0;
		memcpy(&word, (const char *)bytes + i, n - i < sizeof word ? n - i : sizeof word);
		equal_key_put(key, word);
	}
}

static void put_data(EqualKey *key, const Node *node)
{
	size_t bytes = 0;
	dtype_room(node->dtype, (size_t)node->data->count, &bytes);
	equal_key_put(key, bytes);
	if (bytes <= CONST_BYTES)
		put_bytes(key, node->data->bytes, bytes);
	else
		equal_key_put(key, (uintptr_t)node->data->bytes);
}

static void put_leaf(EqualKey *key, const Node *node)
{
	switch (node->kind) {
	case NODE_NUMBER:
		equal_key_put(key, node->is_integer);
		equal_key_put(key, (uint64_t)node->integer);
		put_bytes(key, &node->number, sizeof node->number);
		break;
	case NODE_SIZE:
		equal_key_put_size(key, infer_size(key->program->inference, node->size_expr));
		break;
	case NODE_SCALAR: equal_key_put(key, node->scalar_index); break;
	case NODE_CONST: put_data(key, node); break;
	default: break;
	}
}

void equal_key_put_node(EqualKey *key, NodeId id)
{
	const Node *node = tensor_node(key->program, id);
	const Proj *proj = tensor_proj(key->program, id);
	equal_key_put(key, node->kind);
	equal_key_put(key, node->op);
	equal_key_put(key, node->reduce);
	equal_key_put(key, node->dtype);
	equal_key_put(key, node->along.exclusive | node->along.reverse << 1 |
				   node->along.descending << 2 | node->along.ids << 3);
	equal_key_put(key, node->nargs);
	equal_key_put(key, node->again);
	equal_key_put(key, node->packs);
	equal_key_put(key, key->derivatives && node->stops);
	equal_key_put(key, key->derivatives ? node->recomputes : 0);
	for (uint32_t i = 0; i < node->nargs; i++)
		equal_key_put_operand(key, node->args[i]);
	put_shape(key, tensor_shape(key->program, id));
	put_leaf(key, node);
	if (proj)
		put_proj(key, proj);
}

bool equal_keys_same(const EqualKey *a, const EqualKey *b)
{
	return a->words.n == b->words.n &&
	       memcmp(a->words.at, b->words.at, a->words.n * sizeof *a->words.at) == 0;
}

uint64_t equal_key_hash(const EqualKey *key)
{
	return XXH64(key->words.at, key->words.n * sizeof *key->words.at, 0);
}
