#include "membership/manager/refusals.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace kamino::membership {
namespace {

// Text from unknown nodes goes to logs and terminals.
std::string Printable(absl::string_view text) {
  std::string printable(text);
  for (char& each : printable) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(each))) each = '?';
  }
  return printable;
}

}  // namespace

void Refusals::Note(const std::string& node_id, const absl::Status& why,
                    absl::Time now) {
  refusals_[Printable(node_id)] = {
      Printable(why.message().substr(0, kMaxWhyBytes)), now};
  if (refusals_.size() <= kMost) return;
  refusals_.erase(std::min_element(
      refusals_.begin(), refusals_.end(),
      [](const auto& a, const auto& b) { return a.second.at < b.second.at; }));
}

void Refusals::Forget(const std::string& node_id) {
  refusals_.erase(Printable(node_id));
}

std::map<std::string, Refusal> Refusals::Lately(absl::Time now) const {
  std::map<std::string, Refusal> lately = refusals_;
  std::erase_if(
      lately, [now](const auto& each) { return now - each.second.at > kKept; });
  return lately;
}

}  // namespace kamino::membership
