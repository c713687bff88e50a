// Certificates of an authority that is made for a run, for links by TLS.
#ifndef KAMINO_BENCH_TRANSPORT_OWN_CERTIFICATES_H_
#define KAMINO_BENCH_TRANSPORT_OWN_CERTIFICATES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "security/certificates.h"

namespace kamino::bench {

// Certificates of one node, which is both ends.
absl::StatusOr<std::shared_ptr<security::Certificates>> MakeOwnCertificates();

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_TRANSPORT_OWN_CERTIFICATES_H_
