// Operations whose result C++ and MSL leave open, reported by clang's -fsanitize=undefined checks with their place in
// the source. The operation then goes on with what the processor gives.
#include "launch.h"

namespace metal_cpu {

// How clang hands over a place; the first member of every check's data.
struct SourceLocation {
  const char* file;
  u32 line;
  u32 column;
};

static void record_undefined(Note note, const void* data) {
  const SourceLocation& location = *static_cast<const SourceLocation*>(data);
  Event event = {};
  event.note = note;
  event.thread = mcpu_current_thread;
  for (int i = 0; i < 3; ++i) event.group[i] = current_geometry().group[i];
  event.site = Site{op_undefined, location.line, location.file, 0};
  record(event);
}

}  // namespace metal_cpu

#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT void __ubsan_handle_shift_out_of_bounds(const void* data, const void*, const void*) {
  metal_cpu::record_undefined(metal_cpu::note_shift_out_of_range, data);
}
EXPORT void __ubsan_handle_divrem_overflow(const void* data, const void*, const void*) {
  metal_cpu::record_undefined(metal_cpu::note_division_by_zero, data);
}
EXPORT void __ubsan_handle_float_cast_overflow(const void* data, const void*) {
  metal_cpu::record_undefined(metal_cpu::note_conversion_overflow, data);
}
EXPORT void __ubsan_handle_out_of_bounds(const void* data, const void*) {
  metal_cpu::record_undefined(metal_cpu::note_index_out_of_bounds, data);
}
