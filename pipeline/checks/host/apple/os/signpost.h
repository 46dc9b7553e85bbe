// Stand-in for type checks: declarations only.
#pragma once
#include <os/log.h>

typedef uint64_t os_signpost_id_t;
typedef uint8_t os_signpost_type_t;

#define os_signpost_event_emit(...) ((void)0)
#define os_signpost_interval_begin(...) ((void)0)
#define os_signpost_interval_end(...) ((void)0)
