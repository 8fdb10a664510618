// The plain HTTP port for probes and Prometheus: /metrics, /livez, /readyz.
#ifndef PYASC_SERVER_METRICS_HTTP_SERVER_H
#define PYASC_SERVER_METRICS_HTTP_SERVER_H

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/metrics/metrics.h"

struct mg_context;
struct mg_connection;

namespace pyasc::server {

class HttpServer {
public:
  struct Options {
    // "127.0.0.1:9464".
    std::string listen;
    // Called before every scrape: refreshes gauges. From a thread of the server.
    std::function<void()> before_scrape;
    std::function<bool()> ready;
  };
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(Options options, Metrics &metrics);
  ~HttpServer();

private:
  HttpServer(Options options, Metrics &metrics) : options_(std::move(options)), metrics_(metrics) {}
  static int ServeMetrics(mg_connection *connection, void *self);
  static int ServeLive(mg_connection *connection, void *self);
  static int ServeReady(mg_connection *connection, void *self);

  Options options_;
  Metrics &metrics_;
  mg_context *context_ = nullptr;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_METRICS_HTTP_SERVER_H
