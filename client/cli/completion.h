// Scripts that let shells complete the words of `kamino`.
#ifndef KAMINO_CLIENT_CLI_COMPLETION_H_
#define KAMINO_CLIENT_CLI_COMPLETION_H_

#include <string>

#include "CLI/App.hpp"

namespace kamino::client {

// Names of commands and options of the whole app, to be read by the shell.
std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_COMPLETION_H_
