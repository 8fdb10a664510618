// A bounded queue that gives every tenant its share.
//
// Tenants take turns by the time that their work has taken, divided by their weight; one that comes
// back after a pause has no credit from it. Within a tenant, higher priorities go first, and equals
// in the order they came: nobody gets ahead of another tenant by calling its own work urgent.
#ifndef PYASC_SERVER_CORE_FAIR_QUEUE_H
#define PYASC_SERVER_CORE_FAIR_QUEUE_H

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pyasc::server {

// Whose work it is.
struct Share {
  std::string tenant;
  double weight = 1;
  int priority = 0;
  size_t max_queued = 0; // of this tenant; 0: the queue's own bound only
};

// Not thread-safe.
template <typename T> class FairQueue {
public:
  explicit FairQueue(size_t max_size) : max_size_(max_size) {}

  // Whether Push would take one more of this share.
  bool HasRoom(const Share &share) const {
    if (size_ >= max_size_)
      return false;
    auto found = tenants_.find(share.tenant);
    return share.max_queued == 0 || found == tenants_.end() ||
           found->second.size < share.max_queued;
  }
  // REQUIRES: HasRoom(share).
  void Push(const Share &share, T item) {
    Tenant &tenant = tenants_[share.tenant];
    if (tenant.size == 0)
      tenant.used = std::max(tenant.used, clock_);
    tenant.weight = share.weight > 0 ? share.weight : 1;
    tenant.items[share.priority].push_back(std::move(item));
    ++tenant.size;
    ++size_;
  }
  // The next item, and whose it is. REQUIRES: !empty(). `expected`: seconds that it will take, as
  // far as one can tell; Charge() corrects it afterwards.
  std::pair<T, std::string> Pop(double expected) {
    auto next = tenants_.end();
    for (auto it = tenants_.begin(); it != tenants_.end(); ++it)
      if (it->second.size > 0 && (next == tenants_.end() || it->second.used < next->second.used))
        next = it;
    Tenant &tenant = next->second;
    clock_ = std::max(clock_, tenant.used);
    auto first = tenant.items.begin();
    T item = std::move(first->second.front());
    first->second.pop_front();
    if (first->second.empty())
      tenant.items.erase(first);
    --tenant.size;
    --size_;
    tenant.used += expected / tenant.weight;
    return {std::move(item), next->first};
  }
  // What an item took beyond (or below) what was expected.
  void Charge(const std::string &name, double seconds) {
    auto found = tenants_.find(name);
    if (found == tenants_.end())
      return;
    found->second.used += seconds / found->second.weight;
    // Those who have nothing here and no debt are forgotten.
    if (tenants_.size() > kMaxIdle)
      std::erase_if(tenants_, [&](const auto &entry) {
        return entry.second.size == 0 && entry.second.used <= clock_;
      });
  }
  std::vector<T> TakeAll() {
    std::vector<T> all;
    for (auto &[name, tenant] : tenants_)
      for (auto &[priority, items] : tenant.items)
        std::move(items.begin(), items.end(), std::back_inserter(all));
    tenants_.clear();
    size_ = 0;
    return all;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ >= max_size_; }

private:
  static constexpr size_t kMaxIdle = 256;
  struct Tenant {
    std::map<int, std::deque<T>, std::greater<>> items; // by priority
    size_t size = 0;
    double weight = 1;
    double used = 0; // seconds by weight
  };
  const size_t max_size_;
  std::map<std::string, Tenant> tenants_;
  size_t size_ = 0;
  double clock_ = 0; // what the tenant that was served last had used
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CORE_FAIR_QUEUE_H
