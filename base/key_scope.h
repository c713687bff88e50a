// Which keys somebody may touch: those that begin with one of some prefixes.
#ifndef KAMINO_BASE_KEY_SCOPE_H_
#define KAMINO_BASE_KEY_SCOPE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kamino {

// Immutable, so that threads may share one. Where a pointer to one is asked
// for, null stands for All().
class KeyScope {
 public:
  // Every key there can be.
  static KeyScope All() { return KeyScope({""}); }
  // Keys that begin with one of `prefixes`; none: no key at all.
  explicit KeyScope(std::vector<std::string> prefixes);

  bool Has(absl::string_view key) const;
  // Whether it has every key of [start, end) that there could be; an empty
  // `end` stands for the end of all keys. One prefix has to have them all:
  // neighbouring ones are not put together.
  bool HasRange(absl::string_view start, absl::string_view end) const;
  bool has_all() const { return has_all_; }

  // As people read it, cut: `"a/" and "b/"`.
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
