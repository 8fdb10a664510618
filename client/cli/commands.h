// The commands of pyasc, one function each that describes it; session.h has what they share.
#ifndef PYASC_CLIENT_CLI_COMMANDS_H
#define PYASC_CLIENT_CLI_COMMANDS_H

#include "client/cli/command_line.h"

namespace pyasc::cli {

Command CompileCommand();
Command RunCommand();
Command ProfileCommand();
Command SimCommand();
Command CheckCommand();
Command BatchCommand();
Command OperationsCommand();
Command DevicesCommand();
Command StatsCommand();
Command CacheCommand();
Command ServerCommand();
Command DoctorCommand();

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_COMMANDS_H
