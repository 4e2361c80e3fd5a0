#ifndef TSR_TEST_FAKE_MODULE_H
#define TSR_TEST_FAKE_MODULE_H

#include "runtime/tsr.h"

extern const tsr_module fake_module, tsr_module_table;

#endif
