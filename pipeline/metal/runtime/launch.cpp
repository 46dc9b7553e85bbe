// Entry point from Python. A kernel that faults or does not end is abandoned: the signal is turned into an outcome.
#include "launch.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "division.h"
#include "fiber.h"

namespace metal_cpu {

Request request;
Outcome mcpu_outcome;

static u32 random_state;

u32 random_below(u32 bound) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  return u32((u64(random_state) * bound) >> 32);
}

static bool same_site(const Site& a, const Site& b) {
  return a.operation == b.operation && a.line == b.line && a.file == b.file;
}

void record(const Event& event) {
  for (u32 i = 0; i < outcome.event_count; ++i) {
    Event& seen = outcome.events[i];
    if (seen.note == event.note && same_site(seen.site, event.site) && same_site(seen.other_site, event.other_site) &&
        seen.access.code == event.access.code && seen.other_access.code == event.other_access.code) {
      ++seen.count;
      return;
    }
  }
  if (outcome.event_count == Outcome::max_events) return;
  outcome.events[outcome.event_count] = event;
  outcome.events[outcome.event_count++].count = 1;
}

extern "C" float mcpu_fmod(float x, float y) { return fmodf(x, y); }

// ---- signals ----

static sigjmp_buf escape;
static volatile sig_atomic_t in_kernel;
static pthread_t kernel_thread;

constexpr int timeout_signal = SIGURG;  // ignored by default, so one that comes too late does no harm
constexpr int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, timeout_signal};
constexpr int caught_count = sizeof caught / sizeof caught[0];
static struct sigaction previous[caught_count];

static void chain(int signal, siginfo_t* info, void* context) {
  for (int i = 0; i < caught_count; ++i) {
    if (caught[i] != signal) continue;
    if (previous[i].sa_flags & SA_SIGINFO) {
      previous[i].sa_sigaction(signal, info, context);
    } else if (previous[i].sa_handler == SIG_DFL) {
      ::signal(signal, SIG_DFL);
      raise(signal);
    } else if (previous[i].sa_handler != SIG_IGN) {
      previous[i].sa_handler(signal);
    }
  }
}

void stop(Stop why) {
  outcome.stop = why;
  for (int i = 0; i < 3; ++i) outcome.stopped_group[i] = current_geometry().group[i];
  siglongjmp(escape, 1);
}

static void record_division() {
  Event event = {};
  event.note = note_division_by_zero;
  for (int i = 0; i < 3; ++i) event.group[i] = current_geometry().group[i];
  record(event);
}

static void on_signal(int signal, siginfo_t* info, void* context) {
  if (!in_kernel || !pthread_equal(pthread_self(), kernel_thread)) {
    if (signal != timeout_signal) chain(signal, info, context);
    return;
  }
  const Fiber* fiber = running_fiber();
  if (signal == SIGFPE) {
    const Division division = finish_division(context);
    if (division == Division::by_zero && !request.checked) record_division();  // a checked kernel tells the place
    if (division != Division::none) return;
  }
  outcome.signal = u32(signal);
  outcome.fault_address = signal == SIGSEGV || signal == SIGBUS ? u64(info->si_addr) : 0;
  stop(fiber && outcome.fault_address && overflowed(*fiber, info->si_addr) ? stop_stack : stop_signal);
}

static void install_handlers() {
  static char alternate_stack[64 * 1024];
  stack_t stack = {};
  stack.ss_sp = alternate_stack;
  stack.ss_size = sizeof alternate_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int i = 0; i < caught_count; ++i) sigaction(caught[i], &action, &previous[i]);
}

static void restore_handlers(const stack_t& stack) {
  for (int i = 0; i < caught_count; ++i) sigaction(caught[i], &previous[i], nullptr);
  sigaltstack(&stack, nullptr);
}

// ---- timeout ----

// A thread looks at the clock ten times a second. It sleeps for good when no kernel ran for that long, so that a launch
// rarely has to wake it.
static pthread_mutex_t watch_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t watch_changed = PTHREAD_COND_INITIALIZER;
static u64 deadline_ms;  // 0: no kernel runs
static bool watcher_sleeps, launched_lately;
constexpr u64 look_every_ms = 100;

static u64 now_ms() {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return u64(now.tv_sec) * 1000 + u64(now.tv_nsec) / 1000000;
}

static void* watch(void*) {
  pthread_mutex_lock(&watch_mutex);
  for (;;) {
    watcher_sleeps = !deadline_ms && !launched_lately;
    launched_lately = false;
    if (watcher_sleeps) {
      pthread_cond_wait(&watch_changed, &watch_mutex);
      continue;
    }
    const u64 until = now_ms() + look_every_ms;
    const struct timespec when = {time_t(until / 1000), long(until % 1000) * 1000000};
    pthread_cond_timedwait(&watch_changed, &watch_mutex, &when);
    if (deadline_ms && now_ms() >= deadline_ms) pthread_kill(kernel_thread, timeout_signal);
  }
  return nullptr;
}

static void set_deadline(u32 timeout_ms) {
  static pthread_t watcher;
  static pid_t owner;  // a forked child has no watcher yet
  pthread_mutex_lock(&watch_mutex);
  deadline_ms = timeout_ms ? now_ms() + timeout_ms : 0;
  launched_lately = true;
  if (owner != getpid()) {
    owner = getpid();
    pthread_create(&watcher, nullptr, watch, nullptr);
    pthread_detach(watcher);
  }
  if (watcher_sleeps) pthread_cond_signal(&watch_changed);
  pthread_mutex_unlock(&watch_mutex);
}

// ---- subnormal numbers ----

#if defined(__x86_64__)
using FloatControl = u32;
static FloatControl float_control() {
  u32 mxcsr;
  asm volatile("stmxcsr %0" : "=m"(mxcsr));
  return mxcsr;
}
static void set_float_control(FloatControl mxcsr) { asm volatile("ldmxcsr %0" : : "m"(mxcsr)); }
constexpr FloatControl flush_bits = 0x8040;  // flush results to zero, take subnormal operands as zero
#else
using FloatControl = u64;
static FloatControl float_control() {
  u64 fpcr;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  return fpcr;
}
static void set_float_control(FloatControl fpcr) { asm volatile("msr fpcr, %0" : : "r"(fpcr)); }
constexpr FloatControl flush_bits = 1u << 24;
#endif

extern "C" __attribute__((visibility("default"))) void mcpu_launch(const Request* asked) {
  request = *asked;
  memset(&outcome, 0, offsetof(Outcome, events));
  random_state = request.seed * 2654435761u | 1u;
  stack_t stack;
  sigaltstack(nullptr, &stack);
  install_handlers();
  kernel_thread = pthread_self();
  const FloatControl control = float_control();
  if (request.timeout_ms) set_deadline(request.timeout_ms);
  if (sigsetjmp(escape, 1) == 0) {
    set_float_control(request.flush_subnormals ? control | flush_bits : control);
    in_kernel = 1;
    request.reset();
    if (request.checked) begin_accesses();
    run_grid();
  }
  in_kernel = 0;
  set_float_control(control);
  if (request.timeout_ms) set_deadline(0);
  restore_handlers(stack);
}

}  // namespace metal_cpu
