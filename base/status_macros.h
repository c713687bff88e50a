// Return the error from the enclosing function, so that the remaining code
// shows the success path only:
//
//   RETURN_IF_ERROR(region->Grow(bytes));
//   ASSIGN_OR_RETURN(const uint64_t offset, heap->Find(key));
//
// The function returns absl::Status or absl::StatusOr. Both macros are
// statements; an `if` around one needs braces. Write an `if` to add to an error
// or to handle it.
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

// `target` is a declaration or an assignable expression; `...` is an
// absl::StatusOr, whose value is moved into `target`.
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
