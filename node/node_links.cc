#include "node/node_links.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/host_id.h"
#include "glog/logging.h"
#include "transport/shm/shm_transport.h"
#include "transport/tcp/tcp_transport.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/ibverbs_device.h"
#include "transport/verbs/send_transport.h"
#include "transport/verbs/verbs_transport.h"

namespace kamino::node {

absl::Status ChooseTransports(const NodeFlags& flags,
                              std::shared_ptr<GrpcRendezvous> rendezvous,
                              const std::shared_ptr<LinkPasses>& passes,
                              LinkHub::Options* links) {
  const bool any = flags.transport == "auto";
  links->first_is_chosen = !any;
  links->host_id = HostId();
  links->transport.spin = flags.link_spin;
  // If the socket's path is too long, auto continues with the others.
  if (flags.transport == "shm" || (any && WhyNoSharedMemory(flags).empty())) {
    transport::ShmPasses of_shm;
    if (passes != nullptr) of_shm = {passes->registry(), passes};
    links->offers.push_back(
        {transport::ShmTransports("/tmp", std::move(of_shm)), LinkSocket(flags),
         /*advertise=*/""});
  }
  if (any || flags.transport == "verbs") {
    const auto verbs = transport::SystemVerbs();
    const auto port = transport::OpenPort(verbs.get(), flags.verbs);
    if (port.ok()) {
      links->offers.push_back({transport::VerbsTransports(
                                   {flags.verbs, std::move(rendezvous), verbs}),
                               /*listen=*/"", /*advertise=*/""});
      LOG(INFO) << "chain links: --transport=" << flags.transport
                << ", verbs on " << Describe(port->choice);
    } else if (any) {
      LOG(INFO) << "chain links: --transport=auto, tcp because there is "
                << port.status().message();
    } else {
      return absl::Status(
          port.status().code(),
          absl::StrCat("--transport=verbs: ", port.status().message(),
                       "; ibv_devinfo shows what the machine has, and "
                       "--transport=auto takes tcp where there is no port"));
    }
  } else {
    LOG(INFO) << "chain links: " << flags.transport << ", by --transport";
  }
  links->offers.push_back(
      {transport::TcpTransports({.resolver = nullptr, .last_good = true}),
       flags.link_listen, flags.link_advertise});
  return absl::OkStatus();
}

std::vector<SessionLinks::Offer> SessionOffers(const NodeFlags& flags,
                                               const SessionService& service) {
  std::vector<SessionLinks::Offer> offers;
  const std::string host_id = HostId();
  if (!host_id.empty() && WhyNoSharedMemory(flags).empty()) {
    offers.push_back({transport::ShmTransports(
                          "/tmp", {service.passes(), /*source=*/nullptr}),
                      SessionSocket(flags), host_id});
  }
  if (flags.transport == "auto" || flags.transport == "verbs") {
    const auto verbs = transport::SystemVerbs();
    const auto port = transport::OpenPort(verbs.get(), flags.verbs);
    if (port.ok()) {
      LOG(INFO) << "sessions: also over verbs, on " << Describe(port->choice);
      offers.push_back({transport::VerbsSendTransports(
                            {flags.verbs, service.rendezvous(), verbs}),
                        "", ""});
    }
  }
  offers.push_back({transport::TcpTransports(), flags.session_listen, ""});
  return offers;
}

}  // namespace kamino::node
