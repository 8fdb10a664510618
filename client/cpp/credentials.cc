#include "client/cpp/credentials.h"

#include <cstdlib>
#include <vector>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/files.h"

namespace pyasc::client {
namespace {

namespace interception = grpc::experimental;

// Adds the token to every call.
class TokenInterceptor final : public interception::Interceptor {
public:
  explicit TokenInterceptor(const std::string &header) : header_(header) {}
  void Intercept(interception::InterceptorBatchMethods *methods) override {
    if (methods->QueryInterceptionHookPoint(
            interception::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA))
      methods->GetSendInitialMetadata()->insert({"authorization", header_});
    methods->Proceed();
  }

private:
  const std::string &header_; // the factory's
};

class TokenInterceptorFactory final : public interception::ClientInterceptorFactoryInterface {
public:
  explicit TokenInterceptorFactory(const std::string &token)
      : header_(absl::StrCat("Bearer ", token)) {}
  interception::Interceptor *CreateClientInterceptor(interception::ClientRpcInfo *) override {
    return new TokenInterceptor(header_);
  }

private:
  const std::string header_;
};

std::string Variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

absl::Status ReadNamed(const char *variable, std::string *content) {
  const std::string path = Variable(variable);
  if (path.empty())
    return absl::OkStatus();
  absl::StatusOr<std::string> read = ReadFile(path);
  if (!read.ok())
    return absl::InvalidArgumentError(absl::StrCat(variable, ": ", read.status().message()));
  *content = *std::move(read);
  return absl::OkStatus();
}

bool StaysHere(const std::string &address) {
  return absl::StartsWith(address, "unix:") || absl::StartsWith(address, "127.") ||
         absl::StartsWith(address, "localhost:") || absl::StartsWith(address, "[::1]:");
}

} // namespace

absl::StatusOr<Credentials> CredentialsFromEnvironment() {
  Credentials credentials;
  for (auto [variable, content] : {std::pair{"PYASC_TLS_CA", &credentials.tls_ca},
                                   {"PYASC_TLS_CERTIFICATE", &credentials.tls_certificate},
                                   {"PYASC_TLS_KEY", &credentials.tls_key},
                                   {"PYASC_TOKEN_FILE", &credentials.token}})
    if (absl::Status s = ReadNamed(variable, content); !s.ok())
      return s;
  if (std::string token = Variable("PYASC_TOKEN"); !token.empty())
    credentials.token = token;
  absl::StripAsciiWhitespace(&credentials.token);
  for (char c : credentials.token)
    if (c <= 32 || c > 126)
      return absl::InvalidArgumentError("PYASC_TOKEN: a token has printable characters only");
  if (credentials.tls_certificate.empty() != credentials.tls_key.empty())
    return absl::InvalidArgumentError(
        "PYASC_TLS_CERTIFICATE and PYASC_TLS_KEY: one needs the other");
  if (!credentials.tls_certificate.empty() && credentials.tls_ca.empty())
    return absl::InvalidArgumentError("PYASC_TLS_CERTIFICATE: needs PYASC_TLS_CA");
  return credentials;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>>
MakeChannel(const std::string &address, const Credentials &credentials,
            const grpc::ChannelArguments &arguments) {
  std::shared_ptr<grpc::ChannelCredentials> channel = grpc::InsecureChannelCredentials();
  if (!credentials.tls_ca.empty() && !absl::StartsWith(address, "unix:"))
    channel = grpc::SslCredentials({.pem_root_certs = credentials.tls_ca,
                                    .pem_private_key = credentials.tls_key,
                                    .pem_cert_chain = credentials.tls_certificate});
  else if (!credentials.token.empty() && !StaysHere(address))
    return absl::InvalidArgumentError(
        absl::StrCat("the token would go to ", address,
                     " for everyone to read: name the service's CA in "
                     "PYASC_TLS_CA"));
  std::vector<std::unique_ptr<interception::ClientInterceptorFactoryInterface>> interceptors;
  if (!credentials.token.empty())
    interceptors.push_back(std::make_unique<TokenInterceptorFactory>(credentials.token));
  return interception::CreateCustomChannelWithInterceptors(address, channel, arguments,
                                                           std::move(interceptors));
}

} // namespace pyasc::client
