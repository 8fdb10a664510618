#include "server/config/socket_guests.h"

#include <grp.h>
#include <pwd.h>

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace pyasc::server {

absl::StatusOr<SocketGuests> ParseSocketGuests(const std::vector<std::string> &entries) {
  SocketGuests guests;
  for (const std::string &entry : entries) {
    const size_t colon = entry.find(':');
    const std::string kind = entry.substr(0, colon);
    const std::string value = colon == std::string::npos ? "" : entry.substr(colon + 1);
    uint32_t number = 0;
    if ((kind == "uid" || kind == "gid") && absl::SimpleAtoi(value, &number)) {
      if (kind == "uid")
        guests.uids.push_back(number);
      else
        guests.gids.push_back(number);
      continue;
    }
    if (kind == "user" && !value.empty()) {
      const passwd *user = ::getpwnam(value.c_str());
      if (!user)
        return absl::InvalidArgumentError(absl::StrCat("there is no user '", value, "'"));
      guests.uids.push_back(user->pw_uid);
      continue;
    }
    if (kind == "group" && !value.empty()) {
      const group *found = ::getgrnam(value.c_str());
      if (!found)
        return absl::InvalidArgumentError(absl::StrCat("there is no group '", value, "'"));
      guests.gids.push_back(found->gr_gid);
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("'", entry, "' is not uid:N, user:NAME, gid:N or group:NAME"));
  }
  return guests;
}

} // namespace pyasc::server
