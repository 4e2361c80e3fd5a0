/* The two generated parsers, as parse.c and parse_spec.c drive them. Private to grammar/. */
#ifndef TSR_GRAMMAR_PARSERS_H
#define TSR_GRAMMAR_PARSERS_H

#include "grammar/tree.h"

/* A parser whose actions make nodes of the tree, which it borrows; to be freed. NULL: there is no
 * memory. */
void *file_parse_new(Tree *tree);
void file_parse_free(void *parser);
/* Would the parser take a token of this kind now? */
bool file_parse_accepts(const void *parser, int kind);
/* Requires that it is accepted. */
void file_parse_feed(void *parser, Token token);
/* What it makes. */
const struct Tree *file_parse_tree(const void *parser);
size_t file_parse_depth(const void *parser);
/* The innermost token of this kind whose construct is not complete. */
bool file_parse_find(const void *parser, int kind, Token *found);
/* The innermost bracket that is open. */
bool file_parse_opener(const void *parser, Token *found);
/* Drops what is incomplete, back to where a token of this kind (one without a fallback) can be
 * shifted. */
void file_parse_unwind(void *parser, int kind);

/* The same four for a specification. */
struct SpecTree;
void *spec_parse_new(struct SpecTree *tree);
void spec_parse_free(void *parser);
bool spec_parse_accepts(const void *parser, int kind);
void spec_parse_feed(void *parser, Token token);

#endif
