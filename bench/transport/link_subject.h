// A link of the product as a subject.
#ifndef KAMINO_BENCH_TRANSPORT_LINK_SUBJECT_H_
#define KAMINO_BENCH_TRANSPORT_LINK_SUBJECT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/transport/subject.h"
#include "transport/link.h"

namespace kamino::bench {

// `kind` and `options` as MakeTransport takes them; addresses and what sets
// links up are its own.
absl::StatusOr<std::unique_ptr<Subject>> MakeLinkSubject(
    const std::string& kind, const transport::TransportOptions& options);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_TRANSPORT_LINK_SUBJECT_H_
