// The simulated network's state and event order; private to sim_network.
#ifndef KAMINO_TRANSPORT_SIM_SIM_CORE_H_
#define KAMINO_TRANSPORT_SIM_SIM_CORE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transport/link.h"
#include "transport/sim/sim_network.h"

namespace kamino::transport {

// One side of a simulated link.
class SimLink final : public Link,
                      public std::enable_shared_from_this<SimLink> {
 public:
  SimLink(std::shared_ptr<SimCore> core, std::string endpoint,
          std::string peer_address);

  absl::Status Send(absl::Span<const std::byte> header,
                    absl::Span<const std::byte> payload) override;
  void Close() override;
  LinkCapabilities capabilities() const override;
  std::string peer() const override { return peer_address_; }

 private:
  friend class SimCore;

  enum class State { kConnecting, kOpen, kClosing, kClosed };

  bool alive() const {
    return state_ != State::kClosing && state_ != State::kClosed;
  }

  struct Event {
    enum class Kind { kConnect, kConnected, kMessage, kPeerClosed };
    Kind kind;
    std::vector<std::byte> bytes;
    uint64_t order;
  };

  const std::shared_ptr<SimCore> core_;
  const std::string endpoint_;
  const std::string peer_address_;
  uint64_t epoch_ = 0;  // a connector's

  State state_ = State::kConnecting;
  std::shared_ptr<LinkHandler> handler_;
  std::weak_ptr<SimLink> other_;
  std::string other_endpoint_;  // empty until the connection is made

  // What travels towards this side.
  std::deque<Event> inbox_;
  size_t inbox_bytes_ = 0;
  // What no network is needed for.
  bool blocked_ = false;         // Send was refused, OnWritable is owed
  uint64_t writable_order_ = 0;  // when it became due; zero: it is not
  uint64_t closed_order_ = 0;    // likewise for OnClosed(why_)
  absl::Status why_;
};

class SimCore : public std::enable_shared_from_this<SimCore> {
 public:
  explicit SimCore(const SimNetwork::Options& options);

  struct Port {
    uint64_t id;
    std::string endpoint;
    Acceptor acceptor;
  };

  bool Step();
  void SetCut(const std::string& a, const std::string& b, bool cut);
  void Break(const std::string& a, const std::string& b);

  // As TransportOptions::epoch.
  void SetEpoch(const std::string& endpoint, std::function<uint64_t()> epoch);
  // Zero: the address is taken, or the network is gone.
  uint64_t AddPort(const std::string& address, const std::string& endpoint,
                   Acceptor acceptor);
  void RemovePort(const std::string& address, uint64_t id);
  // Null: the network is gone.
  std::shared_ptr<Link> Connect(const std::string& endpoint,
                                const std::string& address,
                                std::shared_ptr<LinkHandler> handler);
  // Closes what belongs to `endpoint`, with its OnClosed now.
  void CloseEndpoint(const std::string& endpoint);
  // The network is gone: closes everything, for good. Links and core hold each
  // other until then.
  void Shutdown();

  absl::Status Send(SimLink& link, absl::Span<const std::byte> header,
                    absl::Span<const std::byte> payload);
  void BeginClose(SimLink& link, const absl::Status& why);
  const SimNetwork::Options& options() const { return options_; }

 private:
  using Links = std::vector<std::shared_ptr<SimLink>>;

  uint64_t NextOrder() { return ++order_; }
  void Push(SimLink& to, SimLink::Event::Kind kind,
            std::vector<std::byte> bytes = {});
  bool IsCut(const std::string& a, const std::string& b) const;
  // When the link's next event was caused; zero: it has none that can happen.
  uint64_t Ready(const SimLink& link) const;
  void Happen(const std::shared_ptr<SimLink>& link);
  void HappenFromPeer(const std::shared_ptr<SimLink>& link);
  void Accept(const std::shared_ptr<SimLink>& connector);
  uint64_t EpochOf(const std::string& endpoint) const;
  void Credit(SimLink& sender, const SimLink& receiver);
  void CloseNow(const std::shared_ptr<SimLink>& link);
  void FinishClose(const std::shared_ptr<SimLink>& link);

  const SimNetwork::Options options_;
  std::mt19937_64 random_;
  uint64_t order_ = 0;
  bool down_ = false;
  std::map<std::string, Port> ports_;
  std::map<std::string, std::function<uint64_t()>> epochs_;  // by endpoint
  std::set<std::pair<std::string, std::string>> cuts_;
  Links links_;  // in the order they were made
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SIM_SIM_CORE_H_
