// Suggests a name for a mistyped one.
#ifndef KAMINO_CONFIG_NEAREST_NAME_H_
#define KAMINO_CONFIG_NEAREST_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kamino::config {

// The element of `names` with the smallest edit distance to `name` (insertions,
// deletions, substitutions, swaps); "": none is close enough.
std::string NearestName(absl::string_view name,
                        const std::vector<std::string>& names);

// " (did you mean NAME?)", or "" if no name is close.
std::string DidYouMean(absl::string_view name,
                       const std::vector<std::string>& names);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_NEAREST_NAME_H_
