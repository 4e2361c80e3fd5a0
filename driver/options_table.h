/* Which options there are; options.c has what each sets. */
#ifndef TSR_DRIVER_OPTIONS_TABLE_H
#define TSR_DRIVER_OPTIONS_TABLE_H

#include <argp.h>

/* Options without a letter. */
enum {
	KEY_EMIT = 256,
	KEY_DUMP,
	KEY_STOP,
	KEY_FROM,
	KEY_PREFIX,
	KEY_TARGET,
	KEY_TARGET_FILE,
	KEY_MEASURE_TARGET,
	KEY_MD,
	KEY_MMD,
	KEY_MF,
	KEY_MT,
	KEY_MP,
	KEY_EXPLAIN,
	KEY_EXPLAIN_SHAPE,
	KEY_EXPLAIN_CLOSED,
	KEY_TIME_REPORT,
	KEY_DRY_RUN,
	KEY_VERIFY,
	KEY_SHUFFLE,
	KEY_CHECK_GRAD,
	KEY_FP,
	KEY_F32_MATMUL,
	KEY_GPU_PROMOTE,
	KEY_GRAIN,
	KEY_MAX_WORKSPACE,
	KEY_KEEP,
	KEY_SCHEDULE,
	KEY_POLICY,
	KEY_TUNE,
	KEY_TUNE_WITH,
	KEY_THREADS,
	KEY_NO_PREPACK,
	KEY_CHECKED,
	KEY_NO_CACHE,
	KEY_CACHE_DIR,
	KEY_COMPLETION
};

/* As argp reads them and --help shows them. */
extern const struct argp_option options_table[];

#endif
