// A few threads for work that may block shortly: disk reads, checks of artifacts. Never compiles.
#ifndef PYASC_SERVER_CORE_EXECUTOR_H
#define PYASC_SERVER_CORE_EXECUTOR_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace pyasc::server {

// Its queue is bounded by admission: one entry a call at most.
class Executor {
public:
  explicit Executor(size_t threads) {
    for (size_t i = 0; i < threads; ++i)
      threads_.emplace_back([this] { Serve(); });
  }
  // Finishes what was posted.
  ~Executor() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread &thread : threads_)
      thread.join();
  }
  void Post(std::function<void()> work) {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_one();
  }

private:
  void Serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty())
        return;
      std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CORE_EXECUTOR_H
