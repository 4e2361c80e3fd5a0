/* The tokens of a program, with the brackets that are open around them. Private to grammar/.
 *
 * The lexer has one context, the steps of a routine, and the brackets decide it: the brace that
 * opens the body of a `routine` or a `for` holds steps, and assignments are read where such a
 * brace is the innermost open bracket; in the body of a `scan` behind the name that begins it, or one behind `in`. */
#ifndef TSR_GRAMMAR_FEED_H
#define TSR_GRAMMAR_FEED_H

#include "lexer/lexer.h"

typedef struct Bracket {
	Token token;
	bool steps; /* a brace around steps */
	bool scans; /* a parenthesis behind `scan` or its `until`, or the brace behind that */
} Bracket;

typedef struct Feed {
	Lexer lexer;
	Arena *arena;
	Token token, before; /* the current token and the one before it */
	bool scanned;	     /* the current token closes what stands behind `scan` or its `until` */
	VEC(Bracket) open;   /* innermost last */
	bool closed_steps;   /* the current token is the brace that ends steps */
	bool body_next;      /* the next brace at this level is a body of steps */
	bool updates; /* a brace that is the next token is one around steps: `with update {` */
	uint32_t left;       /* bytes from the start of its line to the statement's keyword */
} Feed;

/* Lexes the file from its start and takes the first token; faults of tokens are reported. The feed
 * borrows all that is passed. */
void feed_init(Feed *feed, Arena *arena, const Sources *sources, uint32_t file, Diags *diags);
/* Moves to the next token. */
void feed_next(Feed *feed);
/* Is the innermost open bracket a brace around steps (at the token's place)? */
bool feed_in_steps(const Feed *feed);
/* Forgets the brackets that opened inside the current statement, or only those inside the innermost
 * brace around steps. */
void feed_forget(Feed *feed, bool keep_steps);
/* Is the current token the keyword of a new statement? A guess where `let` or `input` might
 * continue the one before: decided by the token before it and the layout. */
bool feed_at_statement(const Feed *feed);
bool token_closes(int kind);

#endif
