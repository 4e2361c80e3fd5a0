/* tsr train: a picture of numbers over steps. */
#ifndef TSR_RUNTIME_CLI_TRAIN_PLOT_H
#define TSR_RUNTIME_CLI_TRAIN_PLOT_H

#include <stddef.h>

enum { PLOT_LINES = 2 };

typedef struct PlotPoint {
	double step, value;
} PlotPoint;

/* A name, NULL where there is no such line, and points in the order of their steps. */
typedef struct PlotLine {
	const char *name;  /* the caller's */
	PlotPoint *points; /* owned */
	size_t n, room;
} PlotLine;

typedef struct Plot {
	const char *title; /* the caller's */
	PlotLine lines[PLOT_LINES];
} Plot;

/* Adds a point; values from 1e300 on, what is no number, and what there is no memory for are left out. */
void plot_add(PlotLine *line, double step, double value);
/* Writes the plot as SVG, in the place of what the file was before; a scale of powers of ten where all values are positive
 * and a decade or more apart. The same points make the same bytes. A status, where a failure was told. */
int plot_write(const Plot *plot, const char *path);
void plot_free(Plot *plot);

#endif
