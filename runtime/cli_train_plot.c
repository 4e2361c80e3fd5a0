/* A picture of numbers over steps, as SVG that depends on nothing else. */
#include "runtime/cli_train_plot.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/temporary.h"
#include "runtime/cli.h"

enum { WIDTH = 720, HEIGHT = 400, LEFT = 64, RIGHT = 140, TOP = 40, BOTTOM = 48, NAME_HEIGHT = 14 };
enum { POINTS_MOST = 200, TICKS = 6 };

static const double VALUE_MOST = 1e300; /* differences are finite */

/* One axis of the picture: what lies at its two ends. */
typedef struct Scale {
	double least, most;
	double tick;	 /* what lies between two marks; unused where it is one of powers */
	double from, to; /* in pixels */
	bool log, whole; /* whole: numbers between two of which there is none */
} Scale;

void plot_add(PlotLine *line, double step, double value)
{
	if (!(fabs(value) < VALUE_MOST))
		return;
	if (line->n == line->room) {
		size_t room = line->room ? 2 * line->room : 64;
		PlotPoint *points = realloc(line->points, room * sizeof *points);
		if (!points)
			return;
		line->points = points;
		line->room = room;
	}
	line->points[line->n++] = (PlotPoint){step, value};
}

void plot_free(Plot *plot)
{
	for (int i = 0; i < PLOT_LINES; i++)
		free(plot->lines[i].points);
}

/* ---- scales ---- */

static double place(const Scale *scale, double x)
{
	double at = scale->log ? log10(x / scale->least) / log10(scale->most / scale->least)
			       : (x - scale->least) / (scale->most - scale->least);
	return scale->from + at * (scale->to - scale->from);
}

/* 1, 2 or 5 times a power of ten, so that it goes into the length a few times. */
static double tick_of(const Scale *scale)
{
	double length = scale->most - scale->least;
	double power = pow(10, floor(log10(length / TICKS))), part = length / TICKS / power;
	double tick = power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
	return scale->whole ? fmax(tick, 1) : tick;
}

/* From tick to tick, around least and most. */
static void widen(Scale *scale)
{
	if (scale->most <= scale->least) {
		double more = scale->least != 0 ? fabs(scale->least) / 2 : 1;
		scale->least -= more;
		scale->most += more;
	}
	scale->tick = tick_of(scale);
	scale->least = scale->tick * floor(scale->least / scale->tick);
	scale->most = scale->tick * ceil(scale->most / scale->tick);
}

/* Of 1, 2, 5, 10, 20, 50, ...: number 0 is 1. */
static double decimal(int number)
{
	static const double digit[] = {1, 2, 5};
	int power = number >= 0 ? number / 3 : -((2 - number) / 3);
	return digit[number - 3 * power] * pow(10, power);
}

/* The last such number that is not greater. */
static int decimal_below(double x)
{
	int number = 3 * (int)floor(log10(x)) + 3;
	while (decimal(number) > x)
		number--;
	return number;
}

static void widen_log(Scale *scale)
{
	int most = decimal_below(scale->most);
	scale->least = decimal(decimal_below(scale->least));
	scale->most = decimal(decimal(most) < scale->most ? most + 1 : most);
}

/* Of steps, or of values. */
static Scale scale_of(const Plot *plot, bool values)
{
	Scale scale = {.least = INFINITY, .most = -INFINITY};
	for (int i = 0; i < PLOT_LINES; i++)
		for (size_t k = 0; k < plot->lines[i].n; k++) {
			const PlotPoint *point = &plot->lines[i].points[k];
			double x = values ? point->value : point->step;
			scale.least = fmin(scale.least, x);
			scale.most = fmax(scale.most, x);
		}
	if (scale.most < scale.least)
		scale.least = scale.most = 0;
	if (values) {
		scale.from = HEIGHT - BOTTOM;
		scale.to = TOP;
		scale.log = scale.least > 0 && scale.most >= 10 * scale.least;
	} else {
		scale.from = LEFT;
		scale.to = WIDTH - RIGHT;
		scale.whole = true;
	}
	if (scale.log)
		widen_log(&scale);
	else
		widen(&scale);
	return scale;
}

/* ---- the picture ---- */

static void print_text(FILE *out, const char *text)
{
	for (; *text; text++)
		if (*text == '<' || *text == '&')
			fprintf(out, "&#%d;", *text);
		else
			fputc(*text, out);
}

