// All metrics of pyascd: one member each. Names have the prefix pyascd_. No label ever holds a
// key, a user or a kernel's name, so the number of series is bounded.
#ifndef PYASC_SERVER_METRICS_METRICS_H
#define PYASC_SERVER_METRICS_METRICS_H

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace pyasc::server {

// Thread-safe.
class Metrics {
public:
  Metrics();

  prometheus::Registry &registry() { return registry_; }

private:
  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Histograms = prometheus::Family<prometheus::Histogram>;
  Counters &NewCounter(const char *name, const char *help);
  Gauges &NewGauge(const char *name, const char *help);
  Histograms &NewHistogram(const char *name, const char *help);

  prometheus::Registry registry_;

public:
  // 100 us .. 10 s, and 10 ms .. 10 min.
  static const prometheus::Histogram::BucketBoundaries &RpcBuckets();
  static const prometheus::Histogram::BucketBoundaries &WorkBuckets();

  // Labels: see the strings in metrics.cc.
  Gauges &build_info;
  Histograms &rpc_duration_seconds;
  Gauges &rpc_in_flight;
  Histograms &queue_wait_seconds;
  Gauges &queue_depth;
  Histograms &compile_duration_seconds;
  Histograms &compile_stage_seconds;
  Counters &cache_requests_total;
  Gauges &cache_bytes;
  Gauges &cache_entries;
  Counters &cache_write_failures_total;
  Counters &cache_corrupt_records_total;
  Counters &cache_damaged_logs_total;
  Counters &cache_set_aside_total;
  Counters &cache_suspensions_total;
  Gauges &cache_usable;
  Counters &cache_evicted_bytes_total;
  Histograms &cache_read_seconds;
  Counters &singleflight_total;
  Gauges &flights;
  Counters &admission_rejected_total;
  Gauges &device_state;
  Histograms &device_lease_seconds;
  Counters &device_lost_workers_total;
  Histograms &run_duration_seconds;
  Gauges &buffer_bytes;
  Counters &worker_restarts_total;
  Gauges &workers_alive;
  Counters &jobs_started_total;
  Counters &jobs_finished_total;

  // Records one RPC; cheap after the first call with these labels.
  void ObserveRpc(const std::string &method, const std::string &code, double seconds);

private:
  std::mutex rpc_mutex_;
  std::map<std::pair<std::string, std::string>, prometheus::Histogram *> rpc_series_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_METRICS_METRICS_H
