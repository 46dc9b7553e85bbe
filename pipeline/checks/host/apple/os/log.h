// Stand-in for type checks: declarations only.
#pragma once
#include <stdint.h>

typedef struct os_log_s* os_log_t;

extern "C" os_log_t os_log_create(const char* subsystem, const char* category);
