/* What the command line and the environment give before any option is read. */
#ifndef TSR_DRIVER_OPTIONS_GIVEN_H
#define TSR_DRIVER_OPTIONS_GIVEN_H

#include "driver/options.h"

/* The words that argp reads, a NULL behind them; ends with status 2 where a response file cannot be read. */
Words options_words(Arena *arena, int argc, char **argv);
/* Where compiled kernels are kept, by the XDG base directories: a path that is not absolute counts as unset. NULL:
 * nowhere. */
const char *options_cache_dir(Arena *arena);
/* The library stands beside the compiler: share/tsr/lib where installed, lib/ of the source tree above a build
 * folder. */
const char *options_library_dir(Arena *arena);

#endif
