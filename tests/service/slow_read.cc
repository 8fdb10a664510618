// Preloaded into a daemon by a test: reads of the cache's files take SLOW_READ_MS longer.

#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void Delay(int fd) {
  static const int kMs = std::getenv("SLOW_READ_MS") ? std::atoi(std::getenv("SLOW_READ_MS")) : 0;
  char link[32], path[4096];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t n = ::readlink(link, path, sizeof(path) - 1);
  if (n <= 0)
    return;
  path[n] = '\0';
  if (std::strstr(path, ".sst") || std::strstr(path, ".blob"))
    ::usleep(kMs * 1000);
}

} // namespace

extern "C" ssize_t pread64(int fd, void *to, size_t size, off64_t at) {
  using Read = ssize_t (*)(int, void *, size_t, off64_t);
  static const Read kReal = reinterpret_cast<Read>(::dlsym(RTLD_NEXT, "pread64"));
  Delay(fd);
  return kReal(fd, to, size, at);
}

extern "C" ssize_t pread(int fd, void *to, size_t size, off_t at) {
  return pread64(fd, to, size, at);
}
