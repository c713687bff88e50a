#include "lab/controller/channel.h"

#include <algorithm>

namespace kamino::bench::controller {
namespace {

constexpr uint64_t kNoRow = ~uint64_t{0};
// Writes that are remembered before those that are done are forgotten.
constexpr size_t kMaxRemembered = 4096;

}  // namespace

Channel::Channel(const DeviceTiming& device, uint32_t slowdown, uint32_t queue)
    : device_(device),
      clock_(device.clock * slowdown),
      queue_(queue),
      banks_(device.banks) {}

Time Channel::Accept(Time now) {
  while (!queued_.empty() && queued_.front() <= now) queued_.pop_front();
  if (queued_.size() < queue_) return now;
  // The number of requests that must leave before this one has room.
  return queued_[queued_.size() - queue_];
}

Time Channel::OpenRow(Time now, LineNumber line, Bank* bank) {
  const uint64_t row = line / device_.banks / device_.lines_per_row;
  if (bank->row == row && bank->accesses < device_.accesses_per_row) {
    ++bank->accesses;
    return std::max(now, bank->next_access);
  }
  Time activate = now;
  if (bank->row != kNoRow) {
    activate = std::max(now, bank->may_precharge) + Clocks(device_.precharge);
  }
  bank->row = row;
  bank->accesses = 1;
  bank->may_precharge = activate + Clocks(device_.activate_to_precharge);
  return activate + Clocks(device_.activate_to_access);
}

Time Channel::TakeBus(Time now, Time ready) {
  const Time burst = Clocks(device_.burst);
  while (!bus_.empty() && bus_.front() + burst <= now) bus_.pop_front();
  auto next = bus_.begin();
  Time begin = ready;
  for (; next != bus_.end() && *next < begin + burst; ++next) {
    begin = std::max(begin, *next + burst);
  }
  bus_.insert(next, begin);
  return begin;
}

Channel::Done Channel::Access(Time now, LineNumber line, bool write,
                              Time* access) {
  const Time accepted = Accept(now);
  Bank& bank = banks_[line % device_.banks];
  const Time latency =
      Clocks(write ? device_.write_to_data : device_.read_to_data);
  const Time ready = std::max(OpenRow(accepted, line, &bank),
                              write ? Time{0} : bank.next_read);
  const Time data = TakeBus(now, ready + latency);
  *access = data - latency;
  const Time end = data + Clocks(device_.burst);
  bank.next_access = *access + Clocks(device_.access_to_access);
  const Time settled = write ? end + Clocks(device_.write_recovery)
                             : *access + Clocks(device_.read_to_precharge);
  bank.may_precharge = std::max(bank.may_precharge, settled);
  if (write) bank.next_read = end + Clocks(device_.write_to_read);
  queued_.insert(std::upper_bound(queued_.begin(), queued_.end(), end), end);
  return {accepted, write ? settled : end};
}

Channel::Done Channel::Read(Time now, LineNumber line) {
  ++counts_.reads;
  Time access;
  return Access(now, line, /*write=*/false, &access);
}

Channel::Done Channel::Write(Time now, LineNumber line) {
  const auto found = waiting_.find(line);
  if (found != waiting_.end() && found->second.begins > now) {
    ++counts_.combined;
    return {now, found->second.durable};
  }
  ++counts_.writes;
  Time access;
  const Done done = Access(now, line, /*write=*/true, &access);
  if (waiting_.size() >= kMaxRemembered) {
    absl::erase_if(waiting_, [now](const auto& each) {
      return each.second.begins <= now;
    });
  }
  waiting_[line] = {access, done.at};
  return done;
}

}  // namespace kamino::bench::controller
