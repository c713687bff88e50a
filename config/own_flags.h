// The flags of this program, whoever defines them.
#ifndef KAMINO_CONFIG_OWN_FLAGS_H_
#define KAMINO_CONFIG_OWN_FLAGS_H_

#include <map>
#include <set>
#include <string>

#include "absl/flags/reflection.h"

namespace kamino::config {

// By name: all that --help shows, but for those that say which configuration
// there is (--config and the like) and so cannot be in it.
std::map<std::string, absl::CommandLineFlag*> OwnFlags();

// What a value of a flag is.
enum class ValueKind { kBool, kWhole, kReal, kText };
ValueKind KindOf(const absl::CommandLineFlag& flag);

// Why a flag does not take a value: `error` is that of its ParseFrom, of which
// the flag's own words are left, or else what it takes.
std::string WhyRefused(const absl::CommandLineFlag& flag, std::string error);

// The names of flags that the command line sets.
std::set<std::string> TypedFlags(int argc, const char* const* argv);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_OWN_FLAGS_H_
