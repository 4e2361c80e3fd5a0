/* The steps of tsr train. */
#ifndef TSR_RUNTIME_CLI_TRAIN_LOOP_H
#define TSR_RUNTIME_CLI_TRAIN_LOOP_H

#include "runtime/cli_train.h"

typedef struct Train {
	Request request;
	size_t nvalues, all_values; /* those in front of --valid; all */
	const char *valid_routine, *save, *resume, *log, *plot;
	int64_t batch, epochs, every; /* every: 0: lines of epochs alone */
	uint64_t seed;		      /* of --shuffle */
	bool shuffles, keep_last;
	tsr_model *model;
	Table table, valid_table;
	Feed feed, rest, valid, valid_rest; /* feed: of whole batches, with the state of all */
	Metrics metrics, valid_metrics;
	Replay replay;
	int64_t *order;	 /* of the rows, in */
	int64_t ordered; /* this epoch; -1: none yet */
} Train;

/* Carries out all steps, from that of the checkpoint that is resumed on. A status. */
int train_loop(Train *train);

#endif
