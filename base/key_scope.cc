#include "base/key_scope.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace kamino {
namespace {

constexpr size_t kMostDescribed = 4;
constexpr size_t kMostOfOne = 64;

// The smallest key above all keys with the prefix; empty: there is none.
std::string Behind(absl::string_view prefix) {
  std::string key(prefix);
  while (!key.empty() && static_cast<uint8_t>(key.back()) == 0xff) {
    key.pop_back();
  }
  if (!key.empty()) ++key.back();
  return key;
}

bool PrefixHasRange(absl::string_view prefix, absl::string_view start,
                    absl::string_view end) {
  if (!absl::StartsWith(start, prefix)) return false;
  const std::string behind = Behind(prefix);
  return behind.empty() || (!end.empty() && end <= behind);
}

}  // namespace

KeyScope::KeyScope(std::vector<std::string> prefixes) {
  std::sort(prefixes.begin(), prefixes.end());
  for (std::string& prefix : prefixes) {
    // In sorted order, keys with a prefix directly follow the prefix, or follow
    // other such keys.
    if (!prefixes_.empty() && absl::StartsWith(prefix, prefixes_.back())) {
      continue;
    }
    prefixes_.push_back(std::move(prefix));
  }
  has_all_ = !prefixes_.empty() && prefixes_.front().empty();
}

bool KeyScope::Has(absl::string_view key) const {
  if (has_all_) return true;
  // No prefix begins with another one, so only the last prefix that is not
  // above the key can match.
  auto after = std::upper_bound(
      prefixes_.begin(), prefixes_.end(), key,
      [](absl::string_view a, const std::string& b) { return a < b; });
  return after != prefixes_.begin() && absl::StartsWith(key, *std::prev(after));
}

bool KeyScope::HasRange(absl::string_view start, absl::string_view end) const {
  if (has_all_) return true;
  return std::any_of(prefixes_.begin(), prefixes_.end(),
                     [&](const std::string& prefix) {
                       return PrefixHasRange(prefix, start, end);
                     });
}

std::string KeyScope::Describe() const {
  if (has_all_) return "all keys";
  if (prefixes_.empty()) return "no key";
  std::string text;
  for (size_t i = 0; i < prefixes_.size() && i < kMostDescribed; ++i) {
    absl::StrAppend(&text, i == 0 ? "\"" : " and \"",
                    absl::CHexEscape(prefixes_[i].substr(0, kMostOfOne)), "\"");
  }
  if (prefixes_.size() > kMostDescribed) {
    absl::StrAppend(&text, " and ", prefixes_.size() - kMostDescribed, " more");
  }
  return text;
}

}  // namespace kamino
