// `pyasc-worker --role=local` as a child: the service without a daemon.
#ifndef PYASC_CLIENT_CPP_LOCAL_WORKER_H
#define PYASC_CLIENT_CPP_LOCAL_WORKER_H

#include <memory>
#include <string>
#include <sys/types.h>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/files.h"

namespace pyasc::client {

// A running worker that serves the gRPC services of one client on a socket in a private
// directory. It ends when this object is destroyed, and when this process dies in any way: its
// standard input is a pipe whose other end only we hold. Not thread-safe.
class LocalWorker {
public:
  // Starts `bin_dir`/pyasc-worker and waits until it listens. Errors: UNAVAILABLE with what the
  // worker wrote to its standard error.
  static absl::StatusOr<std::unique_ptr<LocalWorker>> Start(const std::string &bin_dir,
                                                            absl::Duration timeout);
  ~LocalWorker();

  // "unix:/..."
  const std::string &address() const { return address_; }

  // "" while it runs; else how it ended and the end of what it wrote. Waits up to `patience` for
  // the end, for use after a call has failed.
  std::string Obituary(absl::Duration patience);

  // Removes the directories of all live workers. Async-signal-safe, for handlers that end the
  // process.
  static void RemoveDirectoriesInSignalHandler();

private:
  LocalWorker() = default;

  std::string directory_;
  std::string address_;
  std::string stderr_path_;
  FileDescriptor stdin_;
  FileDescriptor stdout_;
  pid_t pid_ = -1;
  int wait_status_ = 0;
  bool ended_ = false;
};

} // namespace pyasc::client

#endif // PYASC_CLIENT_CPP_LOCAL_WORKER_H
