// greeting.greet stores a greeting under a name, and returns it.
//   arguments  the name: a key
//   result     "hello, NAME"
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "replica/procedure.h"

namespace {

absl::StatusOr<std::string> Greet(kamino::replica::ProcedureContext& context,
                                  absl::string_view name) {
  std::string greeting = absl::StrCat("hello, ", name);
  const absl::Status put = context.Put(name, greeting);
  if (!put.ok()) return put;
  return greeting;
}

const kamino::replica::LinkedProcedure kLinked("greeting.greet", Greet);

}  // namespace
