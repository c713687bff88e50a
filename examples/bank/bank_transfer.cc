#include "examples/bank/bank_transfer.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace kamino::examples {
namespace {

using replica::ProcedureContext;

absl::StatusOr<int64_t> ReadBalance(ProcedureContext& context,
                                    absl::string_view account) {
  ASSIGN_OR_RETURN(auto object, context.Get(account));
  int64_t balance;
  if (!absl::SimpleAtoi(object.value, &balance)) {
    return absl::FailedPreconditionError(
        absl::StrCat("account ", account, " holds no balance"));
  }
  return balance;
}

}  // namespace

absl::StatusOr<std::string> BankTransfer(ProcedureContext& context,
                                         absl::string_view arguments) {
  const std::vector<absl::string_view> parts = absl::StrSplit(arguments, ' ');
  int64_t amount;
  if (parts.size() != 3 || parts[0] == parts[1] ||
      !absl::SimpleAtoi(parts[2], &amount) || amount <= 0) {
    return absl::InvalidArgumentError(
        "bank.transfer takes \"FROM TO AMOUNT\": two different accounts and a "
        "positive number");
  }
  ASSIGN_OR_RETURN(auto from, ReadBalance(context, parts[0]));
  ASSIGN_OR_RETURN(auto to, ReadBalance(context, parts[1]));
  if (from < amount) {
    return absl::FailedPreconditionError(absl::StrCat(
        "account ", parts[0], " holds ", from, ", less than ", amount));
  }
  if (to > std::numeric_limits<int64_t>::max() - amount) {
    return absl::FailedPreconditionError(
        absl::StrCat("account ", parts[1], " would overflow"));
  }
  const std::string new_from = absl::StrCat(from - amount);
  const std::string new_to = absl::StrCat(to + amount);
  absl::Status put = context.Put(parts[0], new_from);
  if (put.ok()) put = context.Put(parts[1], new_to);
  if (!put.ok()) return put;
  return absl::StrCat(new_from, " ", new_to);
}

namespace {

const replica::LinkedProcedure kLinked(kBankTransfer, BankTransfer);

}  // namespace

}  // namespace kamino::examples
