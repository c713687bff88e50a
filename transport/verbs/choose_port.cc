#include "transport/verbs/choose_port.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace kamino::transport {
namespace {

bool IsLinkLocal(const Gid& gid) {
  return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

// Higher is better.
int Rank(const GidEntry& entry) {
  const int local = IsLinkLocal(entry.gid) ? 0 : 1;
  return static_cast<int>(entry.kind) * 2 + local;
}

const char* NameOf(GidKind kind) {
  switch (kind) {
    case GidKind::kInfiniBand:
      return "InfiniBand";
    case GidKind::kRoceV1:
      return "RoCE v1";
    case GidKind::kRoceV2:
      return "RoCE v2";
  }
  return "unknown";
}

const GidEntry* ChooseGid(const PortInfo& port, int wanted) {
  const GidEntry* best = nullptr;
  for (const GidEntry& entry : port.gids) {
    if (wanted >= 0 && entry.index != wanted) continue;
    // InfiniBand's first GID is the port's own; the others are aliases.
    if (best == nullptr || (port.ethernet && Rank(entry) > Rank(*best))) {
      best = &entry;
    }
  }
  return best;
}

}  // namespace

std::string Describe(const PortChoice& choice) {
  char gid[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET6, choice.gid.gid.data(), gid, sizeof(gid));
  return absl::StrCat(choice.device, " port ", choice.port.number, ", ",
                      NameOf(choice.gid.kind), ", GID ", choice.gid.index, " (",
                      gid, "), MTU ", choice.port.mtu);
}

absl::StatusOr<PortChoice> ChoosePort(absl::Span<const DevicePorts> devices,
                                      const PortWish& wish) {
  std::vector<std::string> seen;
  for (const DevicePorts& device : devices) {
    for (const PortInfo& port : device.ports) {
      const bool allowed =
          (wish.device.empty() || wish.device == device.name) &&
          (wish.port == 0 || wish.port == port.number);
      const GidEntry* gid =
          allowed && port.active ? ChooseGid(port, wish.gid_index) : nullptr;
      if (gid != nullptr) {
        PortChoice choice{device.name, port, *gid};
        choice.port.gids.clear();
        return choice;
      }
      seen.push_back(absl::StrCat(device.name, " port ", port.number,
                                  !allowed       ? " (not asked for)"
                                  : !port.active ? " (not active)"
                                                 : " (no such GID)"));
    }
  }
  if (seen.empty()) seen.push_back("none");
  return absl::NotFoundError(absl::StrCat(
      "no active RDMA port",
      wish.device.empty() ? "" : absl::StrCat(" of ", wish.device),
      wish.port == 0 ? "" : absl::StrCat(" of number ", wish.port),
      wish.gid_index < 0 ? "" : absl::StrCat(" with GID ", wish.gid_index),
      "; there is: ", absl::StrJoin(seen, ", ")));
}

absl::StatusOr<OpenedPort> OpenPort(VerbsApi* api, const PortWish& wish) {
  ASSIGN_OR_RETURN(auto names, api->DeviceNames());
  std::vector<std::shared_ptr<VerbsDevice>> opened;
  std::vector<DevicePorts> ports;
  absl::Status trouble;
  for (const std::string& name : names) {
    if (!wish.device.empty() && name != wish.device) continue;
    auto device = api->Open(name);
    absl::StatusOr<std::vector<PortInfo>> found =
        device.ok() ? (*device)->Ports() : device.status();
    if (!found.ok()) {
      trouble = found.status();  // one broken device does not affect the others
      continue;
    }
    opened.push_back(*std::move(device));
    ports.push_back({name, *std::move(found)});
  }
  if (ports.empty() && !trouble.ok()) return trouble;
  ASSIGN_OR_RETURN(auto choice, ChoosePort(ports, wish));
  const auto device = std::find_if(
      opened.begin(), opened.end(),
      [&](const auto& one) { return one->name() == choice.device; });
  return OpenedPort{*device, std::move(choice)};
}

}  // namespace kamino::transport
