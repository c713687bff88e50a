// Which device, port and GID a node's verbs links use.
#ifndef KAMINO_TRANSPORT_VERBS_CHOOSE_PORT_H_
#define KAMINO_TRANSPORT_VERBS_CHOOSE_PORT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/verbs/device.h"

namespace kamino::transport {

// By default the first active port and its best GID are taken.
struct PortWish {
  std::string device;  // a name, as rxe0; empty: any
  int port = 0;        // zero: any
  int gid_index = -1;  // negative: any
};

struct PortChoice {
  std::string device;
  PortInfo port;  // without GIDs
  GidEntry gid;
};

// "rxe0 port 1, RoCE v2, GID 1 (::ffff:10.0.0.1), MTU 1024".
std::string Describe(const PortChoice& choice);

struct DevicePorts {
  std::string name;
  std::vector<PortInfo> ports;
};

// The first active port, in the order given, that `wish` allows, and its best
// GID: RoCE v2 before version 1, one of an IP address before a link-local one.
// kNotFound: none; the text lists the ports that exist.
absl::StatusOr<PortChoice> ChoosePort(absl::Span<const DevicePorts> devices,
                                      const PortWish& wish);

// The same among the ports that `api` finds, with its device opened.
struct OpenedPort {
  std::shared_ptr<VerbsDevice> device;
  PortChoice choice;
};
absl::StatusOr<OpenedPort> OpenPort(VerbsApi* api, const PortWish& wish);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_CHOOSE_PORT_H_
