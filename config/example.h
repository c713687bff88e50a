// An example of a configuration file with all settings; those with defaults are
// commented out.
#ifndef KAMINO_CONFIG_EXAMPLE_H_
#define KAMINO_CONFIG_EXAMPLE_H_

#include <map>
#include <string>

namespace kamino::config {

// The section of `program` ("node", "manager"): each flag with its help and its
// default after a #. Flags in `values` have that value instead.
std::string ExampleSection(const std::string& program,
                           const std::map<std::string, std::string>& values);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_EXAMPLE_H_
