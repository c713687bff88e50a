// One end of a link without rings as bytes, for a rendezvous to carry.
#ifndef KAMINO_TRANSPORT_VERBS_SEND_ENDPOINT_H_
#define KAMINO_TRANSPORT_VERBS_SEND_ENDPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transport/verbs/rendezvous.h"

namespace kamino::transport {

// Encodes as in docs/formats/link.md, "Verbs, without rings"; rings and era are
// left out.
std::string EncodeSendEndpoint(const VerbsEndpoint& from);

// kFailedPrecondition: the bytes are malformed. The connector checks whether
// the two sides can talk.
absl::StatusOr<VerbsEndpoint> DecodeSendEndpoint(absl::string_view bytes);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_ENDPOINT_H_
