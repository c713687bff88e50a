// What a mistyped name was to be.
#ifndef KAMINO_CONFIG_NEAREST_NAME_H_
#define KAMINO_CONFIG_NEAREST_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kamino::config {

// The one of `names` that `name` becomes by the fewest letters put in, left
// out, changed or swapped with the next; "": none by few enough.
std::string NearestName(absl::string_view name,
                        const std::vector<std::string>& names);

// " (did you mean NAME?)", or "" where no name is near.
std::string DidYouMean(absl::string_view name,
                       const std::vector<std::string>& names);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_NEAREST_NAME_H_
