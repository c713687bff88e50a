// W3C Trace Context: by which name a request is known beyond this program.
#ifndef KAMINO_LOGS_TRACE_H_
#define KAMINO_LOGS_TRACE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace kamino::logs {

// Under which gRPC metadata has them.
inline constexpr char kTraceparentKey[] = "traceparent";
inline constexpr char kRequestIdKey[] = "x-request-id";

// Whether it is one, of version 00: "00-<32 hex>-<16 hex>-<2 hex>", in lower
// case, neither id all zeros.
bool IsTraceparent(absl::string_view text);

// Of these, which should be random: a trace that was not sampled by anybody.
std::string MakeTraceparent(uint64_t trace_high, uint64_t trace_low,
                            uint64_t span);

// Whether others may name a request so: 1 to 64 letters, digits and -_./:
bool IsRequestId(absl::string_view text);

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_TRACE_H_
