#include "server/worker/sandbox.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace pyasc::server {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PYASC_NO_SANDBOX 1
#endif
#endif

#ifndef PYASC_NO_SANDBOX

// Whatever their arguments.
constexpr int kAllowed[] = {
    // descriptors that are there
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(pwrite64),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendmsg),
    SCMP_SYS(recvfrom),
    SCMP_SYS(sendto),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(close),
    SCMP_SYS(fstat),
    SCMP_SYS(lseek),
    // memory; host kernels are code that has just been made
    SCMP_SYS(mmap),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(mprotect),
    SCMP_SYS(madvise),
    SCMP_SYS(brk),
    SCMP_SYS(membarrier),
    // threads
    SCMP_SYS(futex),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(get_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(getcpu),
    // signals of its own
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    // time and chance
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(times),
    SCMP_SYS(getrandom),
    SCMP_SYS(getrusage),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(pause),
    // the end
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

// Refused without ending the process: libraries try them and can do without.
struct Refused {
  int call;
  int error;
};
constexpr Refused kRefused[] = {
    {SCMP_SYS(open), EACCES},
    {SCMP_SYS(openat), EACCES},
    {SCMP_SYS(openat2), EACCES},
    {SCMP_SYS(access), EACCES},
    {SCMP_SYS(faccessat), EACCES},
    {SCMP_SYS(faccessat2), EACCES},
    {SCMP_SYS(stat), EACCES},
    {SCMP_SYS(lstat), EACCES},
    {SCMP_SYS(statx), EACCES},
    {SCMP_SYS(readlink), EACCES},
    {SCMP_SYS(readlinkat), EACCES},
    {SCMP_SYS(getcwd), EACCES},
    {SCMP_SYS(statfs), EACCES},
    {SCMP_SYS(clone3), ENOSYS}, // its flags cannot be seen here
    {SCMP_SYS(sched_setaffinity), EPERM},
    {SCMP_SYS(setpriority), EPERM},
    {SCMP_SYS(ioctl), ENOTTY},
};

struct Release {
  void operator()(void *context) const { seccomp_release(context); }
};

#endif

} // namespace

absl::Status EnterSandbox() {
#ifdef PYASC_NO_SANDBOX
  return absl::OkStatus();
#else
  // No core files, and no other process of the user's may attach.
  ::prctl(PR_SET_DUMPABLE, 0);
  std::unique_ptr<void, Release> filter(seccomp_init(SCMP_ACT_KILL_PROCESS));
  if (!filter)
    return absl::UnavailableError("cannot make a seccomp filter");
  int error = seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  auto add = [&](uint32_t action, int call, std::initializer_list<scmp_arg_cmp> when = {}) {
    // A call that this architecture does not have (negative) needs no rule.
    if (error == 0 && call >= 0)
      error = seccomp_rule_add_array(filter.get(), action, call, when.size(), when.begin());
  };
  for (int call : kAllowed)
    add(SCMP_ACT_ALLOW, call);
  for (const Refused &refused : kRefused)
    add(SCMP_ACT_ERRNO(refused.error), refused.call);
  // A path is a file to look at, an empty one a descriptor that is open.
  add(SCMP_ACT_ERRNO(EACCES), SCMP_SYS(newfstatat),
      {SCMP_CMP32(0, SCMP_CMP_EQ, uint32_t(AT_FDCWD))});
  add(SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), {SCMP_CMP(0, SCMP_CMP_LT, 1 << 20)});
  // Threads, no processes.
  add(SCMP_ACT_ALLOW, SCMP_SYS(clone),
      {SCMP_CMP(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)});
  // Signals to itself: abort() and assertions.
  const auto self = static_cast<scmp_datum_t>(::getpid());
  add(SCMP_ACT_ALLOW, SCMP_SYS(tgkill), {SCMP_CMP(0, SCMP_CMP_EQ, self)});
  add(SCMP_ACT_ALLOW, SCMP_SYS(kill), {SCMP_CMP(0, SCMP_CMP_EQ, self)});
  // Limits may be read.
  add(SCMP_ACT_ALLOW, SCMP_SYS(prlimit64),
      {SCMP_CMP(0, SCMP_CMP_EQ, 0), SCMP_CMP(2, SCMP_CMP_EQ, 0)});
  // Names of threads and of memory, for whoever looks at them.
  add(SCMP_ACT_ALLOW, SCMP_SYS(prctl), {SCMP_CMP(0, SCMP_CMP_EQ, PR_SET_NAME)});
  add(SCMP_ACT_ALLOW, SCMP_SYS(prctl), {SCMP_CMP(0, SCMP_CMP_EQ, 0x53564d41 /*PR_SET_VMA*/)});
  // Sizes and seals of tensors' memory.
  if (error == 0)
    error = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
                             SCMP_CMP(1, SCMP_CMP_EQ, F_GET_SEALS));
  if (error == 0)
    error = seccomp_load(filter.get());
  if (error != 0)
    return absl::UnavailableError(
        absl::StrCat("cannot enter the sandbox: ", std::strerror(-error)));
  return absl::OkStatus();
#endif
}

} // namespace pyasc::server
