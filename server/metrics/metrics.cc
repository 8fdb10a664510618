#include "server/metrics/metrics.h"

namespace pyasc::server {

Metrics::Metrics()
    : build_info(NewGauge("build_info", "1; labels: version, build")),
      rpc_duration_seconds(NewHistogram("rpc_duration_seconds",
                                        "Time of an RPC inside the service, by method and code")),
      rpc_in_flight(NewGauge("rpc_in_flight", "RPCs that have not ended")),
      queue_wait_seconds(
          NewHistogram("queue_wait_seconds", "Time that a job waits for a worker, by role")),
      queue_depth(NewGauge("queue_depth", "Jobs that wait for a worker, by role")),
      compile_duration_seconds(
          NewHistogram("compile_duration_seconds", "Time of a compile in its worker, by result")),
      compile_stage_seconds(
          NewHistogram("compile_stage_seconds", "Time of a stage of the compiler, by stage")),
      cache_requests_total(
          NewCounter("cache_requests_total", "Look-ups in the artifact cache, by tier and result")),
      cache_bytes(NewGauge("cache_bytes", "Bytes of artifacts held, by tier")),
      cache_entries(NewGauge("cache_entries", "Artifacts held, by tier")),
      cache_write_failures_total(
          NewCounter("cache_write_failures_total", "Records that a tier failed to write, by tier")),
      cache_corrupt_records_total(
          NewCounter("cache_corrupt_records_total", "Damaged records met and deleted, by tier")),
      cache_damaged_logs_total(NewCounter("cache_damaged_logs_total",
                                          "Write-ahead logs met damaged at a start, by tier")),
      cache_set_aside_total(
          NewCounter("cache_set_aside_total",
                     "Databases that were too damaged to open and set aside, by tier")),
      cache_suspensions_total(NewCounter("cache_suspensions_total",
                                         "Times that a tier was given up for a while, by tier")),
      cache_usable(
          NewGauge("cache_usable", "1 while a tier is in use, 0 while it is not, by tier")),
      cache_evicted_bytes_total(
          NewCounter("cache_evicted_bytes_total", "Bytes evicted, by tier and reason (size, age)")),
      cache_read_seconds(NewHistogram("cache_read_seconds", "Time of a look-up, by tier")),
      singleflight_total(
          NewCounter("singleflight_total", "Callers that led or joined a compile, by role")),
      flights(NewGauge("flights", "Compiles under way that callers can join")),
      admission_rejected_total(
          NewCounter("admission_rejected_total", "Requests refused for load, by reason")),
      device_state(NewGauge("device_state", "1 for the state that a device is in")),
      device_lease_seconds(
          NewHistogram("device_lease_seconds", "Time that a job holds a device, by driver")),
      device_lost_workers_total(
          NewCounter("device_lost_workers_total",
                     "Workers that lost their lease, by driver and end (answered: too late and "
                     "dropped, left, ended)")),
      run_duration_seconds(
          NewHistogram("run_duration_seconds", "Time of a kernel's run in its worker, by driver")),
      buffer_bytes(NewGauge("buffer_bytes", "Bytes of the buffers that callers lease")),
      worker_restarts_total(
          NewCounter("worker_restarts_total", "Workers replaced, by role and reason")),
      workers_alive(NewGauge("workers_alive", "Worker processes, by role")),
      jobs_started_total(NewCounter("jobs_started_total", "Jobs given to a worker, by role")),
      jobs_finished_total(
          NewCounter("jobs_finished_total", "Jobs that came back, however they ended, by role")) {}

Metrics::Counters &Metrics::NewCounter(const char *name, const char *help) {
  return prometheus::BuildCounter()
      .Name(std::string("pyascd_") + name)
      .Help(help)
      .Register(registry_);
}

Metrics::Gauges &Metrics::NewGauge(const char *name, const char *help) {
  return prometheus::BuildGauge()
      .Name(std::string("pyascd_") + name)
      .Help(help)
      .Register(registry_);
}

Metrics::Histograms &Metrics::NewHistogram(const char *name, const char *help) {
  return prometheus::BuildHistogram()
      .Name(std::string("pyascd_") + name)
      .Help(help)
      .Register(registry_);
}

const prometheus::Histogram::BucketBoundaries &Metrics::RpcBuckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {
      100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3,
      50e-3,  0.1,    0.25,   0.5,  1,      2.5,  5,     10};
  return buckets;
}

const prometheus::Histogram::BucketBoundaries &Metrics::WorkBuckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {
      0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600};
  return buckets;
}

void Metrics::ObserveRpc(const std::string &method, const std::string &code, double seconds) {
  prometheus::Histogram *series;
  {
    std::lock_guard lock(rpc_mutex_);
    prometheus::Histogram *&slot = rpc_series_[{method, code}];
    if (!slot)
      slot = &rpc_duration_seconds.Add({{"method", method}, {"code", code}}, RpcBuckets());
    series = slot;
  }
  series->Observe(seconds);
}

} // namespace pyasc::server
