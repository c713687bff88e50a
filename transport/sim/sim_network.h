// A network inside one thread, for deterministic tests: nothing happens but in
// Step, in an order that only the seed decides.
//
// Every transport belongs to a named endpoint. Addresses are any strings, one
// name space for the whole network. Between two endpoints:
//   Cut    holds everything back, connection attempts included, until Heal;
//          like a network that drops packets, nobody is told.
//   Break  closes every link, both sides being told, messages in flight lost.
// Destroying a transport is its process's death: its links close, and the peers
// learn of it unless cut off.
#ifndef KAMINO_TRANSPORT_SIM_SIM_NETWORK_H_
#define KAMINO_TRANSPORT_SIM_SIM_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/types/optional.h"
#include "transport/link.h"

namespace kamino::transport {

class SimCore;

// Not thread-safe; transports, links and listeners neither. Destroying the
// network closes all links; the objects may outlive it.
class SimNetwork {
 public:
  struct Options {
    size_t max_message = size_t{5} << 20;
    // Bytes in flight in one direction of a link.
    size_t credits = size_t{16} << 20;
    // Without a seed events happen in the order they were caused; with one,
    // any link that has an event may be next. Order within a link is kept.
    absl::optional<uint64_t> seed;
  };

  explicit SimNetwork(const Options& options);
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  // `epoch` as TransportOptions::epoch; of the endpoint from now on.
  std::unique_ptr<Transport> NewTransport(
      const std::string& endpoint, std::function<uint64_t()> epoch = nullptr);

  // Lets one thing happen, which is at most one callback per side. False when
  // nothing can.
  bool Step();

  // Steps until nothing can happen, or `limit` steps; returns their number.
  size_t RunUntilIdle(size_t limit = 100'000'000);

  void Cut(const std::string& a, const std::string& b);
  void Heal(const std::string& a, const std::string& b);
  void Break(const std::string& a, const std::string& b);

 private:
  const std::shared_ptr<SimCore> core_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SIM_SIM_NETWORK_H_
