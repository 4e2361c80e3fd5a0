/* tsr train: what its files share. Data are read whole, or, where they are large, row by row; a batch is rows of each input
 * whose leftmost axis is that of the batch, put into arrays that stay where they are from step to step. */
#ifndef TSR_RUNTIME_CLI_TRAIN_H
#define TSR_RUNTIME_CLI_TRAIN_H

#include "base/array_rows.h"
#include "runtime/cli.h"

/* ---- cli_train_data.c: arrays by rows ---- */

/* An input's array; of one that has no rows all is given in each step. */
typedef struct Column {
	Assignment *of;
	Array whole;	 /* owned; without elements where rows are read from the file */
	ArrayFile *file; /* owned, as are its rows; NULL: nothing is read from it any more */
	size_t index;	 /* of the array in it */
	ArrayRows *rows;
	bool has_rows;
} Column;

typedef struct Table {
	Column *columns; /* owned */
	size_t ncolumns;
	int64_t rows;
	int64_t fixed; /* rows of a batch that the program says; 0: a dim */
} Table;

/* Reads the files of a routine's inputs among the values that have been looked at. A status. */
int table_read(Table *table, const tsr_routine *routine, Assignment *values, size_t nvalues);
void table_free(Table *table);
/* An array for that many rows of a column, zeroed; false when memory is short. */
bool table_batch(const Column *column, int64_t rows, Array *out, ArrayError *why);
/* Copies or reads the rows to[0 .. n) = whole[order[0 .. n)]; a status. */
int table_gather(const Column *column, const int64_t *order, int64_t n, void *to);
/* 0 .. n - 1 in the order of an epoch: that of the numbers where `shuffled` is not set. */
void table_order(int64_t *order, int64_t n, const uint64_t *seed, uint64_t epoch);

/* ---- cli_train_feed.c: sessions that take batches ---- */

/* A session whose inputs are rows of a table. */
typedef struct Feed {
	tsr_session *session; /* owned */
	const Table *table;
	int64_t rows;
	Request request; /* the command line's; its values and what they come to are owned */
	void **batches;	 /* owned: by column the elements of one of these values */
} Feed;

/* Sets and prepares the session as asked, for `rows` rows of the table, which are there. A status. */
int feed_prepare(Feed *feed, const Request *request);
/* The same with a new session, of a routine, that has the state of another feed's. */
int feed_share(Feed *feed, const Feed *like, const char *routine, const Request *request);
void feed_close(Feed *feed);
/* Runs on the rows order[0 .. feed->rows). A status. */
int feed_run(Feed *feed, const int64_t *order);

/* Results that are one number. */
typedef struct Metrics {
	const tsr_routine *routine;
	int32_t *outputs; /* owned: their places, of floats first: of these the first is the loss */
	double *sums;	  /* owned */
	int32_t n;
	double weight;
} Metrics;

/* A status: there has to be one. */
int metrics_open(Metrics *metrics, const tsr_routine *routine);
void metrics_close(Metrics *metrics);
/* Adds what the session's last run gave, and returns the loss. */
double metrics_add(Metrics *metrics, const tsr_session *session, double weight);
void metrics_clear(Metrics *metrics);
/* "loss 0.25, correct 0.9" */
void metrics_print(FILE *out, const Metrics *metrics);

/* ---- cli_train_fault.c ---- */

/* The state before some steps, and which rows they took. */
typedef struct Replay {
	void *state;   /* owned; NULL: none is kept */
	int64_t first; /* the number of the step that follows */
} Replay;

/* Keeps the state as it is before the step. */
void replay_keep(Replay *replay, const tsr_session *session, int64_t step);
/* Step `step` has a loss that is no number: goes the steps again and tells which parameter was first not to be finite.
 * `again` carries out one. Returns STATUS_ERROR. */
int replay_tell(const Replay *replay, tsr_session *session, int64_t step, const char *loss,
		bool (*again)(void *of, int64_t step), void *of);

#endif
