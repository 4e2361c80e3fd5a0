/* The one instance of the single-header containers of <stb/stb_ds.h>. */
#define STB_DS_IMPLEMENTATION
#include <stb/stb_ds.h>
