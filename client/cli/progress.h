// One line on the terminal that says what a long call is doing and for how long.
#ifndef PYASC_CLIENT_CLI_PROGRESS_H
#define PYASC_CLIENT_CLI_PROGRESS_H

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "pyasc/v1/execution.pb.h"

namespace pyasc::cli {

// Draws on standard error when that is a terminal, and not before 300 ms have passed; otherwise
// does nothing. Thread-safe.
class ProgressLine {
public:
  explicit ProgressLine(bool enabled);
  ~ProgressLine();

  void Update(const v1::Progress &progress);
  // Wipes the line, so that other output may follow; the next tick draws it again.
  void Clear();

private:
  void Loop();
  void Wipe();

  const bool enabled_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  bool drawn_ = false;
  std::string stage_;
  double fraction_ = -1;
  std::thread thread_;
};

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_PROGRESS_H
