/* A line for each gain and one at the end; on a terminal, one between that is written over. */
#include "tune/report.h"

#include <stdio.h>

#include "tune/trial.h"

static void clear(const Report *r)
{
	if (r->terminal)
		fputs("\r\033[K", stderr);
}

static void print_time(double seconds)
{
	static const struct {
		double least;
		const char *unit;
	} units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {0, "ns"}};
	double scale = 1;
	for (int i = 0; i < 4; i++, scale *= 1e3)
		if (seconds >= units[i].least) {
			fprintf(stderr, "%.1f %s", seconds * scale, units[i].unit);
			return;
		}
}

static void print_threads(const Report *r)
{
	if (r->threads > 1)
		fprintf(stderr, " on %d threads", r->threads);
}

void report_start(const Report *r, double seconds)
{
	fputs("tsrc: tune: the policy's code takes ", stderr);
	print_time(seconds);
	print_threads(r);
	fprintf(stderr, "; %g s to find a faster one\n", r->seconds);
}

void report_progress(const Report *r)
{
	clear(r);
	if (!r->terminal)
		return;
	fprintf(stderr, "tsrc: tune: %.0f of %.0f s, %d candidates, %.3f times as fast",
		now_seconds() - r->start, r->seconds, r->candidates, r->times);
	print_threads(r);
}

void report_faster(Report *r, const char *what)
{
	clear(r);
	fprintf(stderr, "tsrc: tune: %.1f s: %.3f times as fast, %s\n", now_seconds() - r->start,
		r->times, what);
}

static void print_count(int n, const char *what)
{
	if (n)
		fprintf(stderr, ", %d %s", n, what);
}

void report_end(const Report *r, bool signalled)
{
	clear(r);
	fprintf(stderr, "tsrc: tune: %s after %.1f s: %d candidates",
		signalled ? "ended by a signal" : "done", now_seconds() - r->start, r->candidates);
	print_count(r->faster, "faster");
	print_count(r->slower, "no faster");
	print_count(r->known, "the same loops as others");
	print_count(r->refused, "refused");
	print_count(r->late, "ended by their limit of time");
	print_count(r->crashed, "crashed");
	print_count(r->differs, "with other numbers");
	fprintf(stderr, "\ntsrc: tune: %.3f times as fast as the policy's schedule", r->times);
	print_threads(r);
	fputc('\n', stderr);
	if (r->first_crash)
		fprintf(stderr, "tsrc: tune: the first that crashed was %s\n", r->first_crash);
	if (r->first_difference)
		fprintf(stderr, "tsrc: tune: the first with other numbers was %s\n",
			r->first_difference);
}
