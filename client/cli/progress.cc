#include "client/cli/progress.h"

#include <chrono>
#include <cstdio>
#include <unistd.h>

#include "absl/strings/str_format.h"

namespace pyasc::cli {

ProgressLine::ProgressLine(bool enabled) : enabled_(enabled && ::isatty(STDERR_FILENO)) {
  if (enabled_)
    thread_ = std::thread([this] { Loop(); });
}

ProgressLine::~ProgressLine() {
  if (!enabled_)
    return;
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
  Wipe();
}

void ProgressLine::Update(const v1::Progress &progress) {
  std::lock_guard lock(mutex_);
  stage_ = progress.stage();
  fraction_ = progress.has_fraction() ? progress.fraction() : -1;
}

void ProgressLine::Clear() {
  std::lock_guard lock(mutex_);
  Wipe();
}

void ProgressLine::Wipe() {
  if (drawn_)
    std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

void ProgressLine::Loop() {
  auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::milliseconds(drawn_ ? 100 : 300),
                         [this] { return ending_; })) {
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    std::string line =
        absl::StrFormat("%s, %.1f s", stage_.empty() ? "connecting" : stage_, elapsed.count());
    if (fraction_ >= 0)
      line += absl::StrFormat(", %.0f %%", fraction_ * 100);
    std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
    std::fflush(stderr);
    drawn_ = true;
  }
}

} // namespace pyasc::cli
