// Requests that kill the workers that serve them. One that has done so twice is not tried again for
// a while: each try costs a process, and everybody else their place in it.
#ifndef PYASC_SERVER_CORE_POISON_H
#define PYASC_SERVER_CORE_POISON_H

#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace pyasc::server {

// Thread-safe. Remembers the last 1024 keys that killed.
class PoisonList {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kDeaths = 2;

  // `memory`: from the last death; 0: nothing is ever refused.
  explicit PoisonList(std::chrono::seconds memory) : memory_(memory) {}

  void CountDeath(const std::string &key, std::string how, Clock::time_point now = Clock::now());
  // How it killed last, when the request is to be refused.
  std::optional<std::string> Refuses(const std::string &key, Clock::time_point now = Clock::now());

private:
  static constexpr size_t kMaxKeys = 1024;
  struct Entry {
    std::string key, how;
    int deaths;
    Clock::time_point last;
  };
  const std::chrono::seconds memory_;
  std::mutex mutex_;
  std::list<Entry> order_; // latest death first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CORE_POISON_H
