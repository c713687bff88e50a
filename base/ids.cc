#include "base/ids.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"

namespace kamino {

bool IsId(absl::string_view id) {
  constexpr size_t kMaxBytes = 48;  // as kIdRule says
  return !id.empty() && id.size() <= kMaxBytes &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

}  // namespace kamino
