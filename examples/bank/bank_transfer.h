// An example of a procedure, to be copied; docs/use/procedures.md explains it.
// A node that links it offers it under the name kBankTransfer.
//
// bank.transfer moves money between two accounts. An account is an object whose
// value is its balance as decimal text.
//   arguments  "FROM TO AMOUNT": two different keys and a positive number
//   result     "FROM_BALANCE TO_BALANCE", after the transfer
#ifndef KAMINO_EXAMPLES_BANK_BANK_TRANSFER_H_
#define KAMINO_EXAMPLES_BANK_BANK_TRANSFER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "replica/procedure.h"

namespace kamino::examples {

inline constexpr char kBankTransfer[] = "bank.transfer";

// kInvalidArgument: the arguments are not as above. kNotFound: no such account.
// kFailedPrecondition: FROM holds less than AMOUNT, a balance is no number, or
// TO would overflow.
absl::StatusOr<std::string> BankTransfer(replica::ProcedureContext& context,
                                         absl::string_view arguments);

}  // namespace kamino::examples

#endif  // KAMINO_EXAMPLES_BANK_BANK_TRANSFER_H_