static void print_tick(FILE *out, const Scale *scale, double x, bool value)
{
	double at = place(scale, x);
	if (value)
		fprintf(out,
			"<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
			"text-anchor=\"end\">%.6g</text>\n",
			LEFT, at, WIDTH - RIGHT, LEFT - 8, at + 4, x);
	else
		fprintf(out,
			"<path class=\"grid\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\" "
			"text-anchor=\"middle\">%.9g</text>\n",
			at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 18, x);
}

/* 1, 2, 5, 10, ..., or where these are many powers of ten, or every second, third, ... of them. */
static void print_decimals(FILE *out, const Scale *scale, bool value)
{
	int first = decimal_below(scale->least), last = decimal_below(scale->most), by = 1;
	if (last - first > TICKS)
		by = 3 * ((last - first) / (3 * TICKS) + 1);
	for (int i = first; i <= last; i++)
		if (i % by == 0)
			print_tick(out, scale, decimal(i), value);
}

static void print_axis(FILE *out, const Scale *scale, bool value)
{
	if (scale->log) {
		print_decimals(out, scale, value);
		return;
	}
	long first = lround(scale->least / scale->tick), last = lround(scale->most / scale->tick);
	for (long i = first; i <= last; i++)
		print_tick(out, scale, (double)i * scale->tick, value);
}

/* Of neighbours, where there are many points. */
static PlotPoint mean_of(const PlotLine *line, size_t from, size_t to)
{
	PlotPoint mean = {0, 0};
	for (size_t i = from; i < to; i++) {
		mean.step += line->points[i].step / (double)(to - from);
		mean.value += line->points[i].value / (double)(to - from);
	}
	return mean;
}

/* A dot at the last point, which may be the only one, and the name behind it, not where another stands. Returns where the
 * name does. */
static double print_name(FILE *out, const char *name, int number, double x, double y, double other)
{
	fprintf(out, "<circle class=\"line%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>\n", number, x, y);
	if (fabs(y - other) < NAME_HEIGHT)
		y = other + (y < other ? -NAME_HEIGHT : NAME_HEIGHT);
	fprintf(out, "<text class=\"name%d\" x=\"%.1f\" y=\"%.1f\">", number, x + 6, y + 4);
	print_text(out, name);
	fputs("</text>\n", out);
	return y;
}

static double print_line(FILE *out, const PlotLine *line, int number, const Scale *steps,
			 const Scale *values, double other)
{
	size_t by = (line->n + POINTS_MOST - 1) / POINTS_MOST;
	PlotPoint point = {0};
	if (line->n == 0)
		return other;
	fprintf(out, "<polyline class=\"line%d\" points=\"", number);
	for (size_t i = 0; i < line->n; i += by) {
		point = mean_of(line, i, i + by < line->n ? i + by : line->n);
		fprintf(out, "%s%.1f,%.1f", i ? " " : "", place(steps, point.step),
			place(values, point.value));
	}
	fputs("\"/>\n", out);
	return print_name(out, line->name, number, place(steps, point.step),
			  place(values, point.value), other);
}

static void print_plot(FILE *out, const Plot *plot)
{
	Scale steps = scale_of(plot, false), values = scale_of(plot, true);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 "
		"%d %d\">\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	fputs("<style>text{font:12px sans-serif;fill:#444}.title{font-size:14px;fill:#111}.grid{stroke:#ddd}"
	      "polyline,circle{fill:none;stroke-width:1.5}.line0{stroke:#1f5fa8}.line1{stroke:#c2570c}"
	      ".name0{fill:#1f5fa8}.name1{fill:#c2570c}</style>\n"
	      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
	      out);
	fprintf(out, "<text class=\"title\" x=\"%d\" y=\"%d\">", LEFT, TOP - 16);
	print_text(out, plot->title);
	fputs("</text>\n", out);
	print_axis(out, &steps, false);
	print_axis(out, &values, true);
	double name = -INFINITY;
	for (int i = 0; i < PLOT_LINES; i++)
		name = print_line(out, &plot->lines[i], i, &steps, &values, name);
	fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n</svg>\n",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10);
}

static bool print_all(const void *plot, FILE *out)
{
	print_plot(out, plot);
	return file_close(out);
}

int plot_write(const Plot *plot, const char *path)
{
	return temporary_write(path, print_all, plot) ? STATUS_OK
						      : report("%s: %s", path, strerror(errno));
}
