// The keys that a principal may access: those with one of some prefixes.
#ifndef KAMINO_BASE_KEY_SCOPE_H_
#define KAMINO_BASE_KEY_SCOPE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kamino {

// Immutable, so threads may share it. A null pointer to a KeyScope stands for
// All().
class KeyScope {
 public:
  // Every key.
  static KeyScope All() { return KeyScope({""}); }
  // Keys that begin with one of `prefixes`; if empty, no key.
  explicit KeyScope(std::vector<std::string> prefixes);

  bool Has(absl::string_view key) const;
  // Whether the scope has every possible key of [start, end); an empty `end` is
  // the end of the key space. One prefix must cover the range: adjacent
  // prefixes are not merged.
  bool HasRange(absl::string_view start, absl::string_view end) const;
  bool has_all() const { return has_all_; }

  // For error messages, truncated: `"a/" and "b/"`.
  std::string Describe() const;

  friend bool operator==(const KeyScope& a, const KeyScope& b) {
    return a.prefixes_ == b.prefixes_;
  }

 private:
  std::vector<std::string> prefixes_;  // sorted, none begins with another
  bool has_all_ = false;
};

}  // namespace kamino

#endif  // KAMINO_BASE_KEY_SCOPE_H_
