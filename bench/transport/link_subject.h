// A link of the product as a subject.
#ifndef KAMINO_BENCH_TRANSPORT_LINK_SUBJECT_H_
#define KAMINO_BENCH_TRANSPORT_LINK_SUBJECT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/transport/subject.h"
#include "transport/link.h"

namespace kamino::bench {

// Uses transports that `factory` makes; one listens at `address`. `name`
// appears in the results.
absl::StatusOr<std::unique_ptr<Subject>> MakeLinkSubject(
    const std::string& name, const transport::TransportFactory& factory,
    const std::string& address, const transport::TransportOptions& options);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_TRANSPORT_LINK_SUBJECT_H_
