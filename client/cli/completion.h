// Shell completion scripts for `kamino`.
#ifndef KAMINO_CLIENT_CLI_COMPLETION_H_
#define KAMINO_CLIENT_CLI_COMPLETION_H_

#include <string>

#include "CLI/App.hpp"

namespace kamino::client {

// A script with the names of all commands and options.
std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_COMPLETION_H_
