#include "server/metrics/http_server.h"

#include <atomic>
#include <thread>

#include <arpa/inet.h>
#include <civetweb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "prometheus/text_serializer.h"

namespace pyasc::server {
namespace {

int Answer(mg_connection *connection, int code, const char *reason, const char *type,
           const std::string &body) {
  std::string head =
      absl::StrCat("HTTP/1.1 ", code, " ", reason, "\r\nContent-Type: ", type,
                   "\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n");
  mg_write(connection, head.data(), head.size());
  mg_write(connection, body.data(), body.size());
  return code;
}

// Connects to a port of this machine and hangs up.
void WakeListener(int port) {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)::connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address));
  ::close(fd);
}

} // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Options options, Metrics &metrics) {
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(options), metrics));
  const char *settings[] = {"listening_ports",
                            server->options_.listen.c_str(),
                            "num_threads",
                            "2",
                            "request_timeout_ms",
                            "5000",
                            nullptr};
  mg_callbacks callbacks{};
  server->context_ = mg_start(&callbacks, nullptr, settings);
  if (!server->context_)
    return absl::UnavailableError(
        absl::StrCat("cannot serve HTTP on ", server->options_.listen, ": is the port taken?"));
  mg_set_request_handler(server->context_, "/metrics$", ServeMetrics, server.get());
  mg_set_request_handler(server->context_, "/livez$", ServeLive, server.get());
  mg_set_request_handler(server->context_, "/readyz$", ServeReady, server.get());
  return server;
}

HttpServer::~HttpServer() {
  if (!context_)
    return;
  // civetweb looks at its stop flag when its poll of two seconds ends, or somebody connects.
  mg_server_port port{};
  mg_get_server_ports(context_, 1, &port);
  std::atomic<bool> stopped = false;
  std::thread waker([&] {
    while (!stopped) {
      WakeListener(port.port);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  mg_stop(context_);
  stopped = true;
  waker.join();
}

int HttpServer::ServeMetrics(mg_connection *connection, void *self) {
  auto *server = static_cast<HttpServer *>(self);
  if (server->options_.before_scrape)
    server->options_.before_scrape();
  prometheus::TextSerializer serializer;
  return Answer(connection, 200, "OK", "text/plain; version=0.0.4; charset=utf-8",
                serializer.Serialize(server->metrics_.registry().Collect()));
}

int HttpServer::ServeLive(mg_connection *connection, void *) {
  return Answer(connection, 200, "OK", "text/plain", "ok\n");
}

int HttpServer::ServeReady(mg_connection *connection, void *self) {
  auto *server = static_cast<HttpServer *>(self);
  if (server->options_.ready())
    return Answer(connection, 200, "OK", "text/plain", "ok\n");
  return Answer(connection, 503, "Service Unavailable", "text/plain", "not ready\n");
}

} // namespace pyasc::server
