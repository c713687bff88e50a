// W3C Trace Context: the identifier of a request across programs.
#ifndef KAMINO_LOGS_TRACE_H_
#define KAMINO_LOGS_TRACE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace kamino::logs {

// The key in gRPC metadata.
inline constexpr char kTraceparentKey[] = "traceparent";
inline constexpr char kRequestIdKey[] = "x-request-id";

// Whether the text is a traceparent of version 00: "00-<32 hex>-<16 hex>-<2
// hex>", in lower case, neither id all zeros.
bool IsTraceparent(absl::string_view text);

// An unsampled trace with these ids, which should be random.
std::string MakeTraceparent(uint64_t trace_high, uint64_t trace_low,
                            uint64_t span);

// Whether the text is a valid request id: 1 to 64 letters, digits and -_./:
bool IsRequestId(absl::string_view text);

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_TRACE_H_
