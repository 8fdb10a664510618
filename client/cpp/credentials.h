// How a client proves who it is, and whom it believes: from the environment.
#ifndef PYASC_CLIENT_CPP_CREDENTIALS_H
#define PYASC_CLIENT_CPP_CREDENTIALS_H

#include <memory>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include "absl/status/statusor.h"

namespace pyasc::client {

// PYASC_TLS_CA (PEM; with it, TCP is TLS), PYASC_TLS_CERTIFICATE and PYASC_TLS_KEY (a certificate
// of our own), PYASC_TOKEN or PYASC_TOKEN_FILE (a bearer token). Contents, not paths.
struct Credentials {
  std::string tls_ca, tls_certificate, tls_key, token;
};

// INVALID_ARGUMENT names the variable and what is wrong with it.
absl::StatusOr<Credentials> CredentialsFromEnvironment();

// INVALID_ARGUMENT: the token would go to another machine for everyone to read.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string &address,
                                                           const Credentials &credentials,
                                                           const grpc::ChannelArguments &arguments);

} // namespace pyasc::client

#endif // PYASC_CLIENT_CPP_CREDENTIALS_H
