// All flags of this program.
#ifndef KAMINO_CONFIG_OWN_FLAGS_H_
#define KAMINO_CONFIG_OWN_FLAGS_H_

#include <map>
#include <set>
#include <string>

#include "absl/flags/reflection.h"

namespace kamino::config {

// By name: the flags that --help shows, except those that choose the
// configuration (--config and the like), which it cannot contain.
std::map<std::string, absl::CommandLineFlag*> OwnFlags();

// The type of a flag's value.
enum class ValueKind { kBool, kWhole, kReal, kText };
ValueKind KindOf(const absl::CommandLineFlag& flag);

// Why a flag rejects a value. `error` is that of ParseFrom; returns the flag's
// own message from it, or the accepted values.
std::string WhyRefused(const absl::CommandLineFlag& flag, std::string error);

// The names of the flags that the command line sets.
std::set<std::string> TypedFlags(int argc, const char* const* argv);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_OWN_FLAGS_H_
