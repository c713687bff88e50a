#include "config/nearest_name.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace kamino::config {
namespace {

// Longer than any key. Longer names are near to none.
constexpr size_t kMaxNameBytes = 64;

size_t Distance(absl::string_view a, absl::string_view b) {
  // Distance between the first i letters of `a` and the first j of `b`.
  std::vector<std::vector<size_t>> of(a.size() + 1,
                                      std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        of[i][j] = i + j;
        continue;
      }
      of[i][j] = std::min({of[i - 1][j] + 1, of[i][j - 1] + 1,
                           of[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        of[i][j] = std::min(of[i][j], of[i - 2][j - 2] + 1);
      }
    }
  }
  return of[a.size()][b.size()];
}

}  // namespace

std::string NearestName(absl::string_view name,
                        const std::vector<std::string>& names) {
  if (name.empty() || name.size() > kMaxNameBytes) return "";
  std::string nearest;
  // Up to a third of the letters may be wrong.
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& other : names) {
    if (other.size() > kMaxNameBytes) continue;
    const size_t distance = Distance(name, other);
    if (distance < least) {
      least = distance;
      nearest = other;
    }
  }
  return nearest;
}

std::string DidYouMean(absl::string_view name,
                       const std::vector<std::string>& names) {
  const std::string nearest = NearestName(name, names);
  if (nearest.empty()) return "";
  return absl::StrCat(" (did you mean ", nearest, "?)");
}

}  // namespace kamino::config
