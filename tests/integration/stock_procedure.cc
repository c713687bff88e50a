// stock.count counts its calls under a key; the environment's STOCK_COUNT says
// what this release of the node does with it: offers it (the default),
// withdraws it ("withdrawn"), or lacks it ("absent").
#include <cstdlib>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "replica/procedure.h"

namespace {

using kamino::replica::LinkedProcedure;
using kamino::replica::Support;

constexpr char kName[] = "stock.count";

absl::StatusOr<std::string> Count(kamino::replica::ProcedureContext& context,
                                  absl::string_view key) {
  uint64_t count = 0;
  const auto before = context.Get(key);
  if (before.ok() && !absl::SimpleAtoi(before->value, &count)) {
    return absl::FailedPreconditionError("not a count");
  }
  if (!before.ok() && !absl::IsNotFound(before.status())) {
    return before.status();
  }
  std::string text = absl::StrCat(count + 1);
  if (absl::Status put = context.Put(key, text); !put.ok()) return put;
  return text;
}

bool LinkIt() {
  const char* const setting = std::getenv("STOCK_COUNT");
  const absl::string_view release = setting == nullptr ? "" : setting;
  if (release == "absent") return false;
  const LinkedProcedure linked(
      kName, Count,
      release == "withdrawn" ? Support::kWithdrawn : Support::kOffered);
  return true;
}

const bool kLinked = LinkIt();

}  // namespace
