// A configuration file with all that a program can be told, as comments where
// that is the default.
#ifndef KAMINO_CONFIG_EXAMPLE_H_
#define KAMINO_CONFIG_EXAMPLE_H_

#include <map>
#include <string>

namespace kamino::config {

// The section of `program` ("node", "manager"): each flag with its help, and
// its default behind a #, but for those of `values`, which have that.
std::string ExampleSection(const std::string& program,
                           const std::map<std::string, std::string>& values);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_EXAMPLE_H_
