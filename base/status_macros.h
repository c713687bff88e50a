// Leaves the function with the error where there is one, so that what is left
// to read is what happens when there is none:
//
//   RETURN_IF_ERROR(region->Grow(bytes));
//   ASSIGN_OR_RETURN(const uint64_t offset, heap->Find(key));
//
// The function returns absl::Status or absl::StatusOr. Both are statements: not
// for the body of an if without braces. When there is something to add to the
// error, or to do about it, write the if.
#ifndef KAMINO_BASE_STATUS_MACROS_H_
#define KAMINO_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

// `...` is an absl::Status.
#define RETURN_IF_ERROR(...)                       \
  do {                                             \
    absl::Status kamino_status = (__VA_ARGS__);    \
    if (ABSL_PREDICT_FALSE(!kamino_status.ok())) { \
      return kamino_status;                        \
    }                                              \
  } while (false)

// `target` is a declaration, or what can be assigned to; `...` is an
// absl::StatusOr, whose value is moved into it.
#define ASSIGN_OR_RETURN(target, ...)                                      \
  KAMINO_ASSIGN_OR_RETURN(KAMINO_CONCATENATE(kamino_status_or_, __LINE__), \
                          target, __VA_ARGS__)

#define KAMINO_ASSIGN_OR_RETURN(result, target, ...) \
  auto result = (__VA_ARGS__);                       \
  if (ABSL_PREDICT_FALSE(!result.ok())) {            \
    return std::move(result).status();               \
  }                                                  \
  target = *std::move(result)

#define KAMINO_CONCATENATE(a, b) KAMINO_CONCATENATE_EXPANDED(a, b)
#define KAMINO_CONCATENATE_EXPANDED(a, b) a##b

#endif  // KAMINO_BASE_STATUS_MACROS_H_
